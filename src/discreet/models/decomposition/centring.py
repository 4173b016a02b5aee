"""The mean that is asked for before rows are moved into a ball around it, and what is learned then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.columns import Numeric
from discreet.dataset import PrivateDataset
from discreet.measures import Measure
from discreet.models.facts import Facts
from discreet.queries import CentredSums
from discreet.queries.additive import Floats

__all__ = ["DEFAULT_RADIUS", "FoundComponents", "MeanFirst"]

#: The default radius, as a share of the way from the middle of the box of bounds to a corner (measured:
#: ``docs/proofs/decomposition.md``).
DEFAULT_RADIUS = 1 / 3
#: The grid of the mean, in bits.
_BITS = 15


@final
@dataclass(frozen=True)
class FoundComponents:
    """What was learned, in the units of the columns; `total` is the sum of all variances."""

    mean: Floats
    components: Floats
    variances: Floats
    total: float


@final
class MeanFirst:
    """The question for the mean of all features, and where their columns lie.

    Attributes
    ----------
    columns : tuple of Numeric
    half, lower : arrays of shape (d,)
        Half of each column's width, and its lower bound.
    query : CentredSums
    """

    def __init__(self, facts: Facts, columns: tuple[Numeric, ...]) -> None:
        self._facts, self.columns = facts, columns
        self.half = np.array([column.width / 2 for column in columns])
        self.lower = np.array([float(column.lower) for column in columns])
        self.query = CentredSums(*facts.features, bits=_BITS)

    def ask(self, door: PrivateDataset, budget: Measure) -> tuple[float, Floats]:
        """The noised count, at least 1, and the noised mean within the bounds."""
        answer = np.asarray(door.release(self.query, budget).value).ravel()
        count = max(float(answer[0]), 1.0)
        middle = np.clip(answer[1:] / count, -1.0, 1.0) + self.query.shift(self._facts.schema)
        upper = self.lower + 2 * self.half
        return count, np.clip(self.lower + self.half * (middle + 1), self.lower, upper)

    def expected_error(self, budget: Measure, rows: int) -> Floats:
        """The standard deviation of the noise on the mean of this many rows."""
        asked = self._facts.ask(self.query, budget)
        means = np.asarray(asked.expected_error(rows)).ravel()[1:] * self.half
        return np.asarray(means / max(rows, 1))
