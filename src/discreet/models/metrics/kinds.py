"""Metrics of a model that are made of sums over rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, final

import numpy as np
import numpy.typing as npt

from discreet.coding import VALUE_BITS, Sensitivity
from discreet.columns import Numeric
from discreet.models.facts import check_size
from discreet.schema import Schema
from discreet.unit import REPLACE_ONE, Unit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: The worst possible row adds this whole number to the sum of a loss.
LOSS_STEPS = 2**VALUE_BITS


class Metric(ABC):
    """A metric made of sums: each row adds a vector of whole numbers that sum up to `steps`.

    >>> from discreet.models.metrics import Accuracy, LogLoss, Metric
    >>> isinstance(Accuracy(), Metric), LogLoss().score(0.3)  # the larger, the better
    (True, -0.3)

    Privacy
    -------
    The vector of a row depends only on that row and on the released model. Its entries are at least 0
    and sum up to `steps`, so one row moves the sums by `steps` in L1 if it comes or goes, and by
    at most 2·steps if it is replaced. Proof page: ``docs/proofs/model_selection.md``.
    """

    #: Which kind of target it is for.
    target: ClassVar[Literal["class", "number"]]
    #: Whether more is better.
    is_better_if_larger: ClassVar[bool]
    #: What the vector of a row sums up to.
    steps: ClassVar[int]
    #: How many sums there are.
    size: int = 2
    #: Columns that a row is told apart by, beside its target, such as its group.
    beside: tuple[str, ...] = ()

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """How far one person moves the sums."""
        moved = unit.rows_per_person * self.steps
        if unit.relation is REPLACE_ONE:
            return Sensitivity(2 * moved, 2 * moved**2)
        return Sensitivity(moved, moved**2)

    def bound(self, model: Any, schema: Schema, target: str) -> Metric:
        """The metric for this target; raises, from public facts alone, if it can't be computed."""
        numeric = isinstance(schema[target], Numeric)
        if numeric != (self.target == "number"):
            wanted = "a number between bounds" if self.target == "number" else "classes"
            raise ValueError(f"metric: {type(self).__name__} needs a target that holds {wanted}.")
        return self

    def totals(self, model: Any, X: Any, target: Any, counts: Integers) -> Integers:
        """The sums over rows, each counted `counts` times; `target` holds their classes or numbers.

        For a metric with columns `beside` the target, it has a column for each, and the target's last.
        """
        found, seen = self.ask(model, X), counts > 0
        if found.shape != (len(counts), *self.answers(model)):
            parts = "".join(f", with {count} probabilities" for count in self.answers(model))
            raise ValueError(
                f"model must give one answer for each row{parts}: for {len(counts)} rows it gave an array of "
                f"shape {found.shape}."
            )
        return self.sums(model, found[seen], target[seen], counts[seen])

    def ask(self, model: Any, X: Any) -> npt.NDArray[Any]:
        """The model's answers for rows; a column of predictions is taken as a list of them."""
        found = np.asarray(model.predict(X))
        return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found

    def answers(self, model: Any) -> tuple[int, ...]:
        """The shape of what `ask` gives for one row."""
        return ()

    @abstractmethod
    def sums(self, model: Any, found: Any, target: Any, counts: Integers) -> Integers:
        """The sums, from the model's answers for rows."""

    @abstractmethod
    def value(self, totals: Floats) -> float:
        """The metric, from noised sums."""

    @abstractmethod
    def error(self, totals: Floats, deviation: float) -> float:
        """The standard deviation of `value`, to first order, if each sum has noise of this deviation."""

    def expected_error(self, rows: float, deviation: float) -> float:
        """`error` for this many rows, spread evenly over the sums."""
        return self.error(np.full(self.size, rows * self.steps / self.size), deviation)

    @abstractmethod
    def bounds(self, totals: Floats, width: float) -> tuple[float, float]:
        """The least and largest `value` while each sum stays within this half-width."""

    @abstractmethod
    def sampling(self, totals: Floats) -> float:
        """A bound on the standard deviation of `value` over samples of rows, to first order."""

    def score(self, value: float) -> float:
        """What a search maximises."""
        return value if self.is_better_if_larger else -value

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Share(Metric):
    """A mean of numbers between 0 and `largest`: the sums are those of k and of steps - k."""

    @property
    def largest(self) -> float:
        """The largest value that a row can have."""
        return 1.0

    def _sums(self, parts: Any, counts: Integers) -> Integers:
        """The sums, from each row's part of `steps`; what is not a number counts as the worst possible."""
        worst = 0.0 if self.is_better_if_larger else 1.0
        clean = np.clip(np.where(np.isfinite(parts), parts, worst), 0.0, 1.0)
        total = int(np.rint(clean * self.steps).astype(np.int64) @ counts)
        return np.array([total, self.steps * int(counts.sum()) - total], np.int64)

    def _share(self, totals: Floats) -> tuple[float, float]:
        """The mean part, and the number of rows times `steps`."""
        weight = max(float(totals.sum()), float(self.steps))
        return min(max(float(totals[0]) / weight, 0.0), 1.0), weight

    def value(self, totals: Floats) -> float:
        return self._share(totals)[0] * self.largest

    def error(self, totals: Floats, deviation: float) -> float:
        share, weight = self._share(totals)
        return self.largest * deviation * math.hypot(share, 1 - share) / weight

    def bounds(self, totals: Floats, width: float) -> tuple[float, float]:
        # the quotient falls with the second sum and rises with the first
        ends = (self.value(totals + np.array([sign, -sign]) * width) for sign in (-1, 1))
        return tuple(ends)  # type: ignore[return-value]

    def sampling(self, totals: Floats) -> float:
        # numbers in [0, 1] with mean m have variance at most m(1 - m) (Bhatia & Davis 2000)
        share, weight = self._share(totals)
        rows = weight / self.steps
        share = (share * rows + 1) / (rows + 2)  # one more row of each kind: never certain
        return self.largest * math.sqrt(share * (1 - share) / rows)


@final
class Accuracy(_Share):
    """The share of rows whose class is predicted correctly.

    The sums are the numbers of rows predicted right and wrong: one person moves one of them by 1.

    >>> from discreet.models.metrics import Accuracy
    >>> Accuracy().is_better_if_larger, Accuracy().steps  # a row is right or wrong: one step
    (True, 1)
    """

    target = "class"
    is_better_if_larger = True
    steps = 1

    def sums(self, model: Any, found: Any, target: Any, counts: Integers) -> Integers:
        right = found.astype(object) == target.astype(object)
        return self._sums(right.astype(np.float64), counts)


@final
class LogLoss(_Share):
    """The mean of -log p, p the probability given to a row's class, but at least `floor`.

    >>> from discreet.models.metrics import LogLoss
    >>> round(LogLoss(floor=0.01).largest, 2)  # of one row
    4.61

    Parameters
    ----------
    floor : float
        Public; a row costs -log(floor) at most.
    """

    target = "class"
    is_better_if_larger = False
    steps = LOSS_STEPS

    def __init__(self, floor: float = 0.001) -> None:
        if not 0 < floor < 1:
            raise ValueError(f"floor must be between 0 and 1, got {floor!r}.")
        self.floor = float(floor)

    @property
    def largest(self) -> float:
        return -math.log(self.floor)

    def bound(self, model: Any, schema: Schema, target: str) -> Metric:
        _needs_probabilities(self, model)
        return super().bound(model, schema, target)

    def ask(self, model: Any, X: Any) -> npt.NDArray[Any]:
        return np.asarray(model.predict_proba(X), np.float64)

    def answers(self, model: Any) -> tuple[int, ...]:
        return (len(model.classes_),)

    def sums(self, model: Any, found: Any, target: Any, counts: Integers) -> Integers:
        given = found[np.arange(len(found)), _places(model.classes_, target)]
        with np.errstate(all="ignore"):
            return self._sums(-np.log(np.maximum(given, self.floor)) / self.largest, counts)

    def __repr__(self) -> str:
        return f"LogLoss({self.floor!r})"


class _Distance(_Share):
    """The mean of a power of the distance between prediction and target."""

    target = "number"
    is_better_if_larger = False
    steps = LOSS_STEPS
    power: ClassVar[int]

    def __init__(self, column: Numeric | None = None) -> None:
        self.column = column

    @property
    def largest(self) -> float:
        assert self.column is not None
        return float(self.column.width**self.power)

    def bound(self, model: Any, schema: Schema, target: str) -> Metric:
        super().bound(model, schema, target)
        column = schema[target]
        assert isinstance(column, Numeric)
        check_size(target, column)
        return type(self)(column)

    def sums(self, model: Any, found: Any, target: Any, counts: Integers) -> Integers:
        assert self.column is not None
        lower, upper = float(self.column.lower), float(self.column.upper)
        found = np.clip(found.astype(np.float64), lower, upper)
        if upper == lower:
            return self._sums(np.zeros(len(found)), counts)
        return self._sums((np.abs(found - target) / (upper - lower)) ** self.power, counts)


@final
class MeanSquaredError(_Distance):
    """The mean of (prediction - target)²; predictions are clamped to the target's bounds.

    >>> from discreet.models.metrics import METRICS, MeanSquaredError
    >>> METRICS["mean_squared_error"] is MeanSquaredError
    True
    """

    power = 2


@final
class MeanAbsoluteError(_Distance):
    """The mean of |prediction - target|; predictions are clamped to the target's bounds.

    >>> from discreet.models.metrics import METRICS, MeanAbsoluteError
    >>> METRICS["mean_absolute_error"] is MeanAbsoluteError
    True
    """

    power = 1


@final
class AUC(Metric):
    """The area under the ROC curve of two classes: true against false positives.

    Two histograms of the probability of the second class (in the order of ``classes_``), one of each
    class's rows; the area is computed from them. Rows in one bin count as ties.

    >>> import numpy as np
    >>> from discreet.models.metrics import AUC
    >>> AUC(bins=2).value(np.array([9.0, 1.0, 2.0, 8.0]))  # two classes, two bins each
    0.85

    Parameters
    ----------
    bins : int
        Public; of equal width.
    """

    target = "class"
    is_better_if_larger = True
    steps = 1

    def __init__(self, bins: int = 32) -> None:
        if isinstance(bins, bool) or not isinstance(bins, int) or not 2 <= bins <= 4096:
            raise ValueError(f"bins must be a whole number from 2 to 4096, got {bins!r}.")
        self.bins = bins
        self.size = 2 * bins

    def bound(self, model: Any, schema: Schema, target: str) -> Metric:
        _needs_probabilities(self, model)
        super().bound(model, schema, target)
        if len(schema.labels(target)) != 2 or len(getattr(model, "classes_", "ab")) != 2:
            raise ValueError("metric: AUC needs a target, and a model, with two classes.")
        return self

    def ask(self, model: Any, X: Any) -> npt.NDArray[Any]:
        found = np.asarray(model.predict_proba(X), np.float64)
        return found[:, -1] if found.ndim == 2 and found.shape[1] <= 2 else found

    def sums(self, model: Any, found: Any, target: Any, counts: Integers) -> Integers:
        shares = np.clip(np.where(np.isfinite(found), found, 0.0), 0.0, 1.0)
        place = np.minimum((shares * self.bins).astype(np.int64), self.bins - 1)
        at = np.minimum(_places(model.classes_, target), 1) * self.bins + place
        totals = np.zeros(self.size, np.int64)
        np.add.at(totals, at, counts)
        return totals

    def _halves(self, totals: Floats) -> tuple[Floats, Floats, float, float]:
        """Shares of the bins in each class, and the numbers of rows."""
        parts = np.maximum(totals.reshape(2, self.bins), 0.0)
        rows = np.maximum(parts.sum(axis=1), 1.0)
        parts = np.where(parts.sum(axis=1, keepdims=True) > 0, parts, 1.0 / self.bins)
        shares = parts / parts.sum(axis=1, keepdims=True)
        return shares[0], shares[1], float(rows[0]), float(rows[1])

    def value(self, totals: Floats) -> float:
        below, above, _, _ = self._halves(totals)
        return float(above @ (np.cumsum(below) - below / 2))

    def _slopes(self, totals: Floats) -> tuple[Floats, Floats]:
        below, above, first, second = self._halves(totals)
        area = self.value(totals)
        up = np.cumsum(below) - below / 2 - area
        down = above[::-1].cumsum()[::-1] - above / 2 - area
        return down / first, up / second

    def error(self, totals: Floats, deviation: float) -> float:
        return deviation * math.sqrt(sum(float((s**2).sum()) for s in self._slopes(totals)))

    def bounds(self, totals: Floats, width: float) -> tuple[float, float]:
        # the area is bilinear in both distributions, and |p/P - p'/P'| <= 2|p - p'|/P in L1
        _, _, first, second = self._halves(totals)
        far = self.bins * width * (1 / first + 1 / second)
        area = self.value(totals)
        return max(0.0, area - far), min(1.0, area + far)

    def sampling(self, totals: Floats) -> float:
        # Var <= A(1 - A)/min(rows of a class) (van Dantzig 1951; Birnbaum & Klose 1957)
        _, _, first, second = self._halves(totals)
        fewest = min(first, second)
        area = min(max(self.value(totals), 1 / (1 + fewest)), fewest / (1 + fewest))
        return math.sqrt(area * (1 - area) / fewest)

    def __repr__(self) -> str:
        return f"AUC({self.bins})"


def find_positive(positive: Any, model: Any, schema: Schema, target: str) -> Any:
    """The class that is called positive: the one that was given, or of two classes the model's last."""
    classes = np.asarray(getattr(model, "classes_", schema.labels(target))).tolist()
    if positive is None:
        if len(classes) != 2:
            raise ValueError(
                f"positive must be given: the model has {len(classes)} classes, and one of them is asked "
                "about."
            )
        positive = classes[-1]
    if positive not in classes or positive not in schema.labels(target):
        raise ValueError("positive must be one of the classes of the target and of the model.")
    return positive


def _needs_probabilities(metric: Metric, model: Any) -> None:
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"metric: {type(metric).__name__} needs probabilities, which {type(model).__name__} does not "
            "give: use 'accuracy'."
        )


def _places(classes: Any, target: Any) -> Integers:
    """The position of each row's class among a model's classes; that of the last if it has none."""
    places = {label: place for place, label in enumerate(np.asarray(classes).tolist())}
    return np.array([places.get(label, len(places) - 1) for label in target], np.int64)
