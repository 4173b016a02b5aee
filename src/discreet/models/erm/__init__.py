"""Private empirical risk minimisation: output and objective perturbation of convex losses."""

from discreet.models.erm.evened import EvenedMap
from discreet.models.erm.features import FeatureMap, RowMap
from discreet.models.erm.fourier import FourierMap
from discreet.models.erm.losses import (
    HuberSquare,
    Insensitive,
    Logistic,
    Loss,
    SmoothHinge,
    Softmax,
)
from discreet.models.erm.perturbation import ObjectivePerturbation, OutputPerturbation, Perturbation
from discreet.models.erm.step import MinimisedRisk
from discreet.models.erm.task import Task

__all__ = [
    "EvenedMap",
    "FeatureMap",
    "FourierMap",
    "HuberSquare",
    "Insensitive",
    "Logistic",
    "Loss",
    "MinimisedRisk",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Perturbation",
    "RowMap",
    "SmoothHinge",
    "Softmax",
    "Task",
]
