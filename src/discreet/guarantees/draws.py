"""Textbook noise in floating point, and the distributions that attacks compare.

The broken mechanisms draw from numpy as their sources do: it is not the toolkit's noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import numpy.typing as npt

__all__ = [
    "GENERATOR",
    "Floats",
    "corner",
    "laplace",
    "laplace_distribution",
    "norm_exponential",
    "norm_gamma",
    "weakened",
]

Floats = npt.NDArray[np.float64]

GENERATOR = np.random.default_rng()
#: What all scales are multiplied by.
_SHARE: ContextVar[float] = ContextVar("share", default=1.0)


@contextmanager
def weakened(share: float) -> Iterator[None]:
    """Draw from smaller scales inside the block, however the functions below were imported."""
    before = _SHARE.set(share)
    try:
        yield
    finally:
        _SHARE.reset(before)


def laplace(scale: npt.ArrayLike, shape: int | tuple[int, ...]) -> Floats:
    """Laplace noise; a scale of 0 is no noise, as in numpy."""
    return GENERATOR.laplace(size=shape) * (_SHARE.get() * np.asarray(scale, np.float64))


def norm_gamma(dimension: int, scale: float, trials: int) -> Floats:
    """Noise with density ∝ exp(-‖b‖/scale): a uniform direction, a radius Gamma(dimension, scale)."""
    return _directions(dimension, trials) * GENERATOR.gamma(
        dimension, _SHARE.get() * scale, (trials, 1)
    )


def norm_exponential(dimension: int, scale: float, trials: int) -> Floats:
    """A uniform direction with an *exponential* radius: its density has a pole at 0."""
    return _directions(dimension, trials) * GENERATOR.exponential(_SHARE.get() * scale, (trials, 1))


def _directions(dimension: int, trials: int) -> Floats:
    normal = GENERATOR.normal(size=(trials, dimension))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


def laplace_distribution(centre: float, scale: float) -> Callable[[Floats], Floats]:
    """The distribution function of Laplace noise around a number."""

    def cdf(at: Floats) -> Floats:
        t = (np.asarray(at, np.float64) - centre) / scale
        tail = 0.5 * np.exp(-np.abs(t))
        return np.where(t < 0, tail, 1 - tail)

    return cdf


def corner(shifts: npt.ArrayLike, scales: npt.ArrayLike) -> tuple[float, float]:
    """The probabilities, on both inputs, that all numbers fall beyond the first input's, away from the other.

    The numbers move by `shifts` and have independent Laplace noise of `scales`; the ratio of the two is
    e^Σ(shift/scale), the largest there is.
    """
    moved = np.abs(np.asarray(shifts, np.float64)).ravel()
    loss = float((moved / np.asarray(scales, np.float64)).sum())
    rarity = math.exp(-math.log(2) * len(moved))
    return rarity, rarity * math.exp(-loss)
