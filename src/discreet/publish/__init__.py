"""Publishing rows: masked data and input perturbation."""

from discreet.publish.masked_data import MaskedData
from discreet.publish.perturb import perturb
from discreet.publish.rows import RowPerturbation

__all__ = ["MaskedData", "RowPerturbation", "perturb"]
