"""Publishing whole data sets: masked data, input perturbation, histograms for ranges, synthetic tables."""

from discreet.publish.masked_data import MaskedData
from discreet.publish.perturb import perturb
from discreet.publish.privelet import Ranges
from discreet.publish.rows import RowPerturbation
from discreet.publish.synthetic import Synthesizer, UtilityReport, report_utility

__all__ = [
    "MaskedData",
    "Ranges",
    "RowPerturbation",
    "Synthesizer",
    "UtilityReport",
    "perturb",
    "report_utility",
]
