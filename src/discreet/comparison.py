"""The difference of two groups of an answer, with an interval for the population."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from discreet.queries import Interval

__all__ = ["Comparison", "compare_groups"]

#: The part of a person's step that is added to each distance of a proportion before they are compared.
CONTINUITY = 0.25


class Comparison(NamedTuple):
    """How much one group exceeds another, and where the difference lies in the population.

    `is_clear` says whether the interval leaves out 0. `about` says in words what is compared.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> answer = data.release(dp.Estimate(dp.Mean("age", by="ward")), dp.PureDP(4))
    >>> found = answer.compare("B", "A")  # 51 against about 42
    >>> 5 < found.difference < 14
    True
    """

    difference: float
    lower: float
    upper: float
    level: float
    about: str

    @property
    def is_clear(self) -> bool:
        """Whether the groups differ at this level."""
        return not self.lower <= 0 <= self.upper


def compare_groups(
    labels: list[Any] | None,
    value: Any,
    found: Interval,
    first: Any,
    second: Any,
    is_disjoint: bool,
    grain: Any = 0.0,
) -> Comparison:
    """Compare two groups by their own intervals.

    Independent groups: the distances of the ends from the values add up by squares (Zou & Donner 2008),
    each with a quarter of what one person moves, since a difference of whole numbers is one, too.
    Groups that share persons, or are shares of one whole: they add up as they are, which covers whatever
    the dependence is.
    """
    if labels is None:
        raise ValueError("compare: only grouped answers have groups; ask with by=...")
    for label in (first, second):
        if label not in labels:
            known = ", ".join(repr(each) for each in labels[:10])
            raise ValueError(f"compare: no group is called {label!r}; the groups are {known}.")
    if first == second:
        raise ValueError("compare: first and second must be two different groups.")
    i, j = labels.index(first), labels.index(second)
    difference = float(value[i] - value[j])
    below = (value[i] - found.lower[i], found.upper[j] - value[j])
    above = (found.upper[i] - value[i], value[j] - found.lower[j])
    if is_disjoint:
        step = CONTINUITY * np.broadcast_to(grain, len(labels))
        lower = difference - math.hypot(below[0] + step[i], below[1] + step[j])
        upper = difference + math.hypot(above[0] + step[i], above[1] + step[j])
    else:
        lower, upper = difference - sum(below), difference + sum(above)
    about = f"{first} less {second}; for each of them: {found.about}"
    return Comparison(difference, float(lower), float(upper), found.level, about)
