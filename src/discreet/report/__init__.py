"""Reports for people: what was released from what, what it guarantees, and what isn't covered."""

from discreet.report.blocks import Bullets, Chart, Facts, Grid, Report, Section, Series, Words
from discreet.report.writing import build_report, write_report

__all__ = [
    "Bullets",
    "Chart",
    "Facts",
    "Grid",
    "Report",
    "Section",
    "Series",
    "Words",
    "build_report",
    "write_report",
]
