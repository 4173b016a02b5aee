"""Local means of bounded reals on a public grid of 2^20 steps, in whole numbers."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet import noise
from discreet.events import Event, PartialResponse
from discreet.events import RandomizedResponse as Response
from discreet.mechanisms.local.base import Estimate, LocalMechanism, codes_of_reports
from discreet.mechanisms.local.domain import STEPS, Floats, Integers, Interval
from discreet.mechanisms.local.probabilities import check_epsilon, outside_mass, round_up
from discreet.rational import Number, as_integer


class MeanMechanism(LocalMechanism):
    """A channel on the steps 0 to 2^20 of a public interval, with an unbiased reading of each report.

    The estimate is unbiased for the steps; a step is within (upper - lower)/2^21 of its value.
    """

    domain: Interval

    @abstractmethod
    def _reading(self, reports: Integers) -> Floats:
        """For each report a number of steps whose mean is the step of the value."""

    @abstractmethod
    def _variance(self, step: float) -> float:
        """The variance of one reading, in steps squared."""

    @property
    @abstractmethod
    def _reports(self) -> int:
        """The number of possible reports, which count up from 0."""

    @property
    @abstractmethod
    def _worst(self) -> float:
        """The step with the largest variance."""

    def estimate(self, reports: npt.ArrayLike) -> Estimate:
        """Estimate the mean of the values, without bias, as an array of length 1.

        The standard error is that of the readings, so it includes how the values differ from each other.
        Without reports the midpoint is returned, with an infinite error.
        """
        codes = codes_of_reports(reports, self._reports)
        n = int(codes.size)
        if n == 0:
            middle = np.array([float((self.domain.lower + self.domain.upper) / 2)])
            return Estimate(middle, np.array([math.inf]), 0)
        readings = self._reading(codes)
        deviation = (
            float(np.std(readings, ddof=1)) if n > 1 else math.sqrt(self._variance(self._worst))
        )
        error = deviation / math.sqrt(n) * self.domain.step
        mean = np.atleast_1d(self.domain.reals(float(np.mean(readings))))
        return Estimate(mean, np.array([error]), n)

    def expected_error(self, n: int, value: float | None = None) -> float:
        """The standard error of the mean of n values that are all `value`; by default the worst value."""
        as_integer(n, "n", minimum=1)
        step = self._worst if value is None else float(self.domain.codes(np.array([value]))[0])
        return math.sqrt(self._variance(step) / n) * self.domain.step

    def __repr__(self) -> str:
        bounds = f"lower={float(self.domain.lower):g}, upper={float(self.domain.upper):g}"
        return f"{type(self).__name__}({self.measure!r}, {bounds})"


def _prepare(mechanism: MeanMechanism, epsilon: Number, lower: Number, upper: Number) -> Fraction:
    exact = check_epsilon(epsilon)
    object.__setattr__(mechanism, "epsilon", exact)
    object.__setattr__(mechanism, "domain", Interval(lower, upper))
    return exact


@final
@dataclass(frozen=True, repr=False)
class DuchiMean(MeanMechanism):
    """One-bit reports: a value is rounded at random to an end of the interval, and the end is randomised.

    Parameters
    ----------
    epsilon : number
    lower, upper : number
        Public bounds; values outside are clamped, NaN stands for the midpoint.

    Privacy
    -------
    ε-local DP (Duchi, Jordan & Wainwright 2018, in one dimension). Everything is drawn in
    whole numbers. Proof page: ``docs/proofs/local.md``.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> survey = mechanisms.DuchiMean(epsilon=1, lower=0, upper=10)
    >>> reports = survey.randomize([7.0] * 10_000)  # one bit from each of 10 000 people
    >>> sorted(set(reports.tolist()))
    [0, 1]
    >>> 6.5 < survey.estimate(reports).values.item() < 7.5
    True
    """

    epsilon: Fraction
    domain: Interval
    lie: Fraction

    def __init__(self, epsilon: Number, lower: Number, upper: Number) -> None:
        exact = _prepare(self, epsilon, lower, upper)
        object.__setattr__(self, "lie", outside_mass(exact, 1, 1))

    def event(self) -> Event:
        return Response(self.epsilon)

    def randomize(self, values: Any) -> Integers:
        return self._report(self.domain.codes(values))

    def _report(self, codes: Integers) -> Integers:
        ends = noise.uniform_below(STEPS, codes.shape) < codes  # 1 with probability code/2^20
        bits: Integers = (ends ^ noise.bernoulli(self.lie, codes.shape)).astype(np.int64)
        return bits

    @property
    def _reports(self) -> int:
        return 2

    @property
    def _worst(self) -> float:
        return STEPS / 2

    def _reading(self, reports: Integers) -> Floats:
        lie, kept = float(self.lie), float(1 - 2 * self.lie)
        readings: Floats = (reports.astype(np.float64) - lie) * (STEPS / kept)
        return readings

    def _variance(self, step: float) -> float:
        lie, kept = float(self.lie), float(1 - 2 * self.lie)
        up = lie + kept * step / STEPS
        return up * (1 - up) * (STEPS / kept) ** 2


@final
@dataclass(frozen=True, repr=False)
class PiecewiseMean(MeanMechanism):
    """Reports a cell near the value with weight e^ε, or elsewhere with weight 1, on a longer grid.

    Of 2^20 + w cells a window of w, starting at the value's step, is e^ε times as likely, cell by cell;
    w is about 2^20·e^(-ε/2), as in the continuous mechanism (Wang et al. 2019, algorithm 2).

    Parameters
    ----------
    epsilon : number
    lower, upper : number
        Public bounds; values outside are clamped, NaN stands for the midpoint.

    Privacy
    -------
    ε-local DP, exactly: the mass outside the window is rounded up to a multiple of 2^-64. Everything is
    drawn in whole numbers. Proof page: ``docs/proofs/local.md``.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> survey = mechanisms.PiecewiseMean(epsilon=3, lower=0, upper=10)
    >>> reports = survey.randomize([7.0] * 10_000)
    >>> 6.8 < survey.estimate(reports).values.item() < 7.2
    True
    """

    epsilon: Fraction
    domain: Interval
    window: int
    outside: Fraction

    def __init__(self, epsilon: Number, lower: Number, upper: Number) -> None:
        exact = _prepare(self, epsilon, lower, upper)
        window = max(1, round(STEPS * math.exp(-float(min(exact, Fraction(1000))) / 2)))
        object.__setattr__(self, "window", window)
        object.__setattr__(self, "outside", outside_mass(exact, window, STEPS))

    @property
    def share(self) -> Fraction:
        """The largest probability that a report tells two values apart at all.

        That of two windows that don't meet; the first and the last never do, since window <= 2^20.
        """
        return 1 - self.outside + self.outside * Fraction(self.window, STEPS)

    def event(self) -> Event:
        return PartialResponse(self.epsilon, min(Fraction(1), round_up(self.share)))

    def randomize(self, values: Any) -> Integers:
        return self._report(self.domain.codes(values))

    def _report(self, codes: Integers) -> Integers:
        near = codes + noise.uniform_below(self.window, codes.shape)
        far = noise.uniform_below(STEPS, codes.shape)
        far += np.where(far >= codes, self.window, 0)  # the cells below and above the window
        cells: Integers = np.where(noise.bernoulli(self.outside, codes.shape), far, near)
        return cells

    @property
    def _reports(self) -> int:
        return STEPS + self.window

    @property
    def _worst(self) -> float:
        return 0.0

    def _weights(self) -> tuple[Fraction, Fraction]:
        """The probability of a cell elsewhere, and how much more one in the window has."""
        q = self.outside / STEPS
        return q, (1 - self.outside) / self.window - q

    def _reading(self, reports: Integers) -> Floats:
        # the mean of a report is q·Σj + more·(w·step + w(w-1)/2)
        q, more = self._weights()
        cells, w = self._reports, self.window
        origin = q * (cells * (cells - 1) // 2) + more * (w * (w - 1) // 2)
        readings: Floats = (reports.astype(np.float64) - float(origin)) / float(more * w)
        return readings

    def _variance(self, step: float) -> float:
        q, more = self._weights()
        cells, w, s = self._reports, self.window, Fraction(step)
        first = q * (cells * (cells - 1) // 2) + more * (w * s + w * (w - 1) // 2)
        squares = w * s * s + s * w * (w - 1) + (w - 1) * w * (2 * w - 1) // 6
        second = q * ((cells - 1) * cells * (2 * cells - 1) // 6) + more * squares
        return float((second - first**2) / (more * w) ** 2)


@final
@dataclass(frozen=True, repr=False)
class HybridMean(MeanMechanism):
    """The piecewise report with probability 1 - e^(-ε/2), else the one-bit report (Wang et al. 2019).

    Below ε = 0.61 it is the one-bit report alone, which is better there. The reports 0 and 1 are bits,
    those from 2 on are cells of the piecewise report.

    Parameters
    ----------
    epsilon : number
    lower, upper : number
        Public bounds; values outside are clamped, NaN stands for the midpoint.

    Privacy
    -------
    ε-local DP: a coin that doesn't depend on the value chooses between two ε-private reports. Proof page:
    ``docs/proofs/local.md``.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> survey = mechanisms.HybridMean(epsilon=2, lower=0, upper=10)
    >>> reports = survey.randomize([7.0] * 10_000)
    >>> 6.5 < survey.estimate(reports).values.item() < 7.5
    True
    """

    epsilon: Fraction
    domain: Interval
    bit: DuchiMean
    piece: PiecewiseMean
    chance: Fraction

    def __init__(self, epsilon: Number, lower: Number, upper: Number) -> None:
        exact = _prepare(self, epsilon, lower, upper)
        chance = Fraction(0)
        if exact > Fraction(61, 100):  # Wang et al. 2019: ε* is about 0.61
            chance = round_up(Fraction(-math.expm1(-float(min(exact, Fraction(1000))) / 2)))
        object.__setattr__(self, "bit", DuchiMean(exact, lower, upper))
        object.__setattr__(self, "piece", PiecewiseMean(exact, lower, upper))
        object.__setattr__(self, "chance", min(Fraction(1), chance))

    def event(self) -> Event:
        share = 1 - self.chance + self.chance * self.piece.share
        return PartialResponse(self.epsilon, min(Fraction(1), round_up(share)))

    def randomize(self, values: Any) -> Integers:
        codes = self.domain.codes(values)
        pieces = noise.bernoulli(self.chance, codes.shape)
        reports: Integers = np.where(pieces, self.piece._report(codes) + 2, self.bit._report(codes))
        return reports

    @property
    def _reports(self) -> int:
        return self.piece._reports + 2

    @property
    def _worst(self) -> float:
        return max((0.0, STEPS / 2), key=self._variance)

    def _reading(self, reports: Integers) -> Floats:
        bits = self.bit._reading(np.minimum(reports, 1))
        pieces = self.piece._reading(np.maximum(reports - 2, 0))
        readings: Floats = np.where(reports >= 2, pieces, bits)
        return readings

    def _variance(self, step: float) -> float:
        # both are unbiased, so that the variances mix
        chance = float(self.chance)
        return chance * self.piece._variance(step) + (1 - chance) * self.bit._variance(step)
