"""How far a weighted sum of noises can go: intervals that hold whatever the weights are.

Proof page: ``docs/proofs/privelet.md``.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

__all__ = ["gaussian_factor", "laplace_factor"]


@lru_cache(maxsize=256)
def laplace_factor(level: float) -> float:
    """The t with P(\\|X\\| > t·σ) <= 1 - level for any sum X of weighted discrete Laplace noises.

    σ is the deviation of the like sum of continuous Laplace noises.
    """
    allowed = (1 - level) / 2
    high = 2.0
    while _laplace_tail(high) > allowed:
        high *= 1.5
    return float(brentq(lambda t: _laplace_tail(t) - allowed, 0.5, high, xtol=1e-9)) * (1 + 1e-6)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def _laplace_tail(t: float) -> float:
    """A bound on P(\\|Y\\| > t) for weighted sums Y of continuous Laplace noises of variance 1.

    Y is normal with a random variance W of mean 1 that is below an exponential E in convex order, and
    h(w) = P(\\|Z\\| > t/√w) is convex up to w = t²/3 and concave from there: h up to that point and its
    tangent behind it is a convex function above h, whose mean under E bounds the mean of h under W.
    """
    bend = t * t / 3

    def h(w: np.ndarray) -> np.ndarray:
        return np.asarray(2 * ndtr(-t / np.sqrt(w)))

    w = bend * (_NODES + 1) / 2
    inner = float((_WEIGHTS * h(w) * np.exp(-w)).sum()) * bend / 2
    slope = t * bend**-1.5 * math.exp(-t * t / (2 * bend)) / math.sqrt(2 * math.pi)
    # ∫ from bend of (h(bend) + slope·(w - bend))·e^-w
    return float(inner + math.exp(-bend) * (float(h(np.array(bend))) + slope))


def gaussian_factor(level: float, sigma: float) -> float:
    """The t with P(\\|X\\| > t·σ_X) <= 1 - level for any sum X of weighted rounded Gaussian noises.

    σ_X is the deviation of the like sum without rounding, `sigma` the least deviation of a summand.
    Rounding adds independent errors of at most 1/2, symmetric about 0: Hoeffding 1963, Theorem 2.
    """
    risk = 1 - level
    shares = np.linspace(0.5, 0.9999, 200)
    widths = -ndtri(risk * shares / 2) + np.sqrt(-np.log(risk * (1 - shares) / 2) / 2) / sigma
    return float(widths.min()) * (1 + 1e-9)
