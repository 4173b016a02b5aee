"""Noise that is too small, too smooth, used twice, or added to the wrong thing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: numpy's generator, keyed once when this module is imported: a fork copies it.
STREAM = np.random.default_rng()


def integer_laplace(scale: float, shape: int | tuple[int, ...]) -> Integers:
    """Discrete Laplace noise as a difference of numpy's geometric draws: right up to float rounding.

    What is wrong in this package is meant to be the mechanism, not the low bits of its noise.
    """
    p = -math.expm1(-1 / scale)
    return STREAM.geometric(p, shape) - STREAM.geometric(p, shape)


def textbook_laplace(value: float, trials: int, *, scale: float = 1.0) -> Floats:
    """A double plus a double (Mironov 2012): which sums can be reached depends on `value`."""
    return value + STREAM.laplace(0.0, scale, trials)


def textbook_gaussian(value: float, trials: int, *, sigma: float = 1.0) -> Floats:
    """A double plus a normal double, with the same leak."""
    return value + STREAM.normal(0.0, sigma, trials)


def running_sum(rows: npt.NDArray[np.floating]) -> float:
    """A sum in the rows' own precision, one after the other.

    Every addition is rounded, so that one row can change how all the later ones are rounded
    (Casacuberta, Shoemate, Vadhan & Wagaman 2022).
    """
    return float(np.add.accumulate(rows)[-1]) if len(rows) else 0.0


def gram_with_a_free_diagonal(
    rows: Floats, trials: int, *, lower: float, upper: float, epsilon: float
) -> Floats:
    """The entries of X'X on and above the diagonal, for two columns within [lower, upper].

    As in diffprivlib 0.6 (`models/linear_regression.py`), the sensitivity of a square is taken from
    the lower bound twice; with the lower bound 0 it is 0, and the squares get no noise.
    """
    products = np.array([rows[:, i] @ rows[:, j] for i, j in ((0, 0), (0, 1), (1, 1))])
    corners = [a * b for a in (lower, upper) for b in (lower, upper)]
    widths = np.array([max(abs(lower), abs(lower)) ** 2, max(corners) - min(corners)])[[0, 1, 0]]
    return products + widths * 3 / epsilon * STREAM.laplace(size=(trials, 3))


def mean_over_private_n(rows: Sequence[float], trials: int, *, epsilon: float) -> Floats:
    """A mean of rows in [0, 1] with noise of scale 1/(n·ε), where n is counted in the data."""
    n = max(len(rows), 1)
    return sum(rows) / n + STREAM.laplace(0.0, 1 / (n * epsilon), trials)


def mean_within_seen_bounds(rows: Sequence[float], trials: int, *, epsilon: float) -> Floats:
    """A mean with noise for the range of the rows at hand."""
    values = np.asarray(rows, np.float64)
    width = float(np.ptp(values))
    return float(values.mean()) + width / (len(values) * epsilon) * STREAM.laplace(size=trials)


def two_answers_with_one_draw(answers: Sequence[int], trials: int, *, epsilon: float) -> Integers:
    """Two counts with the same noise: each is private, and their difference is exact."""
    draw = integer_laplace(2 / epsilon, (trials, 1))
    return np.asarray(answers, np.int64) + draw


def from_a_restarted_stream(value: int, trials: int, *, epsilon: float) -> Integers:
    """A count whose noise comes from a stream with a fixed key, reopened for each call."""
    stream = np.random.default_rng(20)
    p = -math.expm1(-epsilon)
    return value + stream.geometric(p, trials) - stream.geometric(p, trials)


def from_a_copied_stream(value: int, trials: int, *, epsilon: float) -> Integers:
    """A count whose noise comes from a stream that was keyed once: a forked worker continues a copy."""
    return value + integer_laplace(1 / epsilon, trials)


def bits_but_the_last(value: int, trials: int, *, bits: int, epsilon: float) -> Integers:
    """The bits of a value, each reported by randomised response with ε/bits: all but the last.

    The slip is an index: ``range(bits - 1)``.
    """
    told = np.tile([value >> place & 1 for place in range(bits)], (trials, 1))
    flip = 1 / (math.exp(epsilon / bits) + 1)
    told[:, : bits - 1] ^= STREAM.random((trials, bits - 1)) < flip
    return told


def one_report_for_each_item(
    items: Sequence[int], trials: int, *, kinds: int, epsilon: float
) -> Integers:
    """One randomised response for each item of a person: how many there are is revealed too."""
    keep = math.exp(epsilon) / (math.exp(epsilon) + kinds - 1)
    true = np.tile(np.asarray(items, np.int64), (trials, 1))
    other = (true + STREAM.integers(1, kinds, true.shape)) % kinds
    return np.where(STREAM.random(true.shape) < keep, true, other)
