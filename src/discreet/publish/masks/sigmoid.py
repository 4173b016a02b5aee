"""Laplace–Sigmoid noise as Choi & Lee 2019 define it: Laplace noise with one factor on each side of 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["laplace_sigmoid", "laplace_sigmoid_log_density", "multipliers", "noise_parameter"]

Floats = npt.NDArray[np.float64]


def noise_parameter(epsilon: float, gamma: float) -> float:
    """ε' = ε/(1 + e^-γ) (Theorem 1)."""
    return epsilon / (1 + math.exp(-gamma))


def multipliers(coefficients: Floats, gamma: float, axis: Any = None) -> Floats:
    """Coefficients put into [-γ, γ] by their own smallest and largest along `axis` (step 2)."""
    low = coefficients.min(axis=axis, keepdims=True, initial=np.inf)
    high = coefficients.max(axis=axis, keepdims=True, initial=-np.inf)
    width = np.where(high > low, high - low, 1.0)
    return np.where(high > low, gamma * (2 * coefficients - high - low) / width, 0.0)


def laplace_sigmoid(
    y: Floats, parameter: float, trials: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Noise N(y) and the Laplace noise X it is made of, of scale 1/parameter (Definition 3).

    The positive side is multiplied by 1 - S(y), the negative one by S(y), S being the sigmoid function.
    """
    drawn = generator.laplace(size=(trials, *np.shape(y))) * (1 / parameter)
    rising = 1 / (1 + np.exp(-y))
    return np.where(drawn >= 0, (1 - rising) * drawn, rising * drawn), drawn


def laplace_sigmoid_log_density(noise: Floats, y: Floats, parameter: float) -> Floats:
    """The log-density of `laplace_sigmoid`: half the mass on each side, each side with its own scale."""
    rising = 1 / (1 + np.exp(-y))
    scale = np.where(noise >= 0, 1 - rising, rising) / parameter
    return np.asarray(-np.log(2 * scale) - np.abs(noise) / scale)
