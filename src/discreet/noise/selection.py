"""Exact draws from the exponential mechanism's distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import frexp
from typing import Final, TypeAlias, final, overload

import numpy as np
from numpy.typing import NDArray

from discreet.noise import entropy, lazy
from discreet.noise.arrays import Floats, Integers, Size, Words, blocks, fill_shape
from discreet.noise.enclosures import Bounds, exp_minus
from discreet.noise.lazy import LazyUniform
from discreet.noise.uniform import fill_below
from discreet.rational import Number, non_negative

__all__ = ["select"]

Whole: TypeAlias = Sequence[int] | NDArray[np.integer]

_MAX_CANDIDATES: Final = 1 << 30  # candidates
_FASTEST: Final = Fraction(1 << 64)  # a larger factor has the same envelope


@overload
def select(
    scores: Whole,
    factor: Number,
    weights: Whole | None = None,
    size: None = None,
) -> int: ...
@overload
def select(
    scores: Whole,
    factor: Number,
    weights: Whole | None,
    size: int | tuple[int, ...],
) -> Integers: ...
@overload
def select(
    scores: Whole,
    factor: Number,
    weights: Whole | None = None,
    *,
    size: int | tuple[int, ...],
) -> Integers: ...
def select(
    scores: Whole,
    factor: Number,
    weights: Whole | None = None,
    size: Size = None,
) -> Integers | int:
    """Draw indices i with probability proportional to ``weights[i] * exp(factor * scores[i])``.

    Parameters
    ----------
    scores : array of int64
        One score per candidate, from 1 to 2**30 of them.
    factor : int, float, Fraction, Decimal or str
        Zero or positive. A float stands for the decimal that it prints as: 0.1 is one tenth.
    weights : array of int64, optional
        Non-negative, not all zero. A candidate of weight 0 is never drawn.
    size : int, tuple of int or None
        Shape of the result; None gives one Python int.

    Returns
    -------
    int or ndarray of int64

    Notes
    -----
    Candidates are proposed from an envelope: integers, computed in floating point, that are proved
    to exceed the true weights, and almost all proposals are accepted. Where floating point leaves the
    acceptance in doubt, integers decide, so the distribution is exact, given the bound on the error of
    ``numpy.exp`` and a uniform entropy stream. Proof page: ``docs/proofs/noise.md``.

    Privacy
    -------
    With scores of sensitivity d, public weights and ``factor = epsilon / (2 d)``, one draw is
    epsilon-differentially private [1]_, section 3.4; several draws from the same scores compose. Running
    time isn't protected: it varies a little with the scores. Error messages never hold a score.

    References
    ----------
    .. [1] Dwork & Roth, The algorithmic foundations of differential privacy, 2014.

    Examples
    --------
    >>> from discreet import noise
    >>> noise.select([1, 50, 3], factor=1)  # the second is e^47 times as likely as the next
    1
    """
    rate = non_negative(factor, "factor")
    marks = _integers("scores", scores)
    masses = None if weights is None else _integers("weights", weights)
    if not 1 <= marks.size <= _MAX_CANDIDATES:
        raise ValueError("scores must hold between 1 and 2**30 candidates")
    if masses is not None:
        if masses.shape != marks.shape:
            raise ValueError("weights must have one entry per score")
        if masses.min() < 0:
            raise ValueError("weights must not be negative")
        if masses.max() == 0:
            raise ValueError("weights must not all be zero: there is nothing to draw")
    envelope = _envelope(marks, rate, masses)
    return fill_shape(size, envelope.fill)


def _integers(name: str, values: Whole) -> Integers:
    try:
        array = np.asarray(values)
    except (OverflowError, ValueError):
        raise ValueError(f"{name} must be a flat array of integers that fit into int64") from None
    if array.ndim != 1:
        raise ValueError(f"{name} must be a flat array; got {array.ndim} dimensions")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    if array.dtype == np.uint64:
        raise TypeError(f"{name} must be int64, not uint64: convert them, or scale them down")
    return array.astype(np.int64, copy=False)


@final
@dataclass(frozen=True)
class _Envelope:
    """Candidate i, ``live[i]`` in the caller's numbering, has true weight w = weights[i] * exp(-g).

    Here ``g = rate * gaps[i]``. It is proposed with probability proportional to ``counts[i]``, and
    ``2**height * w <= counts[i]``.
    """

    live: Integers | None  # None: every candidate
    rate: Fraction
    gaps: Words
    weights: Integers | None  # None: ones
    height: int
    counts: Integers
    cumulative: Integers

    def fill(self, out: Integers) -> None:
        for block in blocks(out.size):
            part = out[block]
            rejected = self._propose(part)
            while rejected.size:
                again: Integers = np.empty(rejected.size, np.int64)
                rejected_again = self._propose(again)
                part[rejected] = again
                rejected = rejected[rejected_again]
        if self.live is not None:
            out[:] = self.live[out]

    def _propose(self, out: Integers) -> Integers:
        """Fill `out` with proposals and return the indices of those that must be drawn again."""
        fill_below(int(self.cumulative[-1]), out)
        out[:] = np.searchsorted(self.cumulative, out, side="right")
        heads = entropy.current().words(out.size) >> 1
        # accepted with probability 2**height * w / count >= 1 - 2 / count - 2**-35
        doubt = 5.0 / self.counts[out] + (2.0**-32 + lazy.slack)
        coins: Floats = np.multiply(heads.view(np.int64), 2.0**-63, dtype=np.float64)
        doubtful = np.flatnonzero(coins >= 1.0 - doubt)
        rejected = [
            index
            for index in doubtful.tolist()
            if not self._accept(int(out[index]), int(heads[index]))
        ]
        return np.array(rejected, np.int64)

    def _accept(self, candidate: int, head: int) -> bool:
        exponent = self.rate * int(self.gaps[candidate])
        weight = 1 if self.weights is None else int(self.weights[candidate])
        divisor = int(self.counts[candidate])

        def enclosure(bits: int) -> Bounds:  # of 2**bits * 2**height * w / count
            fine = bits + 128
            low, high = exp_minus(exponent.numerator, exponent.denominator, fine)
            drop = 128 - self.height
            return (low * weight // divisor) >> drop, -((-high * weight // divisor) >> drop)

        return LazyUniform(head, 63).below(enclosure)


def _envelope(scores: Integers, rate: Fraction, weights: Integers | None) -> _Envelope:
    live: Integers | None = None
    if weights is not None and weights.min() == 0:
        live = np.flatnonzero(weights)
        scores, weights = scores[live], weights[live]
    # modulo 2**64, so that the widest gap between two int64 fits
    gaps = np.subtract(scores.max().view(np.uint64), scores.view(np.uint64))
    guess: Floats = gaps * -float(min(rate, _FASTEST))
    np.exp(guess, out=guess)
    if weights is not None:
        np.multiply(guess, weights, out=guess)
    # The candidate of the best score has a true weight of at least 1, so the largest isn't 0.
    height = 60 - scores.size.bit_length() - frexp(guess.max())[1]
    np.multiply(guess, 2.0**height * (1.0 + 2.0**-36), out=guess)
    counts = guess.astype(np.int64)
    np.add(counts, 2, out=counts)
    return _Envelope(live, rate, gaps, weights, height, counts, np.cumsum(counts))
