"""Publishing rows: masked data, input perturbation and synthetic tables."""

from discreet.publish.masked_data import MaskedData
from discreet.publish.perturb import perturb
from discreet.publish.rows import RowPerturbation
from discreet.publish.synthetic import Synthesizer, UtilityReport, report_utility

__all__ = [
    "MaskedData",
    "RowPerturbation",
    "Synthesizer",
    "UtilityReport",
    "perturb",
    "report_utility",
]
