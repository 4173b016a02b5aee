"""Lazy inversion: the largest k whose tail probability exceeds a uniform real number.

This is the one loop that the Laplace, geometric and rounded Gaussian samplers share. Each draw is
a function of one real U; 63 bits of it are turned into a quantile in floating point, and where
an error of floating point, or the bits of U that aren't known yet, could change the integer, the
draw is decided again by `LazyUniform.last_below`, in integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.noise import lazy
from discreet.noise.arrays import Floats, Integers, Words
from discreet.noise.enclosures import Bounds
from discreet.noise.lazy import WORD_FLOOR, LazyUniform

__all__ = ["NARROW", "Inversion", "Workspace", "negate_by_top_bit", "shift_of"]

NARROW: Final = 1 << 20
"""The largest scale that is inverted directly: its error bound, scale * 2**-40, stays below 2**-20."""

_LARGEST: Final = 1 << 32  # for scales up to NARROW reached with probability below exp(-4000)
_LOW_63: Final = np.uint64((1 << 63) - 1)
_FLOOR: Final = WORD_FLOOR * 2.0**-63


def shift_of(scale: Fraction) -> int:
    """Return the least b >= 0 with ``scale / 2**b <= NARROW``; b = 0 or the quotient > NARROW/2."""
    ceiling = -(-scale.numerator // scale.denominator)
    return max(0, (ceiling - 1).bit_length() - (NARROW.bit_length() - 1))


@final
class Workspace:
    """Arrays for computing a block of draws, made once for many blocks."""

    __slots__ = ("heads", "quantiles", "wholes")

    def __init__(self, size: int) -> None:
        self.heads: Words = np.empty(size, np.uint64)
        self.quantiles: Floats = np.empty(size, np.float64)
        self.wholes: Floats = np.empty(size, np.float64)


@final
@dataclass(frozen=True)
class Inversion:
    """K = max{k >= 0: k = 0 or U < p(k)}, for a falling sequence p(1), p(2), ... of tails.

    Parameters
    ----------
    quantile : callable
        Overwrites an array of values u of U by a real t >= 0 each, so that K = floor(t).
    error : float
        Bounds the error of t where u >= 2**-20, the unknown bits of U included.
    threshold : callable
        ``threshold(k, bits)`` encloses ``2**bits * p(k)`` in integers, for k >= 1.
    guess : callable
        From about ln U to about t, for any U > 0. It can't change the result.
    """

    quantile: Callable[[Floats], object]
    error: float
    threshold: Callable[[int, int], Bounds]
    guess: Callable[[float], float]

    def fill(self, words: Words, out: Integers, work: Workspace) -> None:
        """Turn the low 63 bits of each word into a draw; the top bit is left to the caller."""
        size = out.size
        heads, t, whole = work.heads[:size], work.quantiles[:size], work.wholes[:size]
        np.bitwise_and(words, _LOW_63, out=heads)
        np.multiply(heads.view(np.int64), 2.0**-63, out=t)
        tiny = np.flatnonzero(t < _FLOOR) if t.min() < _FLOOR else None
        if tiny is not None:
            t[tiny] = 0.5  # refined below: any harmless number
        self.quantile(t)
        np.floor(t, out=whole)
        np.subtract(t, whole, out=t)  # exact: the fractional part
        np.copyto(out, whole, casting="unsafe")
        error = self.error + lazy.slack
        if t.min() <= error or t.max() >= 1.0 - error:
            self._refine(np.flatnonzero((t <= error) | (t >= 1.0 - error)), heads, out)
        if tiny is not None:
            self._refine(tiny, heads, out)

    def _refine(self, indices: Integers, heads: Words, out: Integers) -> None:
        for index in indices.tolist():
            out[index] = self.exact(LazyUniform(int(heads[index]), 63))

    def exact(self, uniform: LazyUniform) -> int:
        """Return the draw that belongs to U, decided in integers."""
        draw = uniform.last_below(int(self.guess(uniform.log())), self.threshold)
        if draw >= _LARGEST:
            raise OverflowError(
                "a draw of more than 4000 scales, which chance explains less than once in 2**5000 times: "
                "look for a broken source of entropy"
            )
        return draw


def negate_by_top_bit(out: Integers, words: Words) -> None:
    """Negate the entries of `out` whose word has its top bit set."""
    signs = words.view(np.int64) >> 63  # -1 or 0
    np.bitwise_xor(out, signs, out=out)
    np.subtract(out, signs, out=out)
