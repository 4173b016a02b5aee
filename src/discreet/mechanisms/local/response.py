"""Randomised response: a value is kept with some probability, else another one is reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet import noise
from discreet.events import RandomizedResponse as Response
from discreet.mechanisms.local.base import FrequencyMechanism, codes_of_reports
from discreet.mechanisms.local.domain import Categories, Integers, as_array
from discreet.mechanisms.local.probabilities import check_epsilon, epsilon_above, outside_mass
from discreet.rational import Number, rational

Coins = npt.NDArray[np.bool_]


@final
@dataclass(frozen=True, repr=False)
class RandomizedResponse(FrequencyMechanism):
    """Yes or no, reported as it is with probability e^ε/(e^ε + 1), else flipped (Warner 1965).

    Parameters
    ----------
    epsilon : number

    Examples
    --------
    >>> survey = RandomizedResponse.two_coins()
    >>> survey.lie
    Fraction(1, 4)
    >>> survey.randomize([True, False, None]).shape
    (3,)

    Privacy
    -------
    ε-local DP for one yes or no. Whatever isn't 1 or True counts as no. `lie` is a fraction, rounded up
    to a multiple of 2^-64, and drawn exactly: 1.004 random bytes per report. Proof page:
    ``docs/proofs/local.md``.
    """

    epsilon: Fraction
    lie: Fraction
    domain: Categories

    def __init__(self, epsilon: Number) -> None:
        exact = check_epsilon(epsilon)
        self._set(exact, outside_mass(exact, 1, 1))

    def _set(self, epsilon: Fraction, lie: Fraction) -> None:
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "lie", lie)
        object.__setattr__(self, "domain", Categories(2))

    @classmethod
    def with_lie(cls, lie: Number) -> RandomizedResponse:
        """The response that is flipped with exactly this probability, above 0 and below 1/2.

        Its ε is log((1 - lie)/lie), rounded up to twelve decimals.
        """
        chance = rational(lie, "lie")
        if not 0 < chance < Fraction(1, 2):
            raise ValueError(f"lie must be greater than 0 and less than 1/2, got {lie!r}.")
        made = cls.__new__(cls)
        made._set(check_epsilon(epsilon_above((1 - chance) / chance)), chance)
        return made

    @classmethod
    def two_coins(cls) -> RandomizedResponse:
        """The survey with two coins: heads, the truth; tails, what a second coin says. ε = ln 3."""
        return cls.with_lie(Fraction(1, 4))

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        return 1 - self.lie, self.lie

    def event(self) -> Response:
        return Response(self.epsilon)

    def randomize(self, values: Any) -> Coins:
        array = as_array(values)
        if array.dtype.kind == "b":
            truth = array
        elif array.dtype.kind in "iuf":
            truth = array == 1
        else:
            truth = self.domain.codes(array) == 1
        lies = noise.bernoulli(self.lie, truth.shape)
        reports: Coins = np.logical_xor(truth, lies, out=lies)
        return reports

    def supports(self, reports: npt.ArrayLike) -> tuple[Integers, int]:
        array = np.asarray(reports)
        if array.dtype.kind != "b":
            array = codes_of_reports(array, 2)
        yes = int(np.count_nonzero(array))
        return np.array([array.size - yes, yes], np.int64), int(array.size)

    def __repr__(self) -> str:
        return f"RandomizedResponse({self.measure!r})"


@final
@dataclass(frozen=True, repr=False)
class GeneralizedRandomizedResponse(FrequencyMechanism):
    """One of k values, kept with probability e^ε/(e^ε + k - 1), else another one uniformly.

    Parameters
    ----------
    epsilon : number
    k : int or sequence
        The number of values 0 to k - 1, or the list of values. Reports are indices.
    unknown : int
        The index that stands for values outside the domain.

    Privacy
    -------
    ε-local DP (Kairouz, Bonawitz & Ramage 2016). The probability of a lie is rounded up to a multiple of
    2^-64 and drawn exactly. Proof page: ``docs/proofs/local.md``.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> survey = mechanisms.GeneralizedRandomizedResponse(2, ["red", "green", "blue"])
    >>> reports = survey.randomize(["red"] * 7_000 + ["blue"] * 3_000)
    >>> [round(share, 1) for share in survey.estimate(reports).project().tolist()]
    [0.7, 0.0, 0.3]
    """

    epsilon: Fraction
    domain: Categories
    lie: Fraction

    def __init__(self, epsilon: Number, k: int | Sequence[Any], unknown: int = 0) -> None:
        exact, domain = check_epsilon(epsilon), Categories(k, unknown)
        object.__setattr__(self, "epsilon", exact)
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "lie", outside_mass(exact, 1, domain.k - 1))

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        return 1 - self.lie, self.lie / (self.k - 1)

    def event(self) -> Response:
        return Response(self.epsilon, self.k)

    def randomize(self, values: Any) -> Integers:
        return respond(self.domain.codes(values), self.k, self.lie)

    def supports(self, reports: npt.ArrayLike) -> tuple[Integers, int]:
        codes = codes_of_reports(reports, self.k)
        return np.bincount(codes, minlength=self.k).astype(np.int64), int(codes.size)

    def __repr__(self) -> str:
        return f"GeneralizedRandomizedResponse({self.measure!r}, k={self.k})"


def respond(codes: Integers, k: int, lie: Fraction) -> Integers:
    """Codes below k, each replaced with probability `lie` by another one, all equally likely."""
    lies = noise.bernoulli(lie, codes.shape)
    reports = np.array(codes, np.int64)  # an array also where codes is a bare number
    shift = noise.uniform_below(k - 1, int(np.count_nonzero(lies))) + 1
    reports[lies] = (reports[lies] + shift) % k
    return reports
