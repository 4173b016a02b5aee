"""Discrete Gaussian noise, by rejection from the discrete Laplace distribution."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, overload

import numpy as np

from discreet.noise import entropy, lazy
from discreet.noise.arrays import BLOCK, Floats, Integers, Size, fill_shape
from discreet.noise.enclosures import exp_minus
from discreet.noise.laplace import fill_laplace
from discreet.noise.lazy import LazyUniform
from discreet.noise.parameters import as_scale
from discreet.rational import Number

__all__ = ["discrete_gaussian"]

_ERROR: Final = 2.0**-40  # of the acceptance probability in floating point; see the proof page


@overload
def discrete_gaussian(sigma: Number, size: None = None) -> int: ...
@overload
def discrete_gaussian(sigma: Number, size: int | tuple[int, ...]) -> Integers: ...
def discrete_gaussian(sigma: Number, size: Size = None) -> Integers | int:
    """Draw integers k with probability proportional to ``exp(-k**2 / (2 sigma**2))``.

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
    Added to an integer query of L2 sensitivity d it satisfies (d**2 / (2 sigma**2))-zero-concentrated
    differential privacy [1]_. The formulas for the continuous Gaussian do **not** hold for it; they hold
    for `rounded_gaussian`. The distribution is exact, given the bounds on the errors of ``numpy.log`` and
    ``numpy.exp`` and a uniform entropy stream; running time isn't protected. Proof page:
    ``docs/proofs/noise.md``.

    References
    ----------
    .. [1] Canonne, Kamath & Steinke, The discrete Gaussian for differential privacy, NeurIPS 2020,
       arXiv:2004.00010.

    Examples
    --------
    >>> from discreet import noise
    >>> draws = noise.discrete_gaussian(3, size=1_000)
    >>> draws.dtype.name, bool(2.5 < draws.std() < 3.5)
    ('int64', True)
    """
    exact = as_scale(sigma, "sigma")
    return fill_shape(size, lambda out: _fill(exact, out))


def _fill(sigma: Fraction, out: Integers) -> None:
    done = 0
    while done < out.size:
        missing = out.size - done
        proposals: Integers = np.empty(min(BLOCK, missing + missing // 2 + 8), np.int64)
        fill_laplace(sigma, proposals)
        accepted = proposals[_accept(sigma, proposals)][:missing]
        out[done : done + accepted.size] = accepted
        done += accepted.size


def _accept(sigma: Fraction, proposals: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Accept y with probability exp(-(|y| / sigma - 1)**2 / 2): the ratio of the two distributions."""
    heads = entropy.current().words(proposals.size) >> 1
    gap: Floats = np.abs(proposals) * (1.0 / float(sigma))
    np.subtract(gap, 1.0, out=gap)
    np.multiply(gap, gap, out=gap)
    np.multiply(gap, -0.5, out=gap)
    np.exp(gap, out=gap)
    coins: Floats = np.multiply(heads.view(np.int64), 2.0**-63, dtype=np.float64)
    np.subtract(gap, coins, out=gap)
    accepted = gap > 0.0
    np.abs(gap, out=gap)
    error = _ERROR + lazy.slack
    if gap.min() <= error:
        for index in np.flatnonzero(gap <= error).tolist():
            accepted[index] = _accept_exactly(sigma, int(proposals[index]), int(heads[index]))
    return accepted


def _accept_exactly(sigma: Fraction, proposal: int, head: int) -> bool:
    gap = abs(proposal) * sigma.denominator - sigma.numerator
    return LazyUniform(head, 63).below(
        lambda bits: exp_minus(gap * gap, 2 * sigma.numerator**2, bits)
    )
