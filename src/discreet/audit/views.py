"""Ways of looking at outputs: each learns, from some runs, a score that tells two inputs apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.samples import Sample

__all__ = ["View", "views_for"]

Floats = npt.NDArray[np.float64]

#: Added to counts of values, so that unseen ones don't decide.
_SMOOTHING = 0.5
#: Outputs with up to so many numbers are looked at number by number, and by a forest.
_FEW = 16
_MOST_FOR_FOREST = 40
_MOST_FOR_LINEAR = 2_000
#: Classifiers are trained on at least so many runs.
_LEAST_FOR_LINEAR, _LEAST_FOR_FOREST = 100, 1000


class View(ABC):
    """A score on outputs, larger where the first input is likelier; learnt from runs it may forget."""

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


class _Table(View):
    """Log-ratios of how often each of many discrete values was seen."""

    def __init__(
        self,
        name: str,
        read: Callable[[Sample], npt.NDArray[Any]],
        show: Callable[[Sample], npt.NDArray[Any]] | None = None,
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
        self._shown = np.concatenate([self._show(here), self._show(there)])[first]
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
        else_ = f", not {_listed(rest)}" if 0 < len(rest) <= 3 else ""
        return f"its {self.name} is {_listed(chosen)}{else_}"


def _listed(values: npt.NDArray[Any]) -> str:
    shown = " or ".join(_brief(value) for value in values[:3])
    return shown + (f" or one of {len(values) - 3} more" if len(values) > 3 else "")


def _brief(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass
class _Number(View):
    """One of the numbers as it is, or their sum."""

    name: str
    read: Callable[[Floats], Floats]

    def learn(self, here: Sample, there: Sample) -> None:
        """Nothing to learn."""

    def score(self, sample: Sample) -> Floats:
        assert sample.numbers is not None
        return np.nan_to_num(self.read(sample.numbers), nan=-np.inf, posinf=np.inf, neginf=-np.inf)

    def words(self, at: float, above: bool) -> str:
        return f"{self.name} is {'>=' if above else '<'} {at:.6g}"


class _Likelihood(View):
    """The sum over numbers of log-ratios of binned densities: right where they are independent."""

    name = "likelihood ratio"

    def __init__(self) -> None:
        self._edges: list[Floats] = []
        self._ratios: list[Floats] = []

    def learn(self, here: Sample, there: Sample) -> None:
        assert here.numbers is not None
        assert there.numbers is not None
        bins = int(np.clip(np.sqrt(len(here)) / 2, 4, 128))
        self._edges, self._ratios = [], []
        for a, b in zip(here.numbers.T, there.numbers.T, strict=True):
            edges = np.unique(_quantiles(np.concatenate([a, b]), bins))
            counts = [
                np.bincount(np.searchsorted(edges, side, "right"), minlength=len(edges) + 1)
                for side in (a, b)
            ]
            smoothed = [(c + _SMOOTHING) / (c.sum() + _SMOOTHING * len(c)) for c in counts]
            ratio = np.log(smoothed[0] / smoothed[1])
            informed = np.ptp(ratio) > 0
            self._edges.append(edges)
            self._ratios.append(ratio if informed else np.zeros_like(ratio))

    def score(self, sample: Sample) -> Floats:
        assert sample.numbers is not None
        total = np.zeros(len(sample))
        for column, edges, ratio in zip(sample.numbers.T, self._edges, self._ratios, strict=True):
            total += ratio[np.searchsorted(edges, column, "right")]
        return total


def _quantiles(values: Floats, bins: int) -> Floats:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.zeros(1)
    return np.asarray(np.quantile(finite, np.linspace(0, 1, bins + 1)[1:-1], method="lower"))


class _Classifier(View):
    """The log-odds of a classifier from scikit-learn that was trained to tell the inputs apart."""

    def __init__(self, name: str, build: Callable[[], Any], most: int) -> None:
        self.name, self._build, self._most = name, build, most
        self._model: Any = None

    def learn(self, here: Sample, there: Sample) -> None:
        assert here.numbers is not None
        assert there.numbers is not None
        most = self._most
        rows = _tame(np.concatenate([here.numbers[:most], there.numbers[:most]]))
        sides = np.repeat([1, 0], [len(here.numbers[:most]), len(there.numbers[:most])])
        with _one_thread():
            self._model = self._build().fit(rows, sides)

    def score(self, sample: Sample) -> Floats:
        assert sample.numbers is not None
        with _one_thread():
            return np.asarray(self._model.decision_function(_tame(sample.numbers)), np.float64)


def _one_thread() -> Any:
    """Small fits are slower with threads, by a hundred times on a busy machine."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)


def _tame(rows: Floats) -> Floats:
    """Infinities and NaN as large numbers, and no number too large for a classifier."""
    return np.clip(np.nan_to_num(rows, nan=1e30, posinf=1e30, neginf=-1e30), -1e30, 1e30)


def _linear() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import RobustScaler

    return make_pipeline(RobustScaler(), LogisticRegression(C=1.0, max_iter=200, tol=1e-3))


def _forest() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=15, early_stopping=False, random_state=0
    )


def low_bits(values: Floats) -> npt.NDArray[np.int64]:
    """For each double its exponent and the place of its lowest bit that is set, as one number.

    Which doubles can be reached depends on the input of textbook noise (Mironov 2012).
    """
    mantissa, exponent = np.frexp(np.abs(values))
    finite = np.isfinite(values) & (values != 0)
    words = np.where(finite, np.ldexp(np.where(finite, mantissa, 0.5), 53), 1.0).astype(np.int64)
    lowest = (words & -words).astype(np.float64)
    place = exponent.astype(np.int64) - 53 + np.log2(lowest).astype(np.int64)
    code = (exponent.astype(np.int64) + 2000) * 10_000 + place + 5000
    return np.where(finite, code, -1)


def low_bits_in_words(values: Floats) -> npt.NDArray[np.str_]:
    """The same for a reader."""
    code = low_bits(values)
    exponent, place = code // 10_000 - 2000, code % 10_000 - 5000
    words = [
        f"below 2^{e} with lowest bit 2^{p}" if c >= 0 else "zero or not finite"
        for c, e, p in zip(code.tolist(), exponent.tolist(), place.tolist(), strict=True)
    ]
    return np.array(words)


@dataclass
class Scored(View):
    """A score given by the auditor's user, on whole outputs."""

    function: Callable[[Floats], Any]
    name: str = "given score"

    def learn(self, here: Sample, there: Sample) -> None:
        """Nothing to learn."""

    def score(self, sample: Sample) -> Floats:
        assert sample.numbers is not None
        return np.asarray(self.function(sample.numbers), np.float64).reshape(len(sample))


def views_for(here: Sample, there: Sample, quick: bool = False) -> list[View]:
    """The ways of looking that fit these outputs; without trained classifiers if `quick`."""
    if here.numbers is None or there.numbers is None:
        return [
            _Table("form", lambda sample: _text(sample.kinds)),
            _Table("output", lambda sample: _text(sample.wholes)),
        ]
    width = here.numbers.shape[1]
    if width == 0:
        return [_Number("the empty output", lambda rows: np.zeros(len(rows)))]
    views: list[View] = [_Likelihood()]
    few = min(width, _FEW)
    for index in range(few):
        name = "the output" if width == 1 else f"number {index} of the output"
        views.append(_Number(name, lambda rows, index=index: rows[:, index]))  # type: ignore[misc]
    if width > 1:
        views.append(_Number("the sum of the output", lambda rows: rows.sum(axis=1)))
        views.append(_Number("the spread of the output", lambda rows: np.ptp(rows, axis=1)))
    if _comes_again(here.numbers, there.numbers):
        views.append(_Table("value", lambda sample: row_marks(sample.numbers), _matrix))
    if not here.whole_numbers:
        for index in range(min(width, 4)):
            views.append(
                _Table(
                    "size" if width == 1 else f"size of number {index}",
                    lambda sample, index=index: low_bits(_matrix(sample)[:, index]),  # type: ignore[misc]
                    lambda sample, index=index: low_bits_in_words(_matrix(sample)[:, index]),  # type: ignore[misc]
                )
            )
    if quick:
        return views
    if 1 < width <= _MOST_FOR_LINEAR and len(here) >= _LEAST_FOR_LINEAR:
        views.append(_Classifier("linear classifier", _linear, 20_000))
    if 1 < width <= _MOST_FOR_FOREST and len(here) >= _LEAST_FOR_FOREST:
        views.append(_Classifier("boosted trees", _forest, 20_000))
    return views


def _matrix(sample: Sample) -> Floats:
    assert sample.numbers is not None
    return sample.numbers


def _text(values: npt.NDArray[np.str_] | None) -> npt.NDArray[Any]:
    assert values is not None
    return values


def _comes_again(here: Floats, there: Floats) -> bool:
    """Whether some outputs come again, so that a table of them can learn something."""
    rows = np.concatenate([here[:5000], there[:5000]])
    return len(np.unique(row_marks(rows))) < len(rows)


def row_marks(numbers: Floats | None) -> npt.NDArray[np.uint64]:
    """Each row as one whole number that equal rows share; a clash would cost power, not validity."""
    assert numbers is not None
    words = np.ascontiguousarray(numbers + 0.0).view(np.uint64)  # -0.0 is 0.0
    mixed = np.zeros(len(words), np.uint64)
    for column in words.T:
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed
