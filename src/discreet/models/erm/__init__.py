"""Private empirical risk minimisation: output and objective perturbation of convex losses."""

from discreet.models.erm.features import FeatureMap
from discreet.models.erm.losses import (
    HuberSquare,
    Insensitive,
    Logistic,
    Loss,
    SmoothHinge,
    Softmax,
)
from discreet.models.erm.perturbation import (
    ObjectivePerturbation,
    OutputPerturbation,
    Perturbation,
    Task,
)
from discreet.models.erm.step import MinimisedRisk

__all__ = [
    "FeatureMap",
    "HuberSquare",
    "Insensitive",
    "Logistic",
    "Loss",
    "MinimisedRisk",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Perturbation",
    "SmoothHinge",
    "Softmax",
    "Task",
]
