"""Local mechanisms: every person randomises their own value, and nobody has to be trusted."""

from discreet.mechanisms.local.base import (
    Estimate,
    FrequencyMechanism,
    LocalMechanism,
    project_onto_simplex,
)
from discreet.mechanisms.local.domain import Categories, Interval
from discreet.mechanisms.local.hashing import LocalHashing
from discreet.mechanisms.local.means import DuchiMean, HybridMean, MeanMechanism, PiecewiseMean
from discreet.mechanisms.local.memoised import Memoised
from discreet.mechanisms.local.response import GeneralizedRandomizedResponse, RandomizedResponse
from discreet.mechanisms.local.unary import UnaryEncoding

__all__ = [
    "Categories",
    "DuchiMean",
    "Estimate",
    "FrequencyMechanism",
    "GeneralizedRandomizedResponse",
    "HybridMean",
    "Interval",
    "LocalHashing",
    "LocalMechanism",
    "MeanMechanism",
    "Memoised",
    "PiecewiseMean",
    "RandomizedResponse",
    "UnaryEncoding",
    "project_onto_simplex",
]
