"""Reports over time: a permanent noisy row, kept by the person, and fresh noise on it each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet import noise
from discreet.events import Event, Repeat
from discreet.events import RandomizedResponse as Response
from discreet.mechanisms.local.base import Estimate, FrequencyMechanism
from discreet.mechanisms.local.domain import Categories, Integers
from discreet.mechanisms.local.probabilities import check_epsilon, outside_mass, round_up
from discreet.mechanisms.local.unary import Coins, UnaryEncoding, count_bits
from discreet.rational import Number, as_integer


@final
@dataclass(frozen=True, repr=False)
class Memoised(FrequencyMechanism):
    """Unary encoding reported again and again, in the manner of RAPPOR.

    The bits are randomised once by symmetric unary encoding with `epsilon` (the permanent response, which
    the person keeps), and each report flips bits of the permanent row at random once more (the
    instantaneous response), so that one report alone is `epsilon_first`-private.

    Parameters
    ----------
    epsilon : number
        For any number of reports about one value.
    epsilon_first : number
        For one report alone; less than `epsilon`.
    k : int or sequence
        The number of values 0 to k - 1, or the list of values.
    unknown : int
        The index that stands for values outside the domain.

    Privacy
    -------
    All reports about one value are post-processing of the permanent response: ε-local DP together,
    however many (Erlingsson, Pihur & Korolova 2014, theorem 1 with one hash function). One report alone
    is `epsilon_first`-local DP. A person whose value changes makes a new permanent response, which costs
    ε again: see `event`. Proof page: ``docs/proofs/local.md``.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> daily = mechanisms.Memoised(epsilon=4, epsilon_first=2, k=["bus", "car", "foot"])
    >>> kept = daily.permanent(["bus"] * 6_000 + ["foot"] * 4_000)  # stays with each person
    >>> today, tomorrow = daily.report(kept), daily.report(kept)
    >>> [round(share, 1) for share in daily.estimate(today).project().tolist()]
    [0.6, 0.0, 0.4]
    """

    epsilon: Fraction
    epsilon_first: Fraction
    domain: Categories
    flip: Fraction
    again: Fraction

    def __init__(
        self,
        epsilon: Number,
        epsilon_first: Number,
        k: int | Sequence[Any],
        *,
        unknown: int = 0,
    ) -> None:
        total, first = check_epsilon(epsilon), check_epsilon(epsilon_first)
        if not first < total:
            raise ValueError("epsilon_first must be less than epsilon.")
        flip = outside_mass(total / 2, 1, 1)
        wanted = outside_mass(first / 2, 1, 1)  # flip·(1 - again) + (1 - flip)·again, at least
        again = min(Fraction(1, 2), round_up(max(Fraction(0), wanted - flip) / (1 - 2 * flip)))
        object.__setattr__(self, "epsilon", total)
        object.__setattr__(self, "epsilon_first", first)
        object.__setattr__(self, "domain", Categories(k, unknown))
        object.__setattr__(self, "flip", flip)
        object.__setattr__(self, "again", again)

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        wrong = self.flip * (1 - self.again) + (1 - self.flip) * self.again
        return 1 - wrong, wrong

    def event(self, reports: int | None = None, values: int = 1) -> Event:
        """The event of `reports` reports (None: any number) of each of `values` different values.

        Reports of one permanent row are not independent. That n of them are (n · `epsilon_first`)-DP is
        proved all the same, but only for pure DP; so two or more count as the worst event of that ε.
        """
        as_integer(values, "values", minimum=1)
        count = None if reports is None else as_integer(reports, "reports")
        one: Event = Repeat(Response(self.epsilon / 2), 2)
        if count is not None and count * self.epsilon_first < self.epsilon:
            first = Repeat(Response(self.epsilon_first / 2), 2)
            one = first if count == 1 else Response(count * self.epsilon_first)
        return one if values == 1 else Repeat(one, values)

    def permanent(self, values: Any) -> Coins:
        """The row of k bits that each person draws once and keeps."""
        return UnaryEncoding(self.epsilon, self.k, unknown=self.domain.unknown).randomize(
            self.domain.codes(values)
        )

    def report(self, permanent: Coins) -> Coins:
        """A fresh report of permanent rows."""
        rows = np.asarray(permanent)
        if rows.dtype.kind != "b" or rows.shape[-1:] != (self.k,):
            raise ValueError("permanent must be the bits that `permanent` returned.")
        reports: Coins = rows ^ noise.bernoulli(self.again, rows.shape)
        return reports

    def randomize(self, values: Any) -> Coins:
        """Draw a first report for each value; its permanent row is forgotten."""
        return self.report(self.permanent(values))

    def supports(self, reports: npt.ArrayLike) -> tuple[Integers, int]:
        return count_bits(reports, self.k)

    def estimate(self, reports: npt.ArrayLike) -> Estimate:
        """Estimate the share of each value from one report of each person.

        Reports of one person at several times are not independent: estimate each round separately.
        """
        return super().estimate(reports)

    def __repr__(self) -> str:
        return f"Memoised({self.measure!r}, first={float(self.epsilon_first):g}, k={self.k})"
