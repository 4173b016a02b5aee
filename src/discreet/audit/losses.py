"""Exact losses: the privacy loss of noise on a vector, from how far one person moves each number.

A claim of pure DP is about the worst outcome, and where a person moves many numbers at once that outcome is
too rare to be drawn. The distribution of the loss is known in full, though. So the claim is compared with
that distribution, without chance; and draws with its trade-off curve, which is stricter than the claim and
which few draws show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.signal import fftconvolve
from scipy.special import ndtri

from discreet.audit.exact import exact, gaussian_cells
from discreet.audit.floors import claimed_number
from discreet.audit.results import AuditResult
from discreet.measures import ApproxDP, GaussianDP, Measure, PureDP

__all__ = ["GaussianLoss", "LaplaceLoss", "LossDistribution"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Cells of a loss between 0 and its largest value.
_CELLS = 1 << 13
#: What float64 sums may be off by.
_SLACK = 1e-9
#: Outcomes rarer than this say nothing about a curve: the transform leaves errors of this size.
_RAREST = 1e-11


@dataclass(frozen=True)
class LaplaceLoss:
    """Discrete Laplace noise of one scale on integers of which a person moves some.

    Attributes
    ----------
    scale : float
    shifts : tuple of int
        How far a person moves each integer, in absolute value; those that stay are left out.

    Examples
    --------
    >>> from discreet import audit, measures
    >>> shift = audit.LaplaceLoss.between(2, [3, 4], [3, 5])
    >>> shift.largest
    0.5
    >>> shift.compare(measures.PureDP("1/2"), "one count, scale 2").verdict
    'consistent'
    """

    scale: float
    shifts: tuple[int, ...]

    @classmethod
    def between(cls, scale: float, here: Integers, there: Integers) -> LaplaceLoss:
        """The distribution for these two vectors."""
        gaps = np.abs(np.asarray(here) - np.asarray(there)).ravel().tolist()
        return cls(float(scale), tuple(int(gap) for gap in gaps if gap))

    @property
    def largest(self) -> float:
        """The largest loss that any outcome has: it is reached beyond all integers at once."""
        return math.fsum(self.shifts) / self.scale

    def compare(self, claim: Measure, title: str) -> AuditResult:
        """The distribution against a claim, without chance."""
        if isinstance(claim, PureDP):
            floor = self.largest
        elif isinstance(claim, ApproxDP):
            floor = self._tails(up=False).epsilon(float(claim.delta))
        else:
            raise TypeError(f"the loss of Laplace noise can't be compared with {claim!r}.")
        rarity = math.exp(-len(self.shifts) * math.log1p(math.exp(-1 / self.scale)))
        words = f"{len(self.shifts)} numbers move: the largest loss has probability {rarity:.3g}"
        return _result(title, claim, floor, words)

    @cached_property
    def curve(self) -> GaussianDP:
        """The least trade-off curve of Gaussian noise that the losses stay above (Dong, Roth & Su 2022).

        Both inputs are alike by symmetry, so one half of the losses tells all. Losses are rounded up.
        """
        tails = self._tails(up=True)
        p, q = tails.probabilities(tails.epsilons[tails.epsilons >= -tails.step])
        seen = q > _RAREST
        with np.errstate(divide="ignore"):
            apart = ndtri(np.minimum(p[seen], 1.0)) - ndtri(q[seen])
        mu = float(np.max(apart, where=np.isfinite(apart), initial=0.0))
        return GaussianDP(f"{mu**2 * (1 + _SLACK):.15g}")

    def _tails(self, up: bool) -> _Tails:
        """The distribution of the loss on a grid, each number's share rounded up, or down."""
        step = self.largest / _CELLS
        total, start = np.ones(1), 0
        for shift in self.shifts:
            first, mass = self._losses(shift, step, up)
            total, start = np.maximum(fftconvolve(total, mass), 0.0), start + first
        return _Tails(
            step * (start + np.arange(len(total), dtype=np.float64)),
            np.asarray(total, np.float64),
            step,
        )

    def _losses(self, shift: int, step: float, up: bool) -> tuple[int, Floats]:
        """The first place and the masses of log P(x)/Q(x) = (|x - shift| - |x|)/scale, where x is noise."""
        most = shift / self.scale
        last = math.ceil(most / step - 1e-9)
        edges = step * np.arange(-last - 1, last + 1)
        # x = j has the loss (shift - 2j)/scale for j from 0 to shift: above e means j < (shift - e·scale)/2
        below = np.ceil((shift - edges * self.scale) / 2 - 1e-9)
        inside = 1 - np.exp(-below / self.scale) / (1 + math.exp(-1 / self.scale))
        above = np.where(edges >= most * (1 - 1e-12), 0.0, np.where(edges < -most, 1.0, inside))
        mass = np.maximum(-np.diff(np.append(above, 0.0)), 0.0)
        return -last if up else -last - 1, mass


@dataclass(frozen=True)
class _Tails:
    """A privacy loss: its values, and their probabilities on the first input."""

    epsilons: Floats
    mass: Floats
    step: float

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """P(loss > each value) on the first input and on the other one."""
        here = np.append(np.cumsum(self.mass[::-1])[::-1], 0.0)
        other = self.mass * np.exp(-self.epsilons)
        return here[1:], np.append(np.cumsum(other[::-1])[::-1], 0.0)[1:]

    def probabilities(self, at: Floats) -> tuple[Floats, Floats]:
        """P(loss > ε) on both inputs."""
        place = np.searchsorted(self.epsilons, at, side="right") - 1
        inside = place >= 0
        here, there = self._sums
        return (
            np.where(inside, here[place], self.mass.sum()),
            np.where(inside, there[place], (self.mass * np.exp(-self.epsilons)).sum()),
        )

    def delta(self, at: Floats) -> Floats:
        """δ(ε) = Σ max(P - e^ε·Q, 0) (Balle, Barthe & Gaboardi 2018)."""
        here, there = self.probabilities(at)
        return np.maximum(here - np.exp(at) * there, 0.0)

    def epsilon(self, delta: float) -> float:
        """The least ε on the grid with δ(ε) <= delta, at most one step too small."""
        found = np.flatnonzero(self.delta(self.epsilons) > delta)
        return max(0.0, float(self.epsilons[found[-1]])) if len(found) else 0.0


@dataclass(frozen=True)
class GaussianLoss:
    """Rounded Gaussian noise on a vector: post-processing of a shift by `mu` deviations.

    Examples
    --------
    >>> from discreet import audit, measures
    >>> shift = audit.GaussianLoss.between(2, [3, 4], [3, 5])
    >>> shift.mu
    0.5
    >>> shift.compare(measures.ZCDP("1/8"), "one count, σ = 2").verdict
    'consistent'
    >>> shift.compare(measures.ZCDP("1/10"), "one count, σ = 2").verdict
    'violated'
    """

    mu: float

    @classmethod
    def between(cls, sigma: float, here: Integers, there: Integers) -> GaussianLoss:
        """The distribution for these two vectors."""
        gaps = (np.asarray(here) - np.asarray(there)).astype(np.float64).ravel()
        return cls(float(np.linalg.norm(gaps)) / float(sigma))

    def compare(self, claim: Measure, title: str) -> AuditResult:
        """The distribution of the noise before rounding against a claim, without chance."""
        edges = np.linspace(-12, self.mu + 12, 20_001)
        p, q = (gaussian_cells(mean, 1.0, edges) for mean in (0.0, self.mu))
        return exact(p, q, claim, title=title)

    @property
    def curve(self) -> GaussianDP:
        """The trade-off curve of this pair."""
        return GaussianDP(f"{self.mu**2 * (1 + _SLACK):.15g}")


LossDistribution = LaplaceLoss | GaussianLoss


def _result(title: str, claim: Measure, floor: float, words: str) -> AuditResult:
    number = claimed_number(claim)
    return AuditResult(
        title=title,
        claim=claim,
        claimed=number,
        floor=floor,
        verdict="violated" if floor > number * (1 + _SLACK) else "consistent",
        confidence=1.0,
        event=words,
        probe="exact distribution",
        audited="the distribution that it states",
        trials=0,
    )
