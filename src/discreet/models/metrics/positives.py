"""Precision, recall and F1 of one class, from noised counts of truths and predictions."""

from __future__ import annotations

import math
from typing import Any, ClassVar, final

import numpy as np

from discreet.models.metrics.kinds import Floats, Integers, Metric, find_positive
from discreet.schema import Schema

__all__ = ["F1", "Precision", "Recall"]


class _OfPositives(Metric):
    """A quotient right/(right + wrong) of the four counts of truth and prediction.

    A row counts in one cell: 2·(it is positive) + (it is told to be). Rows told positive rightly are *right*;
    how much the rows of each cell count as *wrong* is what the metrics differ in.
    """

    target = "class"
    is_better_if_larger = True
    steps = 1
    size = 4
    #: How much a row of each cell counts as wrong; of the same weight where it isn't 0.
    wrong: ClassVar[tuple[float, float, float, float]]

    def __init__(self, positive: Any = None) -> None:
        self.positive = positive

    def bound(self, model: Any, schema: Schema, target: str) -> Metric:
        super().bound(model, schema, target)
        return type(self)(find_positive(self.positive, model, schema, target))

    def sums(self, model: Any, found: Any, target: Any, counts: Integers) -> Integers:
        told = (found.astype(object) == self.positive).astype(np.int64)
        truth = (target.astype(object) == self.positive).astype(np.int64)
        totals = np.zeros(self.size, np.int64)
        np.add.at(totals, 2 * truth + told, counts)
        return totals

    def _split(self, totals: Floats) -> tuple[float, float]:
        """What is right, and what is wrong, each at least 0."""
        return max(float(totals[3]), 0.0), max(float(totals @ np.array(self.wrong)), 0.0)

    def value(self, totals: Floats) -> float:
        right, wrong = self._split(totals)
        return right / max(right + wrong, 1.0)

    def error(self, totals: Floats, deviation: float) -> float:
        right, wrong = self._split(totals)
        share = self.value(totals)
        slopes = (1 - share, share * math.hypot(*self.wrong))
        return deviation * math.hypot(*slopes) / max(right + wrong, 1.0)

    def bounds(self, totals: Floats, width: float) -> tuple[float, float]:
        # the quotient rises with what is right and falls with what is wrong
        right, far = float(totals[3]), width * sum(self.wrong)
        wrong = float(totals @ np.array(self.wrong))
        ends = []
        for sign in (-1, 1):
            good, bad = max(right + sign * width, 0.0), max(wrong - sign * far, 0.0)
            ends.append(good / max(good + bad, 1.0))
        return ends[0], ends[1]

    def sampling(self, totals: Floats) -> float:
        # among the rows that are right or wrong, a share s is right, a binomial one; the metric is
        # s/(s + w(1 - s)), w what such a row counts as wrong
        weight = max(self.wrong)
        right, wrong = self._split(totals)
        rows = right + wrong / weight
        share = (right + 1) / (rows + 2)  # one more row of each kind: never certain
        slope = weight / (share + weight * (1 - share)) ** 2
        return slope * math.sqrt(share * (1 - share) / (rows + 2))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.positive is None else repr(self.positive)})"


@final
class Precision(_OfPositives):
    """The share of rows told positive that are.

    Parameters
    ----------
    positive : optional
        The class that is called positive; of two classes the last of ``classes_`` by default.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.metrics import Precision
    >>> Precision().value(np.array([50.0, 10.0, 10.0, 30.0]))  # 10 told wrongly, 30 rightly
    0.75
    """

    wrong = (0.0, 1.0, 0.0, 0.0)


@final
class Recall(_OfPositives):
    """The share of positive rows that are told to be.

    Parameters
    ----------
    positive : optional
        As for `Precision`.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.metrics import Recall
    >>> Recall().value(np.array([50.0, 10.0, 20.0, 30.0]))  # 20 missed, 30 found
    0.6
    """

    wrong = (0.0, 0.0, 1.0, 0.0)


@final
class F1(_OfPositives):
    """The harmonic mean of precision and recall.

    Parameters
    ----------
    positive : optional
        As for `Precision`.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.metrics import F1
    >>> F1().value(np.array([50.0, 10.0, 10.0, 30.0]))
    0.75
    """

    wrong = (0.0, 0.5, 0.5, 0.0)
