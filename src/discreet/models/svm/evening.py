"""What is asked of the columns before a kernel's features are evened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import final

import numpy as np
import numpy.typing as npt

from discreet.columns import Base, Numeric
from discreet.dataset import PrivateDataset
from discreet.events import Event
from discreet.measures import ApproxDP, PureDP
from discreet.models.cells import Axis, axis_of
from discreet.models.erm.evened import EvenedMap, even_out
from discreet.models.erm.step import MinimisedRisk
from discreet.models.facts import Facts, Question
from discreet.models.shares import together
from discreet.models.tree.structure import free_name
from discreet.queries import Count, WithColumns

Floats = npt.NDArray[np.float64]

#: The part of ε that buys a histogram of each column. A tenth was no better.
SHARE = Fraction(1, 20)
#: Bins of a histogram; with more there is more noise in them, and 32 and 64 were no better.
BINS = 20
#: Beyond, the covariance of the features takes seconds: the most directions, and columns times their square.
MAX_COMPONENTS, MAX_WORK = 256, 2**21
#: It pays with at least so many rows, with so many for each deviation of the noise in the objective, and with
#: ε·rows of at least so many for each column: on held-out training rows of Adult, bank and COMPAS R² rose or
#: stayed above all three, and fell on some of them where there is more noise.
FEWEST_ROWS, ROWS_FOR_NOISE, ROWS_FOR_COLUMN = 1000, 1200, 600


@final
@dataclass(frozen=True, eq=False)
class Evening:
    """The histograms, and the step on rows that follows.

    Attributes
    ----------
    facts : Facts
    axes : tuple of Axis
        The bins of each column.
    questions : tuple of Question or None
        How many rows are in each bin; None for a column in one bin.
    step : MinimisedRisk
        On an `EvenedMap`.
    """

    facts: Facts
    axes: tuple[Axis, ...]
    questions: tuple[Question | None, ...]
    step: MinimisedRisk

    @property
    def asked(self) -> tuple[Question, ...]:
        """The questions that there are."""
        return tuple(question for question in self.questions if question is not None)

    @property
    def event(self) -> Event:
        """All of it, for the accountant."""
        step = self.step.event(self.facts.schema, self.facts.unit)
        return together([*(question.event for question in self.asked), step])

    def even_out(self, frequencies: Floats, door: PrivateDataset) -> EvenedMap:
        """Ask for the histograms, in order; the features for these frequencies."""
        planned = self.step.features
        assert isinstance(planned, EvenedMap)
        shares = [
            np.ones(1) if question is None else _project(question.release(door).value)
            for question in self.questions
        ]
        return even_out(planned, frequencies, [axis.points[:, 0] for axis in self.axes], shares)


def plan_evening(facts: Facts, budget: PureDP, step: MinimisedRisk) -> Evening:
    """Divide a budget between the columns, and price what is asked of each."""
    axes = tuple(map(partial(_cut, facts), facts.features, facts.columns))
    count = max(1, sum(axis.by is not None for axis in axes))
    infinite = isinstance(budget.epsilon, float)
    each = budget if infinite else PureDP(Fraction(budget.epsilon) / count)
    return Evening(facts, axes, tuple(_ask(facts, axis, each) for axis in axes), step)


def _cut(facts: Facts, name: str, column: Base) -> Axis:
    """Bins of equal width; one where bounds are so close that floats can't tell the cuts apart."""
    axis = axis_of(name, column, BINS)
    try:
        if axis.by is not None:
            axis.by.code("", facts.schema)
    except ValueError:
        return Axis(name, None, np.zeros((1, 1)))
    return axis


def _ask(facts: Facts, axis: Axis, budget: PureDP) -> Question | None:
    """The noised histogram of a column."""
    if axis.by is None:
        return None
    name = free_name(f"{axis.name} in bins", facts.schema)
    return facts.ask(WithColumns(Count(by=name), {name: axis.by}), budget)


def is_worth_it(facts: Facts, epsilon: Fraction | float, rows: int, spread: float) -> bool:
    """Whether there are enough rows for evened features: numbers alone, and little noise for so many."""
    if not all(isinstance(column, Numeric) for column in facts.columns) or rows < FEWEST_ROWS:
        return False
    enough = epsilon * rows >= ROWS_FOR_COLUMN * len(facts.features)
    return bool(enough and rows >= ROWS_FOR_NOISE * spread)


def divide_budget(measure: PureDP | ApproxDP) -> tuple[PureDP, PureDP | ApproxDP]:
    """The budgets of the histograms and of the step: ε adds up, and the step has all of δ."""
    if isinstance(measure.epsilon, float):  # public rows
        return PureDP(measure.epsilon), measure
    first, rest = measure.epsilon * SHARE, measure.epsilon * (1 - SHARE)
    return PureDP(first), (
        ApproxDP(rest, measure.delta) if isinstance(measure, ApproxDP) else PureDP(rest)
    )


def _project(counts: Sequence[float]) -> Floats:
    """Project noised counts onto shares of rows: none below 0, and 1 in sum.

    All give up the same, so that bins which hold noise alone become empty.
    """
    counted = np.asarray(counts, np.float64)
    told = counted / max(1.0, float(counted.sum()))
    falling = np.sort(told)[::-1]
    over = (np.cumsum(falling) - 1.0) / np.arange(1, len(told) + 1)
    kept = np.maximum(told - over[max(0, int(np.sum(falling > over)) - 1)], 0.0)
    # sums of counts beyond 2^53 are rounded
    return np.asarray(kept / kept.sum() if kept.sum() > 0 else np.full(len(told), 1 / len(told)))
