"""Unary encoding: a bit for each value, each bit randomised separately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet import noise
from discreet.events import Event, PartialResponse, Repeat
from discreet.events import RandomizedResponse as Response
from discreet.mechanisms.local.base import FrequencyMechanism
from discreet.mechanisms.local.domain import Categories, Integers
from discreet.mechanisms.local.probabilities import check_epsilon, outside_mass
from discreet.rational import Number

Coins = npt.NDArray[np.bool_]


@final
@dataclass(frozen=True, repr=False)
class UnaryEncoding(FrequencyMechanism):
    """A row of k bits, 1 only at the value, each bit reported by randomised response.

    Parameters
    ----------
    epsilon : number
    k : int or sequence
        The number of values 0 to k - 1, or the list of values.
    optimised : bool
        False: every bit is flipped with probability 1/(e^(ε/2) + 1), as in RAPPOR (Erlingsson,
        Pihur & Korolova 2014). True: the 1 is kept with probability 1/2 and a 0 becomes 1 with
        probability 1/(e^ε + 1), which has the least variance (Wang, Blocki, Li & Jha 2017).
    unknown : int
        The index that stands for values outside the domain.

    Privacy
    -------
    ε-local DP: two values differ in two bits. Probabilities are rounded up to multiples of 2^-64 and
    drawn exactly. Proof page: ``docs/proofs/local.md``.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> survey = mechanisms.UnaryEncoding(2, ["red", "green", "blue"], optimised=True)
    >>> reports = survey.randomize(["red"] * 7_000 + ["blue"] * 3_000)
    >>> reports.shape
    (10000, 3)
    >>> [round(share, 1) for share in survey.estimate(reports).project().tolist()]
    [0.7, 0.0, 0.3]
    """

    epsilon: Fraction
    domain: Categories
    optimised: bool
    one: Fraction
    zero: Fraction

    def __init__(
        self,
        epsilon: Number,
        k: int | Sequence[Any],
        *,
        optimised: bool = False,
        unknown: int = 0,
    ) -> None:
        exact = check_epsilon(epsilon)
        zero = outside_mass(exact if optimised else exact / 2, 1, 1)
        one = Fraction(1, 2) if optimised else 1 - zero
        object.__setattr__(self, "epsilon", exact)
        object.__setattr__(self, "domain", Categories(k, unknown))
        object.__setattr__(self, "optimised", bool(optimised))
        object.__setattr__(self, "one", one)
        object.__setattr__(self, "zero", zero)

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        return self.one, self.zero

    def event(self) -> Event:
        if self.optimised:
            return PartialResponse(self.epsilon, Fraction(1, 2))
        return Repeat(Response(self.epsilon / 2), 2)

    def randomize(self, values: Any) -> Coins:
        """A row of k bits for each value: the last axis has length k."""
        codes = self.domain.codes(values)
        bits: Coins = noise.bernoulli(self.zero, (*codes.shape, self.k))
        kept = noise.bernoulli(self.one, codes.shape)
        np.put_along_axis(bits, codes[..., None], kept[..., None], axis=-1)
        return bits

    def supports(self, reports: npt.ArrayLike) -> tuple[Integers, int]:
        return count_bits(reports, self.k)

    def __repr__(self) -> str:
        return f"UnaryEncoding({self.measure!r}, k={self.k}, optimised={self.optimised})"


def count_bits(reports: npt.ArrayLike, k: int) -> tuple[Integers, int]:
    """How often each of k bits is set, and the number of rows. Reports are public, so bad ones may raise."""
    bits = np.asarray(reports)
    if bits.ndim < 1 or bits.shape[-1] != k:
        raise ValueError(f"reports must be rows of {k} bits.")
    if bits.dtype.kind not in "biu" or (
        bits.dtype.kind != "b" and np.any((bits != 0) & (bits != 1))
    ):
        raise TypeError("reports must be bits.")
    rows = bits.reshape(-1, k)
    return rows.sum(axis=0, dtype=np.int64), int(rows.shape[0])
