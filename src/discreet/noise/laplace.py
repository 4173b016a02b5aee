"""Discrete Laplace and geometric noise, exact at every rational scale in [2**-40, 2**50]."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import overload

import numpy as np

from discreet.noise import entropy, lazy
from discreet.noise.arrays import BLOCK, Floats, Integers, Size, Words, blocks, fill_shape
from discreet.noise.enclosures import Bounds, exp_minus
from discreet.noise.inversion import Inversion, Workspace, negate_by_top_bit, shift_of
from discreet.noise.lazy import LazyUniform
from discreet.noise.parameters import as_scale
from discreet.rational import Number

__all__ = ["discrete_laplace", "fill_laplace", "geometric"]


@overload
def discrete_laplace(scale: Number, size: None = None) -> int: ...
@overload
def discrete_laplace(scale: Number, size: int | tuple[int, ...]) -> Integers: ...
def discrete_laplace(scale: Number, size: Size = None) -> Integers | int:
    """Draw integers k with probability proportional to ``exp(-abs(k) / scale)``.

    Parameters
    ----------
    scale : int, float, Fraction, Decimal or str
        Between 2**-40 and 2**50. A float stands for the decimal that it prints as: 0.1 is one tenth.
    size : int, tuple of int or None
        Shape of the result; None gives one Python int.

    Returns
    -------
    int or ndarray of int64

    Privacy
    -------
    Added to an integer query of L1 sensitivity d it is pure (d / scale)-differentially private [1]_. The
    distribution is exact, given the bound on the error of ``numpy.log`` and a uniform entropy stream;
    running time isn't protected. Proof page: ``docs/proofs/noise.md``.

    References
    ----------
    .. [1] Ghosh, Roughgarden & Sundararajan, Universally utility-maximizing privacy mechanisms,
       SIAM J. Comput. 41(6), 2012 (the geometric mechanism).

    Examples
    --------
    >>> from discreet import noise
    >>> draws = noise.discrete_laplace(10, size=1_000)
    >>> draws.dtype.name, bool(11 < draws.std() < 18)  # 10·√2 on average
    ('int64', True)
    """
    exact = as_scale(scale, "scale")
    return fill_shape(size, lambda out: fill_laplace(exact, out))


@overload
def geometric(scale: Number, size: None = None) -> int: ...
@overload
def geometric(scale: Number, size: int | tuple[int, ...]) -> Integers: ...
def geometric(scale: Number, size: Size = None) -> Integers | int:
    """Draw integers k >= 0 with probability proportional to ``exp(-k / scale)``.

    Parameters and guarantees are those of `discrete_laplace`.

    Privacy
    -------
    One-sided noise by itself hides nothing from below; it is a building block.

    Examples
    --------
    >>> from discreet import noise
    >>> draws = noise.geometric(10, size=1_000)
    >>> int(draws.min()) >= 0, bool(8 < draws.mean() < 12)
    (True, True)
    """
    exact = as_scale(scale, "scale")
    return fill_shape(size, lambda out: _fill(exact, out, signed=False))


def fill_laplace(scale: Fraction, out: Integers) -> None:
    """Overwrite a flat array by discrete Laplace draws. `scale` must have been checked."""
    _fill(scale, out, signed=True)


def _fill(scale: Fraction, out: Integers, *, signed: bool) -> None:
    stream = entropy.current()
    work = Workspace(min(out.size, BLOCK))
    shift = shift_of(scale)
    if shift:
        for block in blocks(out.size):
            _fill_wide(scale, shift, out[block], work, signed=signed)
        return
    distribution = _laplace_magnitude(scale) if signed else _geometric(scale)
    words: Words = np.empty(min(out.size, BLOCK), np.uint64)
    for block in blocks(out.size):
        part = out[block]
        head = words[: part.size]
        stream.fill(head)
        distribution.fill(head, part, work)
        if signed:
            negate_by_top_bit(part, head)


@lru_cache(maxsize=128)
def _geometric(scale: Fraction) -> Inversion:
    """P(K >= k) = exp(-k / scale), so K = floor(-scale ln U)."""
    numerator, denominator, factor = scale.numerator, scale.denominator, -float(scale)

    def quantile(u: Floats) -> None:
        np.log(u, out=u)
        np.multiply(u, factor, out=u)

    def threshold(k: int, bits: int) -> Bounds:
        return exp_minus(k * denominator, numerator, bits)

    return Inversion(quantile, float(scale) * 2.0**-40, threshold, lambda log_u: factor * log_u)


@lru_cache(maxsize=128)
def _laplace_magnitude(scale: Fraction) -> Inversion:
    """P(|K| >= k) = 2 q**k / (1 + q) with q = exp(-1 / scale), for k >= 1."""
    numerator, denominator, factor = scale.numerator, scale.denominator, -float(scale)
    offset = factor * float(np.log((1.0 + np.exp(-1.0 / float(scale))) / 2.0))

    def quantile(u: Floats) -> None:
        np.log(u, out=u)
        np.multiply(u, factor, out=u)
        np.add(u, offset, out=u)

    def threshold(k: int, bits: int) -> Bounds:
        fine = bits + 8
        q_low, q_high = exp_minus(denominator, numerator, fine)
        low, high = exp_minus(k * denominator, numerator, fine)
        one = 1 << fine
        return (low << bits + 1) // (one + q_high), -(-(high << bits + 1) // (one + q_low))

    return Inversion(
        quantile, float(scale) * 2.0**-40, threshold, lambda log_u: factor * log_u + offset
    )


def _fill_wide(
    scale: Fraction, shift: int, out: Integers, work: Workspace, *, signed: bool
) -> None:
    """Draw at a scale beyond the narrow ones: quotient and remainder by 2**shift, separately."""
    distribution = _geometric(scale / (1 << shift))
    rejected = _propose(distribution, scale, shift, out, work, signed=signed)
    while rejected.size:
        again: Integers = np.empty(rejected.size, np.int64)
        rejected_again = _propose(distribution, scale, shift, again, work, signed=signed)
        out[rejected] = again
        rejected = rejected[rejected_again]


_NONE: Integers = np.empty(0, np.int64)


def _propose(
    distribution: Inversion,
    scale: Fraction,
    shift: int,
    out: Integers,
    work: Workspace,
    *,
    signed: bool,
) -> Integers:
    """Fill `out` with proposals and return the indices of those that must be drawn again."""
    words = entropy.current().words(2 * out.size)
    first, second = words[: out.size], words[out.size :]
    distribution.fill(first, out, work)
    remainders = (second & np.uint64((1 << shift) - 1)).view(np.int64)
    coins = second >> 32
    # remainder / scale < 2**shift / scale, at most 2**-19, and exp(-x) >= 1 - x: almost every
    # coin needs no exponential
    certain = (1 << 32) - ceil((1 << 32 + shift) / scale) if not lazy.slack else 0
    doubtful = np.flatnonzero(coins >= max(0, certain))
    rejected = [
        index
        for index in doubtful.tolist()
        if not _accept(int(remainders[index]), scale, int(coins[index]))
    ]
    np.left_shift(out, shift, out=out)
    np.bitwise_or(out, remainders, out=out)
    if signed:  # zero must not count for both signs
        rejected += np.flatnonzero((out == 0) & (first.view(np.int64) < 0)).tolist()
        negate_by_top_bit(out, first)
    if not rejected:
        return _NONE
    return np.unique(np.array(rejected, np.int64))


def _accept(remainder: int, scale: Fraction, coin: int) -> bool:
    """Decide an event of probability exp(-remainder / scale); `coin` is its first 32 bits."""
    return LazyUniform(coin, 32).below(
        lambda bits: exp_minus(remainder * scale.denominator, scale.numerator, bits)
    )
