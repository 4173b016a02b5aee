"""Intervals for means where the spread of the rows is known up to noise of its own.

The noise on T(μ) = S - μN is known exactly; its sampling variance, the scatter Σ(u - mean)², comes from the
same noised sums. How much of it to allow for is the question: too little is overconfident where rows spread,
too much makes intervals of even columns too wide. Everything is post-processing of noised sums.
Derivations and figures: ``docs/proofs/answers.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from discreet.queries.fieller import MIN_VARIANCE, Floats, Quadratic, critical_value

__all__ = [
    "Allowance",
    "MeasuredScatter",
    "find_freedom",
    "find_scatter_interval",
    "measure_scatter",
]

Flags = npt.NDArray[np.bool_]

#: Degrees of freedom of the scatter, by person and at the start. All n - 1 would do for normal values; with
#: these exponential ones are covered as promised, too, from three rows on.
FREEDOM_EACH, FREEDOM_START = 0.34, 0.6
#: Scatter is allowed for from a threshold on, by this many times what exceeds it.
SLOPE = 5.0
#: By how much few persons lower that threshold and raise the reserve: times 1/n - 1/100, and its square.
FEW_THRESHOLD, FEW_RESERVE = 2.5, 15.0
#: By how much levels above 0.95 lower it, by deviation of the normal distribution.
SURER = 2.0
#: The part of the noise's variance that is left out where even less scatter is found than there can be: with
#: 0.3 such an interval is as short as 0.9 asks for noise alone, and all together they cover 0.95.
SHORTER = 0.3
#: How much less of it that is, and by how much the reserve grows, by what such levels lower the threshold.
SURER_SHORTER, SURER_RESERVE = 1.0, 0.2
#: How many deviations from a bound a mean has to be for both of its tails to count the same.
BOTH_TAILS = 2.0
#: How many steps find an end of an interval.
STEPS = 18
#: A candidate counts as at most this many deviations too far off while an end is sought: with hardly any
#: noise the bounds are off by millions, and steps by the true number would never come back from there.
MAX_EXCESS = 4.0
#: The least part of what is left of a search that one step takes.
MIN_PART = 1 / 64


class Tuning(NamedTuple):
    """The constants of `Allowance` for a kind of noise; r is the noise on T by that of the scatter.

    Attributes
    ----------
    rise, factor, lowest : float
        The threshold is rise·log(factor·r), at least `lowest`.
    explained, unexplained : float
        How far it is raised where T explains the noise of the scatter, and lowered where that is left in.
    reserve, fall : float
        The reserve is `reserve` - `fall`·r.
    """

    rise: float
    factor: float
    lowest: float
    explained: float
    unexplained: float
    reserve: float
    fall: float


LAPLACE = Tuning(0.27, 0.54, -1.15, 0.5, 0.15, 0.87, 0.44)
GAUSSIAN = Tuning(0.31, 0.42, -1.17, 0.8, 0.42, 0.85, 0.49)


class MeasuredScatter(NamedTuple):
    """Scatter as found in noised sums, by group.

    Attributes
    ----------
    found : array
        Σ(u - share)² with its noise, so it may be negative; times n/(n - 1) and rows per person.
    deviation : array
        The standard deviation of that noise.
    shared : array
        The covariance of that noise with the noise of T.
    persons : array
        How many persons there are, about; at least 2.
    largest : array
        The most that the scatter can be if the mean is μ, divided by μ(1 - μ).
    is_laplace : bool
        Whether the noise is Laplace noise, else it is Gaussian.
    """

    found: Floats
    deviation: Floats
    shared: Floats
    persons: Floats
    largest: Floats
    is_laplace: bool

    def twice(self) -> MeasuredScatter:
        """All groups, and once more behind them."""
        return MeasuredScatter(
            np.tile(self.found, 2),
            np.tile(self.deviation, 2),
            np.tile(self.shared, 2),
            np.tile(self.persons, 2),
            np.tile(self.largest, 2),
            self.is_laplace,
        )


def measure_scatter(
    sums: Floats,
    share: Floats,
    noise: float,
    count_is_public: bool,
    is_laplace: bool,
    rows_per_person: int,
) -> MeasuredScatter:
    """Find the scatter around `share` in count, Σu and Σu², and how exactly it is known.

    `noise` is the variance of the noise on each of Σ(1-u)², Σ2u(1-u) and Σu²; with a public count the mean of
    the three noises is taken out of each.
    """
    count, first, second = sums
    rest = 1 - share
    on_scatter = np.stack([share**2, -share * rest, rest**2])
    on_statistic = np.stack([-share, 0.5 - share, rest])
    if count_is_public:
        on_scatter = on_scatter - on_scatter.mean(axis=0)
        on_statistic = on_statistic - on_statistic.mean(axis=0)
    persons = np.maximum(count / rows_per_person, 2.0)
    times = rows_per_person * persons / (persons - 1)
    return MeasuredScatter(
        times * (second - 2 * share * first + share**2 * count),
        times * np.sqrt(noise * (on_scatter**2).sum(axis=0)),
        times * noise * (on_scatter * on_statistic).sum(axis=0),
        persons,
        times * np.maximum(count, 0.0),
        is_laplace,
    )


def find_freedom(whole: Floats, scatter: Floats, persons: Floats) -> Floats:
    """Degrees of freedom of a variance whose part `scatter` is estimated from persons (Welch 1947)."""
    own = FREEDOM_START + FREEDOM_EACH * (persons - 1)
    whole = np.maximum(whole, MIN_VARIANCE)
    return np.asarray(own * (whole / np.maximum(scatter, 1e-9 * whole)) ** 2)


class Allowance:
    """How much sampling variance to allow for, given the scatter that was found and a candidate mean.

    Below a threshold none, since noise alone finds as much, and a little less than the noise needs; above it
    the scatter and a reserve, reached by a steep ramp. Where the noise of the scatter goes along with that
    of T, what T explains of it is taken out. Never more is allowed for than values between 0 and 1 with the
    mean μ can have, μ(1 - μ) each. The constants, in deviations of the scatter's noise, depend on how much
    noise T has itself: they were chosen so that coverage stays closest to 0.95, whatever the scatter is.
    """

    def __init__(self, blur: Floats, measured: MeasuredScatter, level: float) -> None:
        self._found, self._largest = measured.found, measured.largest
        deviation = np.maximum(measured.deviation, 1e-100)
        ratio = np.maximum(blur / deviation, 1e-9)
        explained = np.clip(1.2 * ratio - 0.37, 0.0, 0.7)
        whole = np.maximum(blur + np.maximum(measured.found, 0.0) / 2, 1e-300)
        self._slope = explained * measured.shared / whole
        left = deviation**2 + self._slope * (self._slope * blur - 2 * measured.shared)
        self._unit = np.sqrt(np.maximum(left, 1e-300))
        tuning = LAPLACE if measured.is_laplace else GAUSSIAN
        together = measured.shared**2 / np.maximum(blur * deviation**2, 1e-300)
        # the scatter of a few skewed values is often far below what it stands for
        few = np.maximum(1 / measured.persons - 0.01, 0.0)
        # the rarer a miss may be, the less scatter may go unseen
        rarer = SURER * max(0.0, float(ndtri((1 + level) / 2) - ndtri(0.975)))
        self._shorter = SHORTER * np.clip((2 - ratio) / 1.1, 0.0, 1.0) / (1 + SURER_SHORTER * rarer)
        self._threshold = (
            np.clip(tuning.rise * np.log(tuning.factor * ratio), tuning.lowest, 0.5)
            + together * tuning.explained * explained
            - together * tuning.unexplained * (1 - explained / 0.7)
            - FEW_THRESHOLD * few
            - rarer
        )
        reserve = np.clip(tuning.reserve - tuning.fall * ratio, 0.25, None)
        self._reserve = reserve + FEW_RESERVE * few**2 + SURER_RESERVE * rarer

    def find(self, mean: Floats, statistic: Floats, blur: Floats) -> Floats:
        """The sampling variance to allow for if `mean` were the right one: T is then `statistic`."""
        seen = (self._found - self._slope * statistic) / self._unit
        clear = np.maximum(seen, 0.0)
        possible = self._largest * mean * (1 - mean) / self._unit
        least = self._shorter * blur / self._unit * np.minimum(possible, 1.0)
        ramp = np.maximum(SLOPE * (seen - self._threshold), -least)
        reserve = self._reserve / (1 + (clear / 3) ** 2)
        return np.asarray(self._unit * np.minimum(np.minimum(ramp, possible), clear + reserve))


def lean(level: float, below: Floats, above: Floats, is_above: Flags) -> Floats:
    """What the critical value is multiplied by at a candidate mean that is close to a bound.

    An estimate can't miss beyond a bound, so the tail on that side goes to the other one (Feldman & Cousins
    1998): both together are 1 - `level` everywhere.

    Parameters
    ----------
    below, above : array
        How many deviations of T the candidate is above the lower, and below the upper bound.
    is_above : array of bool
        Whether T > 0, so that the candidate is on trial for being too small.
    """
    low, high = (np.minimum(away / BOTH_TAILS, 1.0) for away in (below, above))
    tail = (1 - level) / 2 * np.where(is_above, 1 + high - low, 1 + low - high)
    return np.asarray(ndtri(1 - np.maximum(tail, 1e-12)) / ndtri((1 + level) / 2))


def find_scatter_interval(
    first: Floats,
    count: Floats,
    share: Floats,
    blur: Quadratic,
    fourth: Floats,
    measured: MeasuredScatter,
    level: float,
) -> tuple[Floats, Floats]:
    """The ends of the set of means μ at which T(μ) = S - μN isn't too far from 0.

    Parameters
    ----------
    first, count, share : array
        S, N and S/N within [0, 1], by group.
    blur : Quadratic
        The variance of the noise on T(μ).
    fourth : array
        Σ(weight·deviation)⁴ over the Laplace noises in T; 0 if the noise is normal.
    """
    # both ends at once: the lower ones in front of the upper ones
    first, count, share, fourth = (np.tile(each, 2) for each in (first, count, share, fourth))
    blur, measured = Quadratic(*(np.tile(each, 2) for each in blur)), measured.twice()
    allowance = Allowance(blur.at(share), measured, level)

    def find_spread(at: Floats) -> tuple[Floats, Floats, Floats]:
        statistic, noise = first - at * count, blur.at(at)
        drawn = allowance.find(at, statistic, noise)
        return statistic, drawn, np.maximum(noise + drawn, MIN_VARIANCE)

    def find_critical(at: Floats) -> Floats:
        _, drawn, spread = find_spread(at)
        freedom = find_freedom(spread, np.maximum(drawn, 0.0), measured.persons)
        return critical_value(level, freedom, 3 * fourth / spread**2)

    far = np.repeat([0.0, 1.0], len(share) // 2)
    end = share
    for _ in range(2):  # how far depends on the critical value, and that a little on how far
        critical = find_critical(end)

        def exceed(at: Floats, critical: Floats = critical) -> Floats:
            """By how many deviations T is too far from 0 at a candidate; it is accepted up to 0."""
            statistic, _, spread = find_spread(at)
            deviation = np.sqrt(spread)
            away = np.maximum(count, 0.0) / deviation
            times = lean(level, away * at, away * (1 - at), statistic > 0)
            excess = np.abs(statistic) / deviation - critical * times
            return np.asarray(np.minimum(excess, MAX_EXCESS))

        end = _find_crossing(share, far, exceed)
    low, high = np.split(np.where(count > 0, end, far), 2)
    return low, high


def _find_crossing(inside: Floats, outside: Floats, exceed: Callable[[Floats], Floats]) -> Floats:
    """Where a function crosses 0 between a point where it doesn't exceed it and one where it may.

    By the Illinois rule (Dowell & Jarratt 1971). What is returned lies outside, so that an interval is
    too long by what is left of the search, never too short.
    """
    limit = outside
    below, above = np.minimum(exceed(inside), 0.0), exceed(outside)
    is_whole = above <= 0
    above = np.where(is_whole, 1.0, above)
    last = np.zeros_like(below)
    for _ in range(STEPS):
        # a step that ends inside by less than rounding shows would else be repeated for ever
        part = np.clip(-below / np.maximum(above - below, 1e-300), MIN_PART, 1.0)
        middle = inside + (outside - inside) * part
        value = exceed(middle)
        side = np.where(value <= 0, -1.0, 1.0)
        again = side == last  # the same side twice: the other one counts by half
        above = np.where(side > 0, value, np.where(again, above / 2, above))
        below = np.where(side < 0, value, np.where(again, below / 2, below))
        inside, outside = np.where(side < 0, middle, inside), np.where(side > 0, middle, outside)
        last = side
    return np.where(is_whole, limit, outside)
