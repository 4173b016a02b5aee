"""Scores on outputs that are learnt from some runs to tell two inputs apart."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.samples import Reader, Sample, block_marks

__all__ = [
    "MIN_RUNS",
    "Classifier",
    "Given",
    "Likelihood",
    "Medians",
    "NumberView",
    "Patterns",
    "Table",
    "View",
    "build_forest",
    "build_linear",
    "find_words",
    "tame",
]

Floats = npt.NDArray[np.float64]

#: Added to counts of values, so that unseen ones don't decide.
_SMOOTHING = 0.5
#: Medians of numbers that are this many times as far apart as chance puts them are moved by the input.
_APART = 3.0
#: Scores on numbers need a few runs.
MIN_RUNS = 10
#: A value that a number takes in this share of all runs is a word.
_OFTEN = 0.05
#: How many patterns of words are told apart.
_MAX_PATTERNS = 200


class View(ABC):
    """A score on outputs, larger where the first input is likelier; learnt from runs that it may forget."""

    #: How the result names it.
    name: str

    @abstractmethod
    def learn(self, here: Sample, there: Sample) -> None:
        """Learn from runs on the first and the second input."""

    @abstractmethod
    def score(self, sample: Sample) -> Floats:
        """The score of each run."""

    def words(self, at: float, above: bool) -> str:
        """The event "score at least (or below) `at`" in words."""
        sign = ">=" if above else "<"
        return f"the score of its {self.name} is {sign} {at:.6g}"


class Table(View):
    """Log-ratios of how often each of many discrete values was seen."""

    def __init__(
        self,
        name: str,
        read: Callable[[Sample], npt.NDArray[Any]],
        show: Callable[[Sample], Any] | None = None,
    ) -> None:
        self.name, self._read, self._show = name, read, show or read
        self._values: npt.NDArray[Any] = np.array([])
        self._shown: npt.NDArray[Any] = np.array([])
        self._scores: Floats = np.array([])

    def learn(self, here: Sample, there: Sample) -> None:
        a, b = self._read(here), self._read(there)
        self._values, first, where = np.unique(
            np.concatenate([a, b]), return_index=True, return_inverse=True
        )
        inside = first < len(a)
        shown = np.empty(len(first), dtype=object)
        shown[inside] = self._show(here)[first[inside]]
        shown[~inside] = self._show(there)[first[~inside] - len(a)]
        self._shown = shown
        counts = np.array(
            [
                np.bincount(side, minlength=len(self._values))
                for side in (where[: len(a)], where[len(a) :])
            ]
        )
        smoothed = (counts + _SMOOTHING) / np.array([[len(a)], [len(b)]])
        self._scores = np.log(smoothed[0] / smoothed[1])

    def score(self, sample: Sample) -> Floats:
        seen = self._read(sample)
        if not len(self._values):
            return np.zeros(len(seen))
        at = np.minimum(np.searchsorted(self._values, seen), len(self._values) - 1)
        return np.where(self._values[at] == seen, self._scores[at], 0.0)

    def words(self, at: float, above: bool) -> str:
        inside = self._scores >= at if above else self._scores < at
        chosen, rest = self._shown[inside], self._shown[~inside]
        if not len(chosen):
            return f"its {self.name} is new"
        else_ = f", not {_list_values(rest)}" if 0 < len(rest) <= 3 else ""
        return f"its {self.name} is {_list_values(chosen)}{else_}"


def _list_values(values: npt.NDArray[Any]) -> str:
    shown = " or ".join(_brief(value) for value in values[:3])
    return shown + (f" or one of {len(values) - 3} more" if len(values) > 3 else "")


def _brief(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


class NumberView(View):
    """A score on the numbers of outputs that have the usual number of them; others score lowest."""

    def __init__(self, name: str, reader: Reader) -> None:
        self.name, self.reader = name, reader

    def learn(self, here: Sample, there: Sample) -> None:
        self._learn(here.numbers(self.reader)[1], there.numbers(self.reader)[1])

    def score(self, sample: Sample) -> Floats:
        where, rows = sample.numbers(self.reader)
        scores = np.full(len(sample), -np.inf)
        if len(rows):
            scores[where] = np.nan_to_num(
                self._score(rows), nan=-np.inf, posinf=np.inf, neginf=-np.inf
            )
        return scores

    def _learn(self, here: Floats, there: Floats) -> None:
        """Learn from rows of numbers; most scores needn't."""

    @abstractmethod
    def _score(self, rows: Floats) -> Floats:
        """The score of each row of numbers."""


class Given(NumberView):
    """A fixed score: one of the numbers, their sum, or what the user gave."""

    def __init__(
        self, name: str, reader: Reader, function: Callable[[Floats], Any], origin: float = 0
    ) -> None:
        super().__init__(name, reader)
        self._function, self._origin = function, origin

    def _score(self, rows: Floats) -> Floats:
        return np.asarray(self._function(rows), np.float64).reshape(len(rows))

    def words(self, at: float, above: bool) -> str:
        sign = ">=" if above else "<"
        if abs(self._origin) > 2**53:
            return f"{self.name} is {sign} {at:.6g} beyond {_brief(self._origin)}"
        return f"{self.name} is {sign} {at + self._origin:.6g}"


class Likelihood(NumberView):
    """The sum over numbers of log-ratios of binned densities: right where they are independent."""

    _edges: list[Floats]
    _ratios: list[Floats]

    def _learn(self, here: Floats, there: Floats) -> None:
        bins = int(np.clip(np.sqrt(len(here)) / 2, 4, 128))
        self._edges, self._ratios = [], []
        for a, b in zip(here.T, there.T, strict=True):
            edges = np.unique(_quantiles(np.concatenate([a, b]), bins))
            counts = [
                np.bincount(np.searchsorted(edges, side, "right"), minlength=len(edges) + 1)
                for side in (a, b)
            ]
            smoothed = [(c + _SMOOTHING) / (c.sum() + _SMOOTHING * len(c)) for c in counts]
            self._edges.append(edges)
            self._ratios.append(np.log(smoothed[0] / smoothed[1]))

    def _score(self, rows: Floats) -> Floats:
        total = np.zeros(len(rows))
        for column, edges, ratio in zip(rows.T, self._edges, self._ratios, strict=True):
            total += ratio[np.searchsorted(edges, column, "right")]
        return total


class Patterns(NumberView):
    """Which numbers take one of the few values that come often; and where so, how the others lie.

    Outputs such as "below, below, 3.2, stopped" mix words, written as numbers, with numbers: how likely a
    number is depends on the words beside it.
    """

    _words: list[Floats]
    _known: npt.NDArray[np.uint64]
    _ratios: Floats
    _rest: list[tuple[npt.NDArray[np.intp], Likelihood]]

    def _learn(self, here: Floats, there: Floats) -> None:
        self._words = find_words(np.concatenate([here, there]))
        marks, sides = [self._marks(side) for side in (here, there)], (here, there)
        known, counts = np.unique(np.concatenate(marks), return_counts=True)
        common = np.argsort(-counts, kind="stable")[:_MAX_PATTERNS]
        self._known = np.sort(known[common[counts[common] >= MIN_RUNS]])
        seen = np.array([[(found == mark).sum() for mark in self._known] for found in marks])
        self._ratios = np.log((seen[0] + _SMOOTHING) / (seen[1] + _SMOOTHING))
        self._rest = []
        for mark in self._known:
            rows = [side[found == mark] for side, found in zip(sides, marks, strict=True)]
            words = self._codes(np.concatenate(rows)[:1])[0]
            free = np.flatnonzero(words == 0)
            rest = Likelihood(self.name, self.reader)
            rest._learn(rows[0][:, free], rows[1][:, free])
            self._rest.append((free, rest))

    def _codes(self, rows: Floats) -> npt.NDArray[np.int64]:
        """For each number which frequent value it is, 0 for none."""
        codes = np.zeros(rows.shape, np.int64)
        for column, words in enumerate(self._words):
            for index, word in enumerate(words):
                codes[rows[:, column] == word, column] = index + 1
        return codes

    def _marks(self, rows: Floats) -> npt.NDArray[np.uint64]:
        return block_marks(self._codes(rows))

    def _score(self, rows: Floats) -> Floats:
        marks, scores = self._marks(rows), np.zeros(len(rows))
        for mark, ratio, (free, rest) in zip(self._known, self._ratios, self._rest, strict=True):
            inside = np.flatnonzero(marks == mark)
            scores[inside] = ratio + rest._score(rows[np.ix_(inside, free)])
        return scores


def find_words(rows: Floats) -> list[Floats]:
    """For each number the values that it takes often."""
    found = []
    for column in rows.T:
        values, counts = np.unique(column, return_counts=True)
        found.append(values[counts >= _OFTEN * len(column)])
    return found


class Medians(NumberView):
    """The sum over numbers of where each lies between its two medians, in units of its spread.

    Where noise has a Laplace distribution that is the likelihood ratio itself, and it takes few runs to
    learn; numbers that no input moves hardly count.
    """

    _low: Floats
    _high: Floats
    _weights: Floats

    def _learn(self, here: Floats, there: Floats) -> None:
        here, there = tame(here), tame(there)
        first, second = np.median(here, axis=0), np.median(there, axis=0)
        spread = (np.abs(here - first).mean(axis=0) + np.abs(there - second).mean(axis=0)) / 2
        self._low, self._high = np.minimum(first, second), np.maximum(first, second)
        apart = np.abs(first - second)
        # medians of equal distributions differ, too: by a spread over the root of the number of runs
        counts = apart > _APART * spread / math.sqrt(len(here))
        weights = np.where(spread > 0, np.sign(first - second) / np.where(spread > 0, spread, 1), 0)
        self._weights = weights * (counts if counts.any() else apart > 0)

    def _score(self, rows: Floats) -> Floats:
        return np.asarray(np.clip(tame(rows), self._low, self._high) @ self._weights)


def _quantiles(values: Floats, bins: int) -> Floats:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.zeros(1)
    return np.asarray(np.quantile(finite, np.linspace(0, 1, bins + 1)[1:-1], method="lower"))


class Classifier(NumberView):
    """The log-odds of a classifier from scikit-learn that was trained to tell the inputs apart."""

    def __init__(self, name: str, reader: Reader, build: Callable[[], Any], maximum: int) -> None:
        super().__init__(name, reader)
        self._build, self._maximum = build, maximum
        self._model: Any = None

    def _learn(self, here: Floats, there: Floats) -> None:
        a, b = here[: self._maximum], there[: self._maximum]
        with _limit_threads():
            self._model = self._build().fit(
                tame(np.concatenate([a, b])), np.repeat([1, 0], [len(a), len(b)])
            )

    def _score(self, rows: Floats) -> Floats:
        with _limit_threads():
            return np.asarray(self._model.decision_function(tame(rows)), np.float64)


def _limit_threads() -> Any:
    """Small fits are slower with threads, by a hundred times on a busy machine."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)


def tame(rows: Floats) -> Floats:
    """Infinities and NaN as large numbers, and no number too large for a classifier."""
    return np.clip(np.nan_to_num(rows, nan=1e30, posinf=1e30, neginf=-1e30), -1e30, 1e30)


def build_linear() -> Any:
    """A linear classifier of outputs."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import RobustScaler

    return make_pipeline(RobustScaler(), LogisticRegression(C=1.0, max_iter=200, tol=1e-3))


def build_forest() -> Any:
    """Boosted trees that classify outputs."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=15, early_stopping=False, random_state=0
    )
