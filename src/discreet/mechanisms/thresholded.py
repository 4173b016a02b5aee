"""What a noised count says once only counts at a threshold or above are shown."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

#: Float64 errors of a logarithm, with ample margin; bounds are moved outwards by this share.
SLACK = 1e-12


def interval_given_threshold(
    values: Integers, scale: Fraction, threshold: int, level: float
) -> tuple[Integers, Integers]:
    """Intervals for counts of at least 1 whose noised `values` were shown because they reached a threshold.

    Given that a count c with discrete Laplace noise is shown, its interval holds c with probability at
    least `level`, whatever c is: both tails of the noise *given* the threshold are inverted, each at half
    of what is left (Fithian, Sun & Taylor 2014, inference after selection). Just above the threshold the
    lower end is 1: the noise given the threshold is the same for all counts below it, so a shown value
    says nothing about them. Far above, the interval is that of the noise alone.

    Parameters
    ----------
    values : array of int64, all at least `threshold`
    scale : Fraction
        Of the noise, P(k) ∝ exp(-|k|/scale).
    threshold : int
        At least 1.
    level : float
        Between 0 and 1.

    Privacy
    -------
    Post-processing of the shown values and public numbers. Proof:
    ``docs/proofs/discovery.md``.
    """
    tail = (1.0 - level) / 2
    s = float(scale)
    above = (values - threshold).astype(np.float64) / s  # how far, in units of the scale
    odds = 1.0 + math.exp(-1.0 / s)  # 1 + q
    # c > τ is rejected from above while q^d·x² - a(1 + q)·x + a·q <= 0, x = q^(τ - c), d = y - τ
    root = np.sqrt(np.maximum((tail * odds) ** 2 - 4 * tail * np.exp(-above - 1.0 / s), 0.0))
    fall = np.log(tail * odds + root) - math.log(2.0)
    far = values + np.ceil(s * (fall - SLACK * (1.0 + np.abs(fall)))).astype(np.int64)
    is_near = above < -math.log(tail) + SLACK  # q^d > a: then no count from 1 to τ is rejected
    lower = np.where(is_near, 1, np.clip(far, 1, values))
    # c >= y is rejected from below once q^(c - y)·(1 - (1 - a)·q^(d + 1)) <= a(1 + q)
    rest = tail - (1.0 - tail) * np.expm1(-above - 1.0 / s)
    rise = np.maximum(np.log(rest) - math.log(tail * odds), 0.0)
    return lower, values + np.floor(s * (rise + SLACK * (1.0 + rise))).astype(np.int64)
