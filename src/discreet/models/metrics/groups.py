"""Counts by group, truth and prediction: what every figure of fairness is computed from."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.columns import Categorical
from discreet.models.metrics.kinds import Floats, Integers, Metric, find_positive
from discreet.schema import Schema

__all__ = ["DEFAULT_BINS", "MAX_CELLS", "GroupCounts"]

DEFAULT_BINS = 10
#: The most cells that one histogram may have.
MAX_CELLS = 2**16


@final
class GroupCounts(Metric):
    """One histogram over group × truth × prediction; its value is the accuracy of all groups together.

    A row counts in one cell: that of its group, of whether its class is `positive`, and of the model's
    probability of `positive`, in bins of equal width. *Predicted positive* means a probability of at least
    1/2. A model that gives no probabilities, or more than two of them, has two bins: predicted or not.

    Parameters
    ----------
    group : str
        The column of the groups, a `Categorical` of the schema. The model may use it as a feature or not.
    positive : optional
        The class that is called positive; of two classes the last of ``classes_`` by default.
    bins : int
        Public and even, so that 1/2 is the edge of one.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.models.metrics import GroupCounts, private_score
    >>> from discreet.models.naive_bayes import MixedNB
    >>> schema = dp.Schema(x=dp.Real(0, 1), sex=dp.Categorical("F", "M"), y=dp.Categorical(0, 1))
    >>> table = {"x": [0.1, 0.9] * 50, "sex": ["F", "F", "M", "M"] * 25, "y": [0, 1] * 50}
    >>> data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(2)))
    >>> model = MixedNB(epsilon=1).fit(data)
    >>> private_score(model, data, GroupCounts("sex"), dp.PureDP(1)).totals.shape  # noised counts
    (40,)

    Privacy
    -------
    A row adds 1 to one cell, so `steps` is 1: see `Metric`. Rows without a declared group or class are
    left out. Proof page: ``docs/proofs/model_selection.md``.
    """

    target = "class"
    is_better_if_larger = True
    steps = 1

    def __init__(self, group: str, positive: Any = None, bins: int = DEFAULT_BINS) -> None:
        if not isinstance(group, str):
            raise TypeError(f"group must be the name of a column, not {type(group).__name__}.")
        if isinstance(bins, bool) or not isinstance(bins, int) or bins < 2 or bins % 2:
            raise ValueError(f"bins must be an even number of at least 2, got {bins!r}.")
        self.group, self.positive, self.bins = group, positive, bins
        self.labels: tuple[Any, ...] = ()
        self.beside = (group,)

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many groups, truths (negative, positive) and bins of predictions there are."""
        return len(self.labels), 2, self.bins

    @property
    def has_probabilities(self) -> bool:
        """Whether bins are of probabilities; otherwise there are two: predicted or not."""
        return self.bins > 2

    def bound(self, model: Any, schema: Schema, target: str) -> Metric:
        super().bound(model, schema, target)
        column = schema[self.group]
        if self.group == target or not isinstance(column, Categorical):
            raise ValueError(
                f"group: column {self.group!r} must be a dp.Categorical of the schema, and not the target."
            )
        positive = find_positive(self.positive, model, schema, target)
        classes = np.asarray(getattr(model, "classes_", schema.labels(target)))
        asked = hasattr(model, "predict_proba") and len(classes) == 2
        found = GroupCounts(self.group, positive, self.bins if asked else 2)
        found.labels = schema.labels(self.group)
        found.size = math.prod(found.shape)
        if found.size > MAX_CELLS:
            raise ValueError(
                f"bins: {len(found.labels)} groups with {found.bins} bins make {found.size} cells, more than "
                f"{MAX_CELLS}: give fewer."
            )
        return found

    def ask(self, model: Any, X: Any) -> npt.NDArray[Any]:
        if not self.has_probabilities:
            found = super().ask(model, X)
            return np.asarray(found.astype(object) == self.positive, np.float64)
        shares = np.asarray(model.predict_proba(X), np.float64)
        if shares.ndim != 2 or shares.shape[1] != 2:
            return shares
        return shares[:, np.asarray(model.classes_).tolist().index(self.positive)]

    def sums(self, model: Any, found: Any, target: Any, counts: Integers) -> Integers:
        shares = np.clip(np.where(np.isfinite(found), found, 0.0), 0.0, 1.0)
        bins = np.minimum((shares * self.bins).astype(np.int64), self.bins - 1)
        places = {label: place for place, label in enumerate(self.labels)}
        # no cell may raise: whatever has no place of its own counts in the last
        groups = np.array([places.get(label, len(places) - 1) for label in target[:, 0]], np.int64)
        truths = (target[:, 1] == self.positive).astype(np.int64)
        totals = np.zeros(self.shape, np.int64)
        np.add.at(totals, (groups, truths, bins), counts)
        return totals.ravel()

    def _split(self, totals: Floats) -> tuple[float, float]:
        """The rows that are predicted right, and all rows."""
        cells, half = totals.reshape(self.shape), self.bins // 2
        right = float(cells[:, 0, :half].sum() + cells[:, 1, half:].sum())
        return right, max(float(cells.sum()), 1.0)

    def value(self, totals: Floats) -> float:
        right, rows = self._split(totals)
        return min(max(right / rows, 0.0), 1.0)

    def error(self, totals: Floats, deviation: float) -> float:
        share, rows = self.value(totals), self._split(totals)[1]
        return deviation * math.hypot(share, 1 - share) * math.sqrt(self.size / 2) / rows

    def bounds(self, totals: Floats, width: float) -> tuple[float, float]:
        right, rows = self._split(totals)
        # half of the cells are those predicted right: all of them lower, and the others higher, is worst
        far = width * self.size / 2
        wrong = rows - right
        ends = []
        for sign in (-1, 1):
            good, bad = max(right + sign * far, 0.0), max(wrong - sign * far, 0.0)
            ends.append(good / max(good + bad, 1.0))
        return min(ends), max(ends)

    def sampling(self, totals: Floats) -> float:
        right, rows = self._split(totals)
        share = min(max((right + 1) / (rows + 2), 0.0), 1.0)
        return math.sqrt(share * (1 - share) / rows)

    def __repr__(self) -> str:
        return f"GroupCounts({self.group!r}, {self.positive!r}, {self.bins})"
