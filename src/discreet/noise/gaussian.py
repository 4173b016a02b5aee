"""Rounded Gaussian noise: the integer nearest to a normal variate, exactly distributed."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import overload

import numpy as np
from scipy.special import ndtri, ndtri_exp

from discreet.noise import entropy, lazy
from discreet.noise.arrays import BLOCK, Floats, Integers, Size, Words, blocks, fill_shape
from discreet.noise.enclosures import Bounds, erfc_of_root, exp_minus
from discreet.noise.inversion import Inversion, Workspace, negate_by_top_bit, shift_of
from discreet.noise.lazy import LN2, LazyUniform
from discreet.noise.parameters import as_scale
from discreet.rational import Number

__all__ = ["rounded_gaussian"]


@overload
def rounded_gaussian(sigma: Number, size: None = None) -> int: ...
@overload
def rounded_gaussian(sigma: Number, size: int | tuple[int, ...]) -> Integers: ...
def rounded_gaussian(sigma: Number, size: Size = None) -> Integers | int:
    """Draw the integers nearest to independent normal variates N(0, sigma**2).

    Parameters
    ----------
    sigma : int, float, Fraction, Decimal or str
        Between 2**-40 and 2**50. A float stands for the decimal that it prints as: 0.1 is one tenth.
    size : int, tuple of int or None
        Shape of the result; None gives one Python int.

    Returns
    -------
    int or ndarray of int64

    Privacy
    -------
    For an integer vector x, x + round(N) = round(x + N): the sum is post-processing of the continuous
    Gaussian mechanism, so whatever is proved for that holds unchanged, at any real sensitivity. (The
    variance is larger, by about 1/12.) The distribution is exact, given the bound on the error of
    ``scipy.special.ndtri`` and a uniform entropy stream; running time isn't protected.
    Proof page: ``docs/proofs/noise.md``.

    Examples
    --------
    >>> from discreet import noise
    >>> draws = noise.rounded_gaussian("5/2", size=(10, 100))
    >>> draws.shape, bool(2 < draws.std() < 3)
    ((10, 100), True)
    """
    exact = as_scale(sigma, "sigma")
    return fill_shape(size, lambda out: _fill(exact, out))


def _fill(sigma: Fraction, out: Integers) -> None:
    stream = entropy.current()
    work = Workspace(min(out.size, BLOCK))
    words: Words = np.empty(min(out.size, BLOCK), np.uint64)
    shift = shift_of(sigma)
    distribution = _cell(sigma / (1 << shift)) if shift else _magnitude(sigma)
    for block in blocks(out.size):
        part = out[block]
        head = words[: part.size]
        stream.fill(head)
        distribution.fill(head, part, work)
        if shift:
            _place(sigma / (1 << shift), shift, part)
        negate_by_top_bit(part, head)


@lru_cache(maxsize=128)
def _magnitude(sigma: Fraction) -> Inversion:
    """P(|K| >= k) = P(|N| >= k - 1/2) = erfc((k - 1/2) / (sigma sqrt 2)), for k >= 1."""
    factor = -float(sigma)
    numerator, denominator = sigma.denominator**2, 8 * sigma.numerator**2

    def quantile(u: Floats) -> None:
        _quantile(u, factor)
        np.add(u, 0.5, out=u)

    def threshold(k: int, bits: int) -> Bounds:
        return erfc_of_root((2 * k - 1) ** 2 * numerator, denominator, bits)

    return Inversion(
        quantile,
        float(sigma) * 2.0**-40 + 2.0**-53,
        threshold,
        lambda log_u: factor * float(ndtri_exp(log_u - LN2)) + 0.5,
    )


@lru_cache(maxsize=128)
def _cell(tau: Fraction) -> Inversion:
    """P(J >= j) = P(|N| >= j) = erfc(j / (tau sqrt 2)) for N ~ N(0, tau**2)."""
    factor = -float(tau)
    numerator, denominator = tau.denominator**2, 2 * tau.numerator**2

    def threshold(j: int, bits: int) -> Bounds:
        return erfc_of_root(j * j * numerator, denominator, bits)

    return Inversion(
        lambda u: _quantile(u, factor),
        float(tau) * 2.0**-40,
        threshold,
        lambda log_u: factor * float(ndtri_exp(log_u - LN2)),
    )


def _quantile(u: Floats, factor: float) -> None:
    # P(|N| > t) = 2 Phi(-t / sigma) = u, so t = -sigma * ndtri(u / 2)
    np.multiply(u, 0.5, out=u)
    ndtri(u, out=u)
    np.multiply(u, factor, out=u)


def _place(tau: Fraction, shift: int, cells: Integers) -> None:
    """Turn each cell J into round(2**shift * (J + W)), W its position in the cell.

    W has density proportional to ``exp(-((J + W)**2 - J**2) / (2 tau**2))`` on [0, 1). It is drawn
    uniformly and accepted with that probability; what is rejected draws a new W in the *same* cell.
    """
    largest = int(cells.max())
    # 1 - exp(-g) <= g <= (2 J + 1) / (2 tau**2)
    certain = (1 << 32) - ceil((1 << 32) * (2 * largest + 1) / (2 * tau * tau))
    certain = max(0, certain) if not lazy.slack else 0
    stream = entropy.current()
    pending: Integers | None = None  # None: every cell
    placed: Integers = np.empty(cells.size, np.int64)
    while pending is None or pending.size:
        words = stream.words(cells.size if pending is None else pending.size)
        heads, coins = words & np.uint64(0xFFFFFFFF), words >> 32
        # the first `shift` bits of W count whole units, the next one rounds: add it
        offsets = ((heads >> (31 - shift)) + np.uint64(1)) >> 1
        target = slice(None) if pending is None else pending
        placed[target] = (cells[target] << shift) + offsets.view(np.int64)
        rejected = [
            index
            for index in np.flatnonzero(coins >= certain).tolist()
            if not _accept(
                int(cells[index if pending is None else pending[index]]),
                tau,
                LazyUniform(int(heads[index]), 32),
                LazyUniform(int(coins[index]), 32),
            )
        ]
        again = np.array(rejected, np.int64)
        pending = again if pending is None else pending[again]
    cells[:] = placed


def _accept(cell: int, tau: Fraction, position: LazyUniform, coin: LazyUniform) -> bool:
    """Decide an event of probability exp(-((J + W)**2 - J**2) / (2 tau**2)), W = `position`."""

    def enclosure(bits: int) -> Bounds:
        while position.bits < bits:
            position.reveal()
        width = position.bits
        denominator = (2 * tau.numerator**2) << 2 * width
        low_w, high_w = position.head, position.head + 1
        low_g = (2 * cell * (low_w << width) + low_w**2) * tau.denominator**2
        high_g = (2 * cell * (high_w << width) + high_w**2) * tau.denominator**2
        return exp_minus(high_g, denominator, bits)[0], exp_minus(low_g, denominator, bits)[1]

    return coin.below(enclosure)
