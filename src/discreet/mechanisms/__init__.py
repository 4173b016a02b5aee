"""How answers are blurred."""

from discreet.mechanisms.additive import (
    AdditiveMechanism,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    Mechanism,
    NoNoise,
    mechanism_for,
)
from discreet.mechanisms.laws import DiscreteGaussianLaw, GaussianLaw, LaplaceLaw, Law
from discreet.mechanisms.selection import Exponential

__all__ = [
    "AdditiveMechanism",
    "DiscreteGaussian",
    "DiscreteGaussianLaw",
    "Exponential",
    "Gaussian",
    "GaussianLaw",
    "Laplace",
    "LaplaceLaw",
    "Law",
    "Mechanism",
    "NoNoise",
    "mechanism_for",
]
