"""What trees ask of a target of numbers: its mean and variance before anything else, and sums in leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.columns import Numeric
from discreet.measures import Measure
from discreet.models.facts import Facts
from discreet.queries import Additive, CentredSums, Moments
from discreet.queries.moments import MomentsValue
from discreet.release import Release

#: In leaves a sum gets more of the noise budget than its count: (1 + w)²(1 + m²/w²) is least at w³ = m².
COUNT_WEIGHT = "5/8"
#: Bits of a coarse grid of the target: few, so that noise fits for many columns and small budgets.
BITS = 8
#: The least standard deviation of a target that is believed, as a share of half its width.
MIN_DEVIATION = 0.02
#: A mean between -1 and 1 of which nothing is known: the variance of an even spread.
MEAN_VARIANCE = 1 / 3
#: The variance of a target scaled to [-1, 1] that is expected before anything is measured.
DEFAULT_VARIANCE = 1 / 16


@final
@dataclass(frozen=True)
class Target:
    """Noised moments of a number scaled to [-1, 1], with their standard errors."""

    mean: float
    mean_error: float
    variance: float
    variance_error: float

    @classmethod
    def of(cls, mean: float, mean_error: float, variance: float, variance_error: float) -> Target:
        """A mean shrunk towards the middle by its noise, as one of which nothing was known before."""
        kept = MEAN_VARIANCE / (MEAN_VARIANCE + mean_error**2)
        # what is left of the doubt about the mean, once it is shrunk
        error = float(np.sqrt(kept) * mean_error)
        return cls(
            float(np.clip(kept * mean, -1, 1)), error, float(variance), float(variance_error)
        )

    @property
    def deviation(self) -> float:
        """The standard deviation: between the measured and the expected one, by the noise of the first."""
        kept = DEFAULT_VARIANCE**2 / (DEFAULT_VARIANCE**2 + self.variance_error**2)
        variance = kept * self.variance + (1 - kept) * DEFAULT_VARIANCE
        return float(np.sqrt(np.clip(variance, MIN_DEVIATION**2, 1.0)))


def target_query(budget: Measure, facts: Facts) -> Additive:
    """Mean and variance for the price of one sum; on a coarser grid where that noise can't be drawn."""
    assert facts.target is not None
    query = Moments(facts.target)
    try:
        facts.ask(query, budget)
    except ValueError:
        return CentredSums(facts.target, products="squares", bits=BITS)
    return query


def read_target(told: Release, column: Numeric) -> Target:
    """Noised moments of the target scaled to [-1, 1], from the answer to `target_query`."""
    half = column.width / 2
    if not half:
        return Target(0.0, 0.0, 0.0, 0.0)  # only one value is declared
    if isinstance(told.value, MomentsValue):
        mean, error = (np.ravel(part.mean)[0] for part in (told.value, told.stderr))
        variance, spread = (np.ravel(part.variance)[0] for part in (told.value, told.stderr))
        middle = float(column.lower) + column.width / 2
        deviations = (mean - middle) / half, error / half
        return Target.of(*deviations, variance / half / half, spread / half / half)
    count, total, squares = np.ravel(told.value)
    error = np.ravel(told.stderr)
    rows = max(float(count), float(error[0]), 1.0)
    # a floor takes half a step from u
    mean = total / rows + (0.0 if column.is_exact(BITS) else 1 / max(1, column.steps(BITS)))
    return Target.of(mean, error[1] / rows, squares / rows - mean**2, error[2] / rows)
