"""Laplace–Sigmoid noise that is private: public ranges, clamped outputs, a finite table that is checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np

from discreet import events, noise
from discreet.mechanisms.local.probabilities import epsilon_above
from discreet.publish.masks.plan import RowMask
from discreet.publish.masks.releases import Floats, Integers, Release
from discreet.publish.rows import ONE
from discreet.publish.wavelets import IntegerTransform
from discreet.rational import positive

__all__ = ["ClampedSigmoid", "SigmoidRelease", "SigmoidTable"]

#: Coefficients are put into 0 to this many steps of their public range.
STEPS = 256
#: The probabilities of a table are integers over 2^TABLE_BITS.
TABLE_BITS = 62
_BITS = 30


@final
@dataclass(frozen=True)
class ClampedSigmoid(RowMask):
    """Laplace–Sigmoid noise on coefficients of public ranges, clamped; for completeness, not for use.

    With probability 1 - S(y) a coefficient moves up by an exponential step of mean (1 - S(y))/ε′, else down
    by one of mean S(y)/ε′, and ends at its range's bounds; y goes from -γ to γ over the range, S is the
    sigmoid function.

    Parameters
    ----------
    epsilon, target, label_share, block, levels, bank, order
        See `RowMask`.
    gamma : number
        At most 2. Where γS(γ) alone costs more than ε allows, the plan is refused: the direction leaks.

    Notes
    -----
    Dominated: its noise is always more than that of clamped Laplace noise of the same ε, by 1.4 to 2 times in
    squares at γ = 0.5 and by 13 to 30 at γ = 2. Use `AngleEmbedding`, or rather what
    ``docs/guides/publish.md`` suggests.

    Privacy
    -------
    ε-DP under replace-one; the table of probabilities that is drawn from is checked itself, in integers. Its
    event is that of randomised response, which costs the most among all ε-DP mechanisms.
    Proof page: ``docs/proofs/masks.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.publish.masks import ClampedSigmoid
    >>> ledger = dp.Ledger(limit=dp.PureDP(8), unit=dp.REPLACE_ONE)
    >>> data = dp.PrivateDataset({"x": [0.2, 0.4]}, dp.Schema(x=dp.Real(0, 1)), ledger=ledger)
    >>> masked = ClampedSigmoid(8).publish(data)
    >>> masked["x"].shape
    (2,)
    """

    gamma: Any = field(default=Fraction(1, 2), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not positive(self.gamma, "gamma") <= 2:
            raise ValueError(f"gamma must be at most 2, got {self.gamma!r}.")

    def _release(self, columns: int, share: Fraction) -> Release:
        plain = IntegerTransform(self.bank, self.block, self.levels, _BITS)
        weights = tuple(min(1.0, 1 / width) for width in plain.ranges())
        transform = IntegerTransform(self.bank, self.block, self.levels, _BITS, weights)
        steps = SigmoidRelease.moved(transform, columns)
        table = find_table(positive(self.gamma, "gamma"), share / steps)
        return SigmoidRelease(transform, steps, table)


@final
@dataclass(frozen=True)
class SigmoidTable:
    """The chances of each output for each input, both from 0 to STEPS, as integers over 2^TABLE_BITS.

    Parameters
    ----------
    gamma : Fraction
    rate : float
        ε′ of one step.
    """

    gamma: Fraction
    rate: float

    @cached_property
    def counts(self) -> Integers:
        """Integers of shape (STEPS + 1, STEPS + 1), all above 0; each row adds up to 2^TABLE_BITS."""
        y = float(self.gamma) * np.linspace(-1, 1, STEPS + 1)[:, None]
        edges = (
            np.arange(STEPS)[None, :] + 0.5
        )  # an output is the step nearest to the clamped number
        away = edges - np.arange(STEPS + 1)[:, None]
        rising = 1 / (1 + np.exp(-y))
        below = rising * np.exp(np.minimum(away, 0) * self.rate / rising)
        above = (1 - rising) * np.exp(-np.maximum(away, 0) * self.rate / (1 - rising))
        cdf = np.where(away < 0, below, 1 - above)
        cdf = np.concatenate([np.zeros_like(y), cdf, np.ones_like(y)], axis=1)
        counts = np.floor(np.diff(cdf, axis=1) * 2.0**TABLE_BITS).astype(np.int64)
        counts = np.maximum(counts, 1)
        for row in counts:  # the rest goes to the likeliest output, in exact integers
            row[np.argmax(row)] += 2**TABLE_BITS - sum(row.tolist())
        return counts

    @cached_property
    def loss(self) -> Fraction:
        """An upper bound on the privacy loss of inputs one step apart, from the integers themselves."""
        ratio = Fraction(1)
        upper, lower = self.counts[1:], self.counts[:-1]
        for first, second in ((upper, lower), (lower, upper)):
            guess = first / second
            # the exact largest is among those that float64 can't tell apart from it
            for i, j in np.argwhere(guess >= guess.max() * (1 - 2**-40)):
                ratio = max(ratio, Fraction(int(first[i, j]), int(second[i, j])))
        return epsilon_above(ratio)

    @cached_property
    def _cumulated(self) -> Integers:
        return np.cumsum(self.counts[:, :-1], axis=1)

    def draw(self, inputs: Integers) -> Integers:
        """One output for each input."""
        flat = inputs.ravel()
        found = np.empty_like(flat)
        drawn = noise.uniform_below(2**TABLE_BITS, flat.size)
        order = np.argsort(flat, kind="stable")
        cuts = np.searchsorted(flat[order], np.arange(STEPS + 2))
        for value in range(STEPS + 1):
            part = order[cuts[value] : cuts[value + 1]]
            found[part] = np.searchsorted(self._cumulated[value], drawn[part], side="right")
        return found.reshape(inputs.shape)


@lru_cache(maxsize=32)
def find_table(gamma: Fraction, loss: Fraction) -> SigmoidTable:
    """The table with the least noise whose loss for one step is at most `loss`."""
    low, high = 0.0, float(loss)
    best = SigmoidTable(gamma, high * 2.0**-12)
    if best.loss > loss:
        least = float(best.loss / loss)
        raise ValueError(
            f"gamma: the direction of the noise alone would cost {least:.3g} times the budget: use a smaller "
            f"gamma, an epsilon at least {math.ceil(10 * least) / 10} times as large, or WaveletLaplace."
        )
    for _ in range(24):
        middle = (low + high) / 2
        table = SigmoidTable(gamma, middle)
        if table.loss <= loss:
            best, low = table, middle
        else:
            high = middle
    return best


@final
@dataclass(frozen=True)
class SigmoidRelease(Release):
    """Coefficients as steps of their public ranges, each replaced by an output of the table."""

    transform: IntegerTransform
    steps: int
    table: SigmoidTable

    @staticmethod
    def moved(transform: IntegerTransform, columns: int) -> int:
        """How many steps one row moves all coefficients: each that it changes may be rounded up."""
        exact = Fraction(STEPS * transform.spread(), transform.one)
        return math.floor(columns * (exact + transform.most_changed()))

    def event(self) -> events.Event:
        return events.RandomizedResponse(self.steps * self.table.loss)

    def event_of_two(self) -> events.Event:
        return events.RandomizedResponse(2 * self.steps * self.table.loss)

    def run(self, blocks: Integers) -> Floats:
        half = ONE * self.transform.one
        codes = np.clip(self.transform.apply(blocks, ONE), -half, half) + half
        steps = (codes * STEPS) // (2 * half)
        told = self.table.draw(steps)
        return self.transform.invert(told * (2.0 * half / STEPS) - half)

    def spread(self) -> float | None:
        return None
