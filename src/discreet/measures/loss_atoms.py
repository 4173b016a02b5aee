"""Privacy losses of single mechanisms as atoms on a grid. Proof page: ``docs/proofs/accounting.md``.

Every function here returns an *over-pair*: masses x(l) at losses l, and a mass at infinity, with
Σ x(l)·max(0, 1 - e^(ε-l)) + x(∞) at least the hockey-stick divergence of the mechanism for every real ε.
Rounding therefore adds mass or moves it up, never the other way.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.rational import float_above

__all__ = ["Atoms", "DiscreteNormal", "Normal", "Part", "Response"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: The unit roundoff of float64.
UNIT = 2.0**-53
#: Normal variables are cut here; less than 1e-300 is beyond, which counts as lost.
_FAR, _BEYOND = 40.0, 1e-300
#: Losses beyond it make e^l overflow.
_HUGE = 600.0
#: Smaller parameters count as these, which cost more: the grid has to be finer than the losses.
_MIN_LOSS, _MIN_MU_SQUARED, _MIN_CHANCE = 1e-12, Fraction(1, 10**12), Fraction(1, 10**9)
#: Cells are one step wide up to this many steps from 0, and then grow with the distance.
_FINE = 1024


@dataclass(frozen=True, eq=False)
class Atoms:
    """An over-pair: `masses` at the losses ``positions * step + slack``, and `lost` at infinity."""

    positions: Integers
    masses: Floats
    lost: float
    slack: float

    @cached_property
    def logs(self) -> Floats:
        """The logarithms of the masses, which are positive."""
        found: Floats = np.log(self.masses)
        return found


@dataclass(frozen=True)
class Part(ABC):
    """A mechanism whose privacy loss is known."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """The approximate variance of the loss; it decides the grid, not what is claimed."""

    @abstractmethod
    def atoms(self, step: float) -> tuple[Atoms, ...]:
        """Over-pairs on multiples of `step`, a power of two: one, or one for each direction."""


@dataclass(frozen=True)
class Normal(Part):
    """Normal noise with this squared distance, on a Poisson sample (on everyone if `chance` is 1)."""

    mu_squared: Fraction
    chance: Fraction

    @property
    def spread(self) -> float:
        mu_squared = float(max(self.mu_squared, _MIN_MU_SQUARED))
        chance = float(max(self.chance, _MIN_CHANCE))
        return min(chance**2 * math.expm1(min(mu_squared, 50.0)), mu_squared)

    def atoms(self, step: float) -> tuple[Atoms, ...]:
        return _normal_atoms(self, step)


@dataclass(frozen=True)
class Response(Part):
    """Randomised response, the worst of all ε-DP mechanisms (Kairouz, Oh & Viswanath 2015, Theorem 2)."""

    epsilon: Fraction

    @property
    def spread(self) -> float:
        return self._loss**2

    @property
    def _loss(self) -> float:
        return max(float_above(self.epsilon), _MIN_LOSS)  # the larger ε is the worse

    def atoms(self, step: float) -> tuple[Atoms, ...]:
        loss = self._loss
        masses = np.array([1 / (1 + math.exp(-loss)), 1 / (1 + math.exp(loss))])
        return (split(np.array([loss, -loss]), masses * (1 + 8 * UNIT), step),)


@dataclass(frozen=True)
class DiscreteNormal(Part):
    """Discrete Gaussian noise on one integer that moves by at most `shift`.

    Source: Canonne, Kamath & Steinke 2020, Theorem 7; the proof page shows that `shift` is the worst.
    """

    sigma: Fraction
    shift: int

    @property
    def spread(self) -> float:
        return float(self.shift / self.sigma) ** 2

    def atoms(self, step: float) -> tuple[Atoms, ...]:
        losses, masses, slack = _discrete_normal(self)
        return (split(losses, masses, step, lost=_BEYOND, slack=slack),)


def split(
    losses: Floats, masses: Floats, step: float, *, lost: float = 0.0, slack: float = 0.0
) -> Atoms:
    """Atoms at the two multiples of `step` around each loss, with the same sums of x and of x·e^-l.

    Source: Doroshenko et al. 2022 ("connect the dots"). `step` is a power of two, so that the multiple
    below a loss, and the distance from it, are exact.
    """
    low = np.floor(losses / step)
    share = np.expm1(low * step - losses) / math.expm1(-step)
    share = np.clip(share * (1 + 8 * UNIT), 0.0, 1.0)
    up, down = masses * share, masses * (1 - share)
    positions = np.concatenate([low, low + 1]).astype(np.int64)
    return _atoms(positions, np.concatenate([down, up]), lost, slack)


def _atoms(positions: Integers, masses: Floats, lost: float, slack: float) -> Atoms:
    """Atoms with a positive mass each."""
    kept = masses > 0
    return Atoms(positions[kept], masses[kept] * (1 + 4 * UNIT), lost, slack)


@lru_cache(maxsize=16)
def _discrete_normal(part: DiscreteNormal) -> tuple[Floats, Floats, float]:
    """Losses (Δ² - 2kΔ)/2σ² and probabilities of all k within 40σ, and how far losses may be off."""
    sigma, shift = float(part.sigma), part.shift
    reach = math.ceil(_FAR * sigma) + 1
    k = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-((k / sigma) ** 2) / 2)
    # each weight is off by at most (8 + 4·k²/2σ²) units: sums of positive terms by the average of that
    off = UNIT * (8 + 4 * (k / sigma) ** 2)
    total = float(np.sum(weights * (1 - off))) * (1 - UNIT * (64 + math.log2(k.size)))
    losses = (shift * (shift - 2 * k)) / (2 * sigma * sigma)
    slack = 8 * UNIT * float(np.max(np.abs(losses)))
    return losses, weights * (1 + off) / total * (1 + 4 * UNIT), slack


def _positions(low: float, high: float, step: float) -> Integers:
    """Multiples of `step` from below `low` to above `high`: each one near 0, and ever fewer away from it."""
    first, last = math.floor(low / step), math.ceil(high / step)
    found = [np.arange(_FINE, dtype=np.int64)]
    start, width = _FINE, 1
    while start <= max(-first, last):
        found.append(start + width * np.arange(_FINE, dtype=np.int64))
        start, width = start + width * _FINE, 2 * width
    side = np.concatenate(found)
    inner = np.concatenate([-side[:0:-1], side])
    inner = inner[(inner > first) & (inner < last)]
    return np.concatenate([[first], inner, [last]]).astype(np.int64)


def _at_losses(losses: Floats, mu: float, chance: float, rest: float) -> Floats:
    """Where log(1 - q + q·e^(μx - μ²/2)) reaches each loss; the end of the line where it never does."""
    if chance == 1.0:
        exponent = losses
    else:
        small = np.minimum(losses, _HUGE)  # beyond it e^l overflows, and 1 - q is nothing beside it
        with np.errstate(divide="ignore", invalid="ignore"):
            exponent = np.log1p(np.maximum(np.expm1(small) / chance, -1.0))
            if chance > 0.5:  # next to log(1 - q) the difference of e^l and 1 - q is the exact one
                below = np.log(np.maximum(np.exp(small) - rest, 0.0) / chance)
                exponent = np.where(losses < 0, below, exponent)
        exponent = np.where(losses > _HUGE, losses - math.log(chance), exponent)
    return np.clip(exponent / mu + mu / 2, -_FAR, mu + _FAR)


def _probabilities_between(x: Floats) -> tuple[Floats, Floats]:
    """Normal probabilities between neighbours in `x`, from the nearer tail, and how far they may be off."""
    below, beyond = ndtr(x), ndtr(-x)
    upper = x[:-1] > 0
    first = np.where(upper, beyond[:-1], below[:-1])
    second = np.where(upper, beyond[1:], below[1:])
    off = 8 * UNIT * ((1 + x[:-1] ** 2) * first + (1 + x[1:] ** 2) * second)
    return np.abs(second - first), off


def _share_masses(
    p: tuple[Floats, Floats], q: tuple[Floats, Floats], low: Floats, high: Floats, slack: float
) -> tuple[Floats, Floats]:
    """Masses at the ends of cells with probabilities p and q (and their errors), losses in [low, high]."""
    mass = p[0] + p[1]
    # where e^l would overflow, less is subtracted and more mass goes up
    other = np.maximum(q[0] - q[1], 0.0) * np.exp(np.minimum(low, 600.0)) * (1 - 8 * UNIT)
    up = (mass * (1 + 8 * UNIT + 2 * slack) - other) / -np.expm1(low - high) * (1 + 8 * UNIT)
    up = np.clip(up, 0.0, mass)
    return (mass - up) * (1 + 4 * UNIT), up * (1 + 4 * UNIT)


@lru_cache(maxsize=16)
def _normal_atoms(part: Normal, step: float) -> tuple[Atoms, ...]:
    """Both directions of ((1-q)N(0,1) + qN(μ,1), N(0,1)), one if q = 1 (Zhu, Dong & Wang 2022)."""
    mu = math.sqrt(float_above(max(part.mu_squared, _MIN_MU_SQUARED))) * (1 + 4 * UNIT)
    chance = min(1.0, float_above(max(part.chance, _MIN_CHANCE)))
    rest = float(1 - Fraction(chance))  # a difference of floats, and nearly exact itself
    low, high = (_loss_at(x, mu, chance, rest) for x in (-_FAR, mu + _FAR))
    positions = _positions(low, high, step)
    losses: Floats = positions.astype(np.float64) * step
    x = _at_losses(losses, mu, chance, rest)
    slack = 16 * UNIT * (1 + (_FAR + mu) * mu + mu * mu)
    without, moved = _probabilities_between(x), _probabilities_between(x - mu)
    present = tuple(rest * a + chance * b for a, b in zip(without, moved, strict=True))
    present = present[0], present[1] + 8 * UNIT * present[0]
    left, right = losses[:-1], losses[1:]
    down, up = _share_masses(present, without, left, right, slack)
    removed = _gather(positions, down, up, slack)
    if chance == 1.0:
        return (removed,)
    down, up = _share_masses(without, present, -right, -left, slack)
    return removed, _gather(-positions[::-1], down[::-1], up[::-1], slack)


def _loss_at(x: float, mu: float, chance: float, rest: float) -> float:
    exponent = mu * x - mu * mu / 2
    if rest == 0.0:
        return exponent
    return float(np.logaddexp(math.log(rest), math.log(chance) + exponent))


def _gather(positions: Integers, down: Floats, up: Floats, slack: float) -> Atoms:
    """Atoms at increasing positions from what each cell has at its two ends."""
    masses: Any = np.zeros(positions.size)
    masses[:-1] += down
    masses[1:] += up
    # what lies below the first position is also less than 1e-300, and may as well be there
    masses[0] += _BEYOND
    return _atoms(positions, masses, _BEYOND, slack)
