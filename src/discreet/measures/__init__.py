"""Ways to say how private an answer is, and what follows from one about another."""

from discreet.measures.convert import convert
from discreet.measures.kinds import (
    ORDERS,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Measure,
    PureDP,
    Renyi,
    measure_from_dict,
)
from discreet.measures.loss import PrivacyLoss
from discreet.measures.random_dp import RandomDP

__all__ = [
    "ORDERS",
    "ZCDP",
    "ApproxDP",
    "GaussianDP",
    "Measure",
    "PrivacyLoss",
    "PureDP",
    "RandomDP",
    "Renyi",
    "convert",
    "measure_from_dict",
]
