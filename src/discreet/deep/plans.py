"""What a training will do and cost: who is drawn, how often, and with how much noise. It needs no torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from discreet import accounting, noise
from discreet.deep.grid import RADIUS
from discreet.events import Assumed, Compose, Event, Gaussian, Poisson, Repeat
from discreet.measures import ApproxDP, Measure
from discreet.measures.gaussian import gaussian_delta
from discreet.mechanisms.distributions import LARGEST_SCALE
from discreet.rational import Number, as_integer, probability
from discreet.unit import REPLACE_ONE, Unit

__all__ = [
    "PoissonSampler",
    "TrainingPlan",
    "calibrate_noise",
    "check_unit",
    "rows_each",
]

Integers = npt.NDArray[np.int64]

#: Noise is at most this share above the least that the accountant allows.
TOLERANCE = 1e-4


@final
@dataclass(frozen=True)
class PoissonSampler:
    """Draw each person independently with the same chance; the only source of batches, and of their event.

    Parameters
    ----------
    chance : number
        Above 0 and at most 1.

    Privacy
    -------
    Draws are exact and from the operating system's entropy, so they are secret, which amplification by
    sampling rests on. The number of drawn persons is as private as the rows.
    """

    chance: Fraction

    def __init__(self, chance: Number) -> None:
        object.__setattr__(self, "chance", probability(chance, "sampling_rate"))
        if not 0 < self.chance <= 1:
            raise ValueError(f"sampling_rate must be above 0 and at most 1, got {chance!r}.")

    def event(self, inner: Event) -> Event:
        """What a step costs whose batch was drawn here."""
        return Poisson(self.chance, inner)

    def draw(self, persons: int) -> npt.NDArray[np.intp]:
        """The places of the drawn among so many persons, in order."""
        return np.flatnonzero(noise.bernoulli(self.chance, persons))


@final
@dataclass(frozen=True)
class TrainingPlan:
    """A training, decided before a row is read.

    Attributes
    ----------
    sampler : PoissonSampler
    steps : int
    sigma : int
        The scale of the noise on the integer grid; 0 for none, on public rows.
    assumption : str
        What the guarantee rests on that isn't proved; empty if nothing.

    Privacy
    -------
    Each step is a rounded Gaussian on integers of which one person moves at most `grid.RADIUS` in the L2
    norm. Proof page: ``docs/proofs/deep.md``.
    """

    sampler: PoissonSampler
    steps: int
    sigma: int
    assumption: str = ""

    @property
    def step(self) -> Event:
        """What one step costs."""
        if not self.sigma:
            return Compose()
        sampled = self.sampler.event(Gaussian(self.sigma, RADIUS**2))
        return Assumed(sampled, self.assumption) if self.assumption else sampled

    @property
    def event(self) -> Event:
        """What all steps cost together."""
        return self.several(self.steps)

    def several(self, steps: int) -> Event:
        """What so many steps cost."""
        return Repeat(self.step, steps)

    @property
    def noise_multiplier(self) -> float:
        """The noise as a multiple of the norm that gradients are clipped to."""
        return self.sigma / RADIUS

    def add_noise(self, totals: Integers) -> Integers:
        """The integer sums of a step with fresh noise on each."""
        return totals + self.draw_noise(len(totals))

    def draw_noise(self, size: int) -> Integers:
        """Fresh noise for one step."""
        if not self.sigma:
            return np.zeros(size, np.int64)
        return noise.rounded_gaussian(self.sigma, size)


def check_unit(unit: Unit, has_persons: bool) -> None:
    """Raise unless training can protect this unit, and rows say whose they are where it needs that.

    Privacy
    -------
    What sampling gains is counted for add/remove. Persons are drawn whole.
    """
    if unit.relation is REPLACE_ONE:
        raise ValueError(
            "unit must be dp.ADD_REMOVE: batches are drawn by chance, and what that gains is counted for a "
            "person who is in the data or not."
        )
    if has_persons != (unit.id_column is not None):
        raise ValueError(
            "persons and a unit with max_rows belong together, as in persons=ids and "
            "unit=dp.Unit(dp.ADD_REMOVE, id_column='person', max_rows=4)."
        )


def rows_each(unit: Unit) -> int:
    """How many places a person's rows have in a block."""
    return unit.rows_per_person


def calibrate_noise(sampler: PoissonSampler, steps: int, measure: Measure) -> int:
    """The least noise on the grid, to 0.01 %, with which so many steps cost at most `measure`.

    Parameters
    ----------
    sampler : PoissonSampler
    steps : int
    measure : Measure
        An infinite ε means no noise.
    """
    as_integer(steps, "steps", minimum=1)
    if getattr(measure, "epsilon", None) == math.inf:
        return 0

    def event(sigma: int) -> Event:
        return TrainingPlan(sampler, steps, sigma).event

    if isinstance(measure, ApproxDP) and measure.delta and sampler.chance < 1:
        return _search(event, measure, _guess(sampler, steps, measure))
    best = accounting.calibrate(
        lambda s: Gaussian(math.ceil(s * RADIUS), RADIUS**2 * steps), measure
    )
    return _raise_until(event, measure, math.ceil(best.sigma))


def _guess(sampler: PoissonSampler, steps: int, measure: ApproxDP) -> float:
    """The noise multiplier by the central limit theorem (Bu, Dong, Long & Su 2020, Corollary 5.4)."""
    chance, low, high = float(sampler.chance), 0.2, 1e4
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        mu = chance * math.sqrt(steps * math.expm1(middle**-2))
        wide = mu > 1e3 or gaussian_delta(Fraction(mu) ** 2, measure.epsilon) > measure.delta
        low, high = (middle, high) if wide else (low, middle)
    return high


def _search(event: Callable[[int], Event], measure: ApproxDP, guess: float) -> int:
    """Find the root of log δ(σ) by false position, then end on the private side."""
    target = math.log(float(measure.delta))

    def excess(multiplier: float) -> float:
        found = accounting.delta_at(event(math.ceil(multiplier * RADIUS)), measure.epsilon)
        return math.log(max(float(found), 1e-300)) - target

    low, high = guess / 1.02, guess * 1.02
    below, above = excess(low), excess(high)
    while below <= 0:
        low, high, above = low / 1.2, low, below
        below = excess(low)
    while above > 0:
        low, high, below = high, high * 1.2, above
        above = excess(high)
        if high * RADIUS > LARGEST_SCALE:
            raise ValueError(
                "epsilon is too small for so many steps: more noise than can be drawn."
            )
    while high > (1 + TOLERANCE) * low:
        share = below / (below - above)
        middle = low + (high - low) * min(max(share, 0.02), 0.98) * (1 + 1e-5)
        found = excess(middle)
        if found > 0:
            low, below = middle, found
        else:
            close = -found < 1e-3 and middle < high
            high, above = middle, found
            if close:
                break
    return _raise_until(event, measure, math.ceil(high * RADIUS))


def _raise_until(event: Callable[[int], Event], measure: Measure, sigma: int) -> int:
    """The noise, raised a little until the accountant says that the target is reached."""
    while not accounting.satisfies(event(sigma), measure):
        sigma = math.ceil(sigma * (1 + TOLERANCE))
    return sigma
