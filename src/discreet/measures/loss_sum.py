"""Sums of many privacy losses by tilted Fourier transforms. Proof page: ``docs/proofs/accounting.md``.

The masses are multiplied by e^(θl) before they are convolved and by e^(-θl) afterwards, with θ chosen so
that the losses near the answer become the likely ones. The errors of the transforms are then small
*beside δ*, however small δ is, and however many losses are added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.measures.loss_atoms import UNIT, Atoms, Floats, Part

__all__ = ["TooManyLosses", "sum_delta", "sum_epsilon"]

#: The number of points of the longest transform.
_LONGEST = 2**21
#: How many steps of the grid make up the average standard deviation of one loss.
_FINENESS = 128
#: The relative error of a transform of 2^t points in the Euclidean norm is at most this times t; Higham 2002,
#: Theorem 24.2 gives 6.7 units for each radix-two pass.
_TRANSFORM = 16 * UNIT
#: Of a product of two complex numbers (Brent, Percival & Zimmermann 2007: √5 units).
_PRODUCT = 2.3 * UNIT
#: The largest count of losses for which the errors are still small.
_MAX_COUNT = 10**12
#: Above this the errors of transforms are not proved to be small, and nothing is answered.
_LARGEST_ERROR = 0.01


class TooManyLosses(ValueError):
    """The proved error is too large for an answer: use another accountant."""


Counted = Sequence[tuple[Part, int]]
Terms = list[tuple[Atoms, int]]


@dataclass(frozen=True)
class _Aim:
    """Roughly where the answer lies, by Chernoff's bound: nothing is claimed by it."""

    theta: float
    epsilon: float
    log_delta: float


def sum_delta(parts: Counted, epsilon: float) -> float:
    """δ(ε) of all the parts, each counted as often as it occurs, from above."""

    def aim(terms: Terms, step: float) -> _Aim:
        theta, value = _minimise(lambda t: _log_moment(terms, step, t) - t * epsilon, parts)
        return _Aim(theta, epsilon, min(value, 0.0))

    return max(direction.delta(epsilon) for direction in _directions(parts, aim, 0.0))


def sum_epsilon(parts: Counted, delta: float) -> float:
    """ε(δ) of all the parts, each counted as often as it occurs, from above; infinity if too much is lost."""
    log_delta = math.log(delta)

    def aim(terms: Terms, step: float) -> _Aim:
        theta, value = _minimise(lambda t: (_log_moment(terms, step, t) - log_delta) / t, parts)
        return _Aim(theta, max(value, 0.0), log_delta)

    return max(direction.epsilon(delta) for direction in _directions(parts, aim, log_delta))


def _directions(
    parts: Counted, aim: Callable[[Terms, float], _Aim], log_delta: float
) -> Iterator[_Direction]:
    """The composed losses, for a person who leaves and (where it differs) for one who joins."""
    total = sum(count for _, count in parts)
    if total > _MAX_COUNT:
        raise TooManyLosses(f"privacy losses are added up to a count of {_MAX_COUNT:g} only.")
    average = math.fsum(part.spread * count for part, count in parts) / total
    finest = math.sqrt(average) / _FINENESS
    start = _power_of_two(finest)
    for direction in range(max(len(part.atoms(start)) for part, _ in parts)):
        aimed = _Aim(1.0, 0.0, log_delta)
        for _ in range(3):  # the smaller δ is, the less may be lost, and vice versa
            aimed = aim(_terms(parts, start, direction, aimed), start)
        # sharing adds step²/4 to each variance, and θ/2 times that to ε: no more than 2e-6 of it
        enough = math.sqrt(1.6e-5 * aimed.epsilon / (aimed.theta * total))
        step = _power_of_two(max(finest, min(enough, aimed.epsilon / 512)))
        while True:
            terms = _terms(parts, step, direction, aimed)
            window = _window(terms, step, aimed)
            if window.size <= _LONGEST:
                break
            step *= window.size // _LONGEST
            if step > math.sqrt(average * total):  # the grid says nothing any more
                raise TooManyLosses("the losses reach too far for one grid.")
        yield _Direction(terms, window)


def _terms(parts: Counted, step: float, direction: int, aim: _Aim) -> Terms:
    """The atoms of all parts; of the rarest large losses, about 1e-8 of δ counts as lost.

    They would widen the tilted sum, and say nothing about δ.
    """
    total = sum(count for _, count in parts)
    allowed = 1e-8 * math.exp(max(aim.log_delta, -650.0)) / total
    atoms = [(part.atoms(step), count) for part, count in parts]
    return [(_trim(found[direction % len(found)], allowed), count) for found, count in atoms]


def _trim(atoms: Atoms, allowed: float) -> Atoms:
    order = np.argsort(-atoms.positions, kind="stable")
    running = np.cumsum(atoms.masses[order]) * (1 + 1e-9)
    dropped = int(np.searchsorted(running, allowed, side="right"))
    if dropped == 0:
        return atoms
    kept, lost = order[dropped:], atoms.lost + float(running[dropped - 1])
    return Atoms(atoms.positions[kept], atoms.masses[kept], lost, atoms.slack)


def _power_of_two(value: float) -> float:
    return 2.0 ** math.floor(math.log2(value))


def _minimise(function: Callable[[float], float], parts: Counted) -> tuple[float, float]:
    """A tilt near the one where a function that falls and then rises is least, and its value."""
    deviation = math.sqrt(math.fsum(part.spread * count for part, count in parts))
    low, high = math.log(1e-3 / deviation), math.log(60 / deviation)
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(16):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if function(math.exp(left)) < function(math.exp(right)):
            high = right
        else:
            low = left
    found = math.exp((low + high) / 2)
    return found, function(found)


def _log_sum(atoms: Atoms, step: float, theta: float) -> float:
    exponents = atoms.logs + theta * (atoms.positions * step)
    top = float(np.max(exponents))
    return top + math.log(float(np.sum(np.exp(exponents - top))))


def _log_moment(terms: Terms, step: float, theta: float) -> float:
    """log E[e^(θ·sum)] over the atoms, to 1e-10 relative and 1e-12 for each term."""
    return math.fsum(count * _log_sum(atoms, step, theta) for atoms, count in terms)


@dataclass(frozen=True)
class _Window:
    """Where the tilted sum lies: `size` multiples of `step` from `first` on."""

    step: float
    theta: float
    first: int
    size: int
    #: log of a bound on the chance that the sum lies above the window.
    log_above: float


def _window(terms: Terms, step: float, aim: _Aim) -> _Window:
    """A window that holds the sum except for a chance that is small beside δ.

    Everything except `log_above` decides how tight the answer is, not whether it holds.
    """
    theta, moment = _tilt(terms, step, aim)
    excess = max(0.0, moment - theta * aim.epsilon - aim.log_delta)
    centre, deviation = _tilted_moments(terms, step, theta)
    tilts = [(aim.theta * f, _log_moment(terms, step, aim.theta * f)) for f in _FURTHER]
    top = min((m - aim.log_delta + 16) / t for t, m in tilts)
    top = max(top, aim.epsilon + 16 * step)
    # what lies below comes back at the top, where it counts e^(-θ(top - ε)) times
    allowed = min(-3.0, theta * (top - aim.epsilon) - excess - 14)
    rates = [r / deviation for r in _NEARER]
    bottom = max(
        (allowed + moment - _log_moment(terms, step, theta - rate)) / rate for rate in rates
    )
    bottom = min(bottom, centre - deviation, aim.epsilon - deviation)
    first = math.floor(bottom / step) - 1
    size = 2 ** max(6, math.ceil(math.log2(top / step - first + 2)))
    end = (first + size - 1) * step
    log_above = min(m - t * end for t, m in [(theta, moment), *tilts])
    return _Window(step, theta, first, size, log_above + _log_error(terms, moment))


#: Tilts that are tried for the ends of the window: parts of the aimed one, and 1/standard deviations.
_FURTHER = (0.4, 0.7, 1.0, 1.4, 2.0, 3.0)
_NEARER = (1.0, 2.0, 3.0, 5.0, 7.0)


def _tilt(terms: Terms, step: float, aim: _Aim) -> tuple[float, float]:
    """The least tilt for which the errors of transforms are about 1e-4 of δ, and its log-moment.

    Rare large losses make the tilted sum wide, the wider the larger the tilt is.
    """
    counts = math.fsum(count for _, count in terms)
    allowed = math.log(1e-4) - math.log(1e-12 * counts)
    for part in (0.35, 0.5, 0.7):
        moment = _log_moment(terms, step, part * aim.theta)
        if moment - part * aim.theta * aim.epsilon - aim.log_delta < allowed:
            return part * aim.theta, moment
    return aim.theta, _log_moment(terms, step, aim.theta)


def _tilted_moments(terms: Terms, step: float, theta: float) -> tuple[float, float]:
    centre = variance = 0.0
    for atoms, count in terms:
        losses = atoms.positions * step
        exponents = atoms.logs + theta * losses
        weights = np.exp(exponents - np.max(exponents))
        weights /= np.sum(weights)
        mean = float(np.sum(weights * losses))
        centre += count * mean
        variance += count * float(np.sum(weights * (losses - mean) ** 2))
    return centre, max(math.sqrt(variance), step)


def _log_error(terms: Terms, moment: float) -> float:
    count = math.fsum(count for _, count in terms)
    return 1e-10 * (1 + abs(moment)) + 1e-12 * count


class _Direction:
    """The tilted distribution of the sum, as one array, with a bound on its error."""

    def __init__(self, terms: Terms, window: _Window) -> None:
        self.window = window
        self.counts = math.fsum(count for _, count in terms)
        self.slack = math.fsum(count * atoms.slack for atoms, count in terms)
        self.lost = _lost(terms, window.step)
        self._convolve(terms)

    def _convolve(self, terms: Terms) -> None:
        window, passes = self.window, math.log2(self.window.size)
        spectrum: np.ndarray | None = None
        error, smallest, self.log_scale, self.log_size = 0.0, 1.0, 0.0, 0.0
        for atoms, count in terms:
            tilted, constant = _tilt_masses(atoms, window)
            norm = math.sqrt(float(np.sum(tilted * tilted))) * (1 + 1e-9)
            power = _power(np.fft.rfft(tilted), count)
            spectrum = power if spectrum is None else spectrum * power
            # beside √size: the transform, counted as often as it is multiplied, and the products
            error += count * _TRANSFORM * passes * norm
            smallest = min(smallest, norm)
            self.log_scale += count * constant
            self.log_size += count * abs(constant)
        grown = error * math.sqrt(window.size)  # no component is off by more
        if spectrum is None or grown > _LARGEST_ERROR:
            raise TooManyLosses(
                "too many losses are added up for the error of their transforms to be small."
            )
        products = _PRODUCT * (self.counts + len(terms)) * smallest
        self.error = (error + products) * math.exp(2 * grown) * (1 + 1e-3) + 1e-290
        self.error += _TRANSFORM * passes * (smallest + self.error)
        distribution = np.fft.irfft(spectrum, window.size)
        self.distribution = np.maximum(np.roll(distribution, -(window.first % window.size)), 0.0)
        self.losses = (window.first + np.arange(window.size)) * window.step

    def delta(self, epsilon: float) -> float:
        """δ(ε), from above."""
        window = self.window
        reached = math.nextafter(epsilon - self.slack, -math.inf)
        first = max(0, math.floor(reached / window.step) - window.first)
        if reached < self.losses[0]:
            return 1.0  # what lies below the window was not kept apart
        distance = self.losses[first:] - reached
        distance = distance[distance > 0]
        weights = np.exp(-window.theta * distance) * -np.expm1(-distance)
        distribution = self.distribution[self.distribution.size - distance.size :]
        found = float(np.sum(weights * distribution)) * (1 + 1e-12)
        found += math.sqrt(float(np.sum(weights * weights))) * self.error * (1 + 1e-9)
        exponent = self.log_scale - window.theta * reached
        exponent += 8 * UNIT * (self.log_size + window.theta * abs(reached) + 8)
        if exponent > 700 or window.log_above > 0:
            return 1.0
        above = math.exp(window.log_above)
        return min(1.0, (found * math.exp(exponent) + above + self.lost) * (1 + 1e-12))

    def epsilon(self, delta: float) -> float:
        """An ε with δ(ε) <= delta: a guess from running sums, raised until it is proved."""
        if self.lost + math.exp(min(0.0, self.window.log_above)) >= delta:
            return math.inf
        least = max(0.0, float(self.losses[0]) + self.slack + self.window.step)
        if self.delta(least) <= delta:
            return least
        found, gap = max(least, self._guess(delta)), self.window.step * 2.0**-20
        while self.delta(found) > delta:
            found, gap = found + gap, 2 * gap
            if found > self.losses[-1]:
                return math.inf
        return found

    def _guess(self, delta: float) -> float:
        start, end = float(self.losses[0]), float(self.losses[-1])
        if end - start > 600:  # the running sums below would overflow
            while end - start > self.window.step:
                middle = (start + end) / 2
                start, end = (start, middle) if self.delta(middle) <= delta else (middle, end)
            return end
        masses = self.distribution * np.exp(-self.window.theta * (self.losses - start))
        upper = np.cumsum(masses[::-1])[::-1]
        lower = np.cumsum((masses * np.exp(start - self.losses))[::-1])[::-1]
        exponent = self.log_scale - self.window.theta * start
        target = (delta - self.lost) * math.exp(min(-exponent, 700.0))
        at_loss = upper - np.exp(self.losses - start) * lower  # δ at each multiple, not yet scaled
        index = int(np.argmax(at_loss <= target))
        if index == 0 or not lower[index] > 0 or not upper[index] > target:
            return float(self.losses[index]) + self.slack
        inside = start + math.log((float(upper[index]) - target) / float(lower[index]))
        return min(inside, float(self.losses[index])) + self.slack


def _lost(terms: Terms, step: float) -> float:
    """Σ k·x(∞), times the masses of all the others, which may add up to a little more than 1 each."""
    masses = math.exp(min(700.0, max(0.0, _log_moment(terms, step, 0.0))))
    return math.fsum(count * atoms.lost for atoms, count in terms) * masses * (1 + 1e-6)


def _tilt_masses(atoms: Atoms, window: _Window) -> tuple[Floats, float]:
    """Tilted masses, wrapped round the window, with a sum of at most 1, and the log of their scale."""
    losses = atoms.positions * window.step
    constant = _log_sum(atoms, window.step, window.theta) + 1e-11
    exponents = atoms.logs + window.theta * losses - constant
    sizes = np.abs(atoms.logs) + np.abs(window.theta * losses)
    masses = np.exp(exponents) * (1 + 8 * UNIT * (8 + sizes + abs(constant)))
    places = atoms.positions % window.size
    crowd = int(np.max(np.bincount(places, minlength=1)))
    wrapped: Any = np.bincount(places, weights=masses, minlength=window.size) * (
        1 + 2 * UNIT * crowd
    )
    if float(np.sum(wrapped)) > 1 - 1e-13:
        raise TooManyLosses("the masses of losses could not be scaled.")
    return wrapped, constant


def _power(values: np.ndarray, count: int) -> np.ndarray:
    """values^count by repeated squaring: `count` - 1 products for the error, however they are grouped."""
    result: np.ndarray | None = None
    while True:
        if count & 1:
            result = values if result is None else result * values
        count >>= 1
        if not count:
            assert result is not None
            return result
        values = values * values
