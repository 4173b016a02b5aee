"""Events: what ran on private data, as plain data.

Events carry integers and fractions, never a float ε, and never change their meaning: an old ledger
can be recounted by a better accountant. Each has a JSON form with a version.
"""

from discreet.events.additive import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    KeyThreshold,
    Staircase,
)
from discreet.events.base import Event, walk
from discreet.events.composed import (
    Assumed,
    Compose,
    External,
    OneOf,
    Parallel,
    Poisson,
    Repeat,
    RepeatAndSelect,
    iter_leaves,
)
from discreet.events.objective import GaussianObjective, LaplaceObjective
from discreet.events.reading import event_from_dict
from discreet.events.selection import (
    Exponential,
    NoisyMax,
    PartialResponse,
    PermuteAndFlip,
    RandomizedResponse,
    SparseVector,
)

__all__ = [
    "Assumed",
    "Compose",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Event",
    "Exponential",
    "External",
    "Gaussian",
    "GaussianObjective",
    "KeyThreshold",
    "LaplaceObjective",
    "NoisyMax",
    "OneOf",
    "Parallel",
    "PartialResponse",
    "PermuteAndFlip",
    "Poisson",
    "RandomizedResponse",
    "Repeat",
    "RepeatAndSelect",
    "SparseVector",
    "Staircase",
    "event_from_dict",
    "iter_leaves",
    "walk",
]
