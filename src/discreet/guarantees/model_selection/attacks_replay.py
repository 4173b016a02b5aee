"""Replaying the public generators after a search, to find out which run won."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin

from discreet.audit.exact import statement
from discreet.audit.results import AuditResult
from discreet.models.erm.fourier import orthogonal_frequencies
from discreet.models.m_estimation import HistogramMEstimator
from discreet.models.model_selection import PrivateSearch
from discreet.models.svm import SVC, SVR

Floats = npt.NDArray[np.float64]

#: Searches of each kind, their mean number of runs, and how many runs are replayed.
SEARCHES, RUNS, REPLAYED = 2, 3, 100
ROWS = np.array([[0.1, 0.2], [0.7, 0.4], [0.3, 0.9], [0.8, 0.6]])
CLASSES, NUMBERS = np.array([0, 1, 0, 1]), np.array([0.1, 0.9, 0.2, 0.7])


class Drawing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that publishes what it drew from the public generators."""

    def __init__(self, draw: Callable[[], Floats] | None = None) -> None:
        self.draw = draw

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Drawing:
        """Draw, and learn nothing."""
        assert self.draw is not None
        self.draws_, self.classes_ = self.draw(), np.array([0, 1])
        return self

    def predict(self, X: Any) -> Any:
        """Class 0."""
        return np.zeros(len(X), np.int64)


@dataclass(frozen=True)
class Replay:
    """A search, what its winner publishes of its draws, and how anyone can repeat them."""

    title: str
    search: PrivateSearch
    published: Callable[[Any], Floats]
    copied: Callable[[], Any]
    draw: Callable[[Any], Floats]

    def number_winner(self, target: Any) -> int | None:
        """Copy the public generator, search, and look for the run that drew what was published."""
        public = self.copied()
        told = self.published(self.search.fit(ROWS, target).best_estimator_)
        return next((k for k in range(REPLAYED) if np.array_equal(self.draw(public), told)), None)

    def result(self) -> AuditResult:
        """Check that the number of no winning run can be found."""
        target = CLASSES if self.search._target == "class" else NUMBERS
        found = [self.number_winner(target) for _ in range(SEARCHES)]
        numbers = [str(at) for at in found if at is not None]
        words = "no winner could be numbered"
        if numbers:
            words = f"winners were numbered {', '.join(numbers)} by replaying their draws"
        return statement(self.title, "which run won stays secret", not numbers, words)


def copied_numpy() -> np.random.RandomState:
    """A copy of numpy's generator of the whole process."""
    copied = np.random.RandomState()
    copied.set_state(np.random.get_state())
    return copied


def copied_python() -> random.Random:
    """A copy of Python's generator of the whole process."""
    copied = random.Random()
    copied.setstate(random.getstate())
    return copied


def replays() -> Iterator[Replay]:
    """Searches whose winners publish draws: random features, and any model that shows what it drew."""
    kernel: dict[str, Any] = {"bounds": (0, 1), "n_components": 2, "gamma": 1}
    for model in (SVC(classes=[0, 1], **kernel), SVR(target_bounds=(0, 1), **kernel)):
        yield Replay(
            f"frequencies of {type(model).__name__}, replayed",
            PrivateSearch(model, {"alpha": [1, 100]}, runs=RUNS),
            lambda winner: np.asarray(winner.frequencies_),
            copied_numpy,
            lambda public: orthogonal_frequencies(2, 2, 1.0, public),
        )
    shared, plain = np.random.default_rng(1), random.Random(1)
    sources: dict[str, tuple[Any, Callable[[], Any], Callable[[Any], Floats]]] = {
        "numpy's generator": (np.random, copied_numpy, lambda g: g.standard_normal(3)),
        "Python's generator": (random, copied_python, lambda g: np.array([g.gauss(0, 1)])),
        "numpy's, shared by runs": (shared, lambda: deepcopy(shared), lambda g: g.normal(size=3)),
        "Python's, shared by runs": (
            plain,
            lambda: deepcopy(plain),
            lambda g: np.array([g.gauss(0, 1)]),
        ),
    }
    for name, (source, copied, draw) in sources.items():
        inner = Drawing(lambda draw=draw, source=source: draw(source))  # type: ignore[misc]
        model = HistogramMEstimator(inner, bins=2, bounds=(0, 1), classes=[0, 1])
        yield Replay(
            f"draws of {name}, replayed",
            PrivateSearch(model, {"bins": [1, 2]}, runs=RUNS),
            lambda winner: np.asarray(winner.estimator_.draws_),
            copied,
            draw,
        )
