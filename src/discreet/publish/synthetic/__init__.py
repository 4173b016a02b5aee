"""Synthetic tables: select and measure marginals, estimate a model of them, draw rows."""

from discreet.publish.synthetic.synthesizer import Synthesizer
from discreet.publish.synthetic.utility import UtilityReport, report_utility

__all__ = ["Synthesizer", "UtilityReport", "report_utility"]
