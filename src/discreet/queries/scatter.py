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

from discreet.queries.fieller import Floats, Quadratic, critical_value

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
FREEDOM_EACH, FREEDOM_START = 0.35, 0.6
#: Scatter is allowed for from a threshold on, by this many times what exceeds it.
SLOPE = 5.0
#: By how much few persons lower that threshold and raise the reserve: times 1/n - 1/100, and its square.
FEW_THRESHOLD, FEW_RESERVE = 5.0, 50.0
#: By how much levels above 0.95 lower it, by deviation of the normal distribution.
SURER = 2.0
#: How many halvings find an end of an interval.
HALVINGS = 40


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
    is_laplace : bool
        Whether the noise is Laplace noise, else it is Gaussian.
    """

    found: Floats
    deviation: Floats
    shared: Floats
    persons: Floats
    is_laplace: bool


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
        is_laplace,
    )


def find_freedom(whole: Floats, scatter: Floats, persons: Floats) -> Floats:
    """Degrees of freedom of a variance whose part `scatter` is estimated from persons (Welch 1947)."""
    own = FREEDOM_START + FREEDOM_EACH * (persons - 1)
    return np.asarray(own * (whole / np.maximum(scatter, 1e-9 * whole)) ** 2)


class Allowance:
    """How much sampling variance to allow for, given the scatter that was found and a value of T.

    Below a threshold none, since noise alone finds as much; above it the scatter and a reserve, reached by a
    steep ramp. Where the noise of the scatter goes along with that of T, what T explains of it is taken out.
    The constants, in deviations of the scatter's noise, depend on how much noise T has itself (`ratio`): they
    were chosen so that coverage stays closest to 0.95, whatever the scatter is.
    """

    def __init__(self, blur: Floats, measured: MeasuredScatter, level: float) -> None:
        self._found = measured.found
        deviation = np.maximum(measured.deviation, 1e-100)
        ratio = np.maximum(blur / deviation, 1e-9)
        explained = np.clip(1.2 * ratio - 0.37, 0.0, 0.7)
        whole = np.maximum(blur + np.maximum(measured.found, 0.0) / 2, 1e-300)
        self._slope = explained * measured.shared / whole
        left = deviation**2 + self._slope * (self._slope * blur - 2 * measured.shared)
        self._unit = np.sqrt(np.maximum(left, 1e-300))
        if measured.is_laplace:
            threshold = np.clip(0.43 * np.log(1.7 * ratio), -1.6, 0.5)
        else:
            threshold = np.clip(0.5 * np.log(1.25 * ratio), -2.0, 0.5)
        together = measured.shared**2 / np.maximum(blur * deviation**2, 1e-300)
        # the scatter of a few skewed values is often far below what it stands for
        few = np.maximum(1 / measured.persons - 0.01, 0.0)
        # the rarer a miss may be, the less scatter may go unseen
        rarer = SURER * max(0.0, float(ndtri((1 + level) / 2) - ndtri(0.975)))
        self._threshold = threshold + 1.1 * explained * together - FEW_THRESHOLD * few - rarer
        self._reserve = np.clip(1.9 - 0.85 * ratio, 0.25, 1.0) + FEW_RESERVE * few**2

    def find(self, statistic: Floats) -> Floats:
        """The sampling variance to allow for if T has this value."""
        seen = (self._found - self._slope * statistic) / self._unit
        clear = np.maximum(seen, 0.0)
        ramp = SLOPE * np.maximum(seen - self._threshold, 0.0)
        reserve = self._reserve / (1 + (clear / 3) ** 2)
        return np.asarray(self._unit * np.minimum(ramp, clear + reserve))


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
    allowance = Allowance(blur.at(share), measured, level)

    def find_critical(at: Floats) -> Floats:
        drawn = allowance.find(first - at * count)
        spread = np.maximum(blur.at(at) + drawn, 1e-300)
        freedom = find_freedom(spread, drawn, measured.persons)
        return critical_value(level, freedom, 3 * fourth / spread**2)

    def find_end(limit: float) -> Floats:
        end, far = share, np.full_like(share, limit)
        for _ in range(2):  # how far depends on the critical value, and that a little on how far
            square = find_critical(end) ** 2

            def accepts(at: Floats, square: Floats = square) -> Flags:
                statistic = first - at * count
                variance = blur.at(at) + allowance.find(statistic)
                return np.asarray(statistic**2 <= square * variance)

            end = np.where(accepts(far), far, _halve(share, far, accepts))
        return np.where(count > 0, end, far)

    return find_end(0.0), find_end(1.0)


def _halve(inside: Floats, outside: Floats, accepts: Callable[[Floats], Flags]) -> Floats:
    """Where acceptance ends between a point that is accepted and one that isn't."""
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        accepted = accepts(middle)
        inside = np.where(accepted, middle, inside)
        outside = np.where(accepted, outside, middle)
    return outside
