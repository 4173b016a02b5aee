"""Private aggregation of teacher ensembles: teachers vote on public rows, and a student learns the result."""

from discreet.deep.pate.aggregation import Aggregation, ConfidentGNMax, GNMax, LNMax, Plurality
from discreet.deep.pate.dependent import dependent_cost
from discreet.deep.pate.estimator import PATE
from discreet.deep.pate.student import SpreadingStudent

__all__ = [
    "PATE",
    "Aggregation",
    "ConfidentGNMax",
    "GNMax",
    "LNMax",
    "Plurality",
    "SpreadingStudent",
    "dependent_cost",
]
