"""Publishing whole data sets: masked data, input perturbation, histograms for ranges."""

from discreet.publish.masked_data import MaskedData
from discreet.publish.perturb import perturb
from discreet.publish.privelet import Ranges
from discreet.publish.rows import RowPerturbation

__all__ = ["MaskedData", "Ranges", "RowPerturbation", "perturb"]
