"""Publishing whole data sets: masked data, input perturbation, histograms for ranges, synthetic tables."""

from discreet.publish.masked_data import MaskedData
from discreet.publish.perturb import perturb
from discreet.publish.privelet import Ranges
from discreet.publish.rows import RowPerturbation
from discreet.publish.synthetic import Synthesizer, UtilityReport, report_utility
from discreet.publish.tables.growing import GrowingTable
from discreet.publish.tables.writing import Written, write_rows

__all__ = [
    "GrowingTable",
    "MaskedData",
    "Ranges",
    "RowPerturbation",
    "Synthesizer",
    "UtilityReport",
    "Written",
    "perturb",
    "report_utility",
    "write_rows",
]
