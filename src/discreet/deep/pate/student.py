"""A student for few labels and many rows without one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import diags
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.neighbors import kneighbors_graph
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

__all__ = ["SpreadingStudent"]

#: How many times labels are passed on to neighbours.
ROUNDS = 100
#: The support vector machine's penalty, and the width of its kernel, by the number of components.
PENALTY, WIDTH = 2.0, 0.75


class SpreadingStudent(ClassifierMixin, BaseEstimator):
    """A classifier for few labels: rows pass them on to their neighbours, then it learns all of them.

    Labels spread over a graph of nearest neighbours (Zhou, Bousquet, Lal, Weston & Schölkopf 2004) in the
    leading principal components, of which the smaller ones are stretched; a support vector machine with a
    Gaussian kernel learns what every row got. For `PATE` with ``semi_supervised=True``.

    Parameters
    ----------
    components : int
        Principal components, at most.
    neighbours : int
        How many rows each row passes its label on to.
    alpha : float
        In (0, 1): how much of what neighbours say is taken over in each round.

    Attributes
    ----------
    classes_ : array
    transduction_ : array
        The label that each row got in `fit`.

    Privacy
    -------
    None of its own: it sees public rows and labels that were released.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.deep.pate import SpreadingStudent
    >>> X = np.random.default_rng(0).normal([[0, 0]] * 50 + [[9, 9]] * 50)
    >>> y = np.full(100, -1)  # no label, but for two rows
    >>> y[[0, 50]] = 0, 1
    >>> SpreadingStudent().fit(X, y).predict([[1, 1], [8, 9]]).tolist()
    [0, 1]
    """

    def __init__(self, components: int = 60, neighbours: int = 12, alpha: float = 0.9) -> None:
        self.components, self.neighbours, self.alpha = components, neighbours, alpha

    def fit(self, X: Any, y: Any) -> SpreadingStudent:
        """Learn from rows; -1 in `y` stands for no label."""
        rows, labels = np.asarray(X), np.asarray(y)
        self.classes_ = np.unique(labels[labels >= 0])
        count = min(self.components, rows.shape[1], len(rows) - 1)
        with np.errstate(invalid="ignore"):  # rows may all be alike
            self._axes = PCA(count, random_state=0).fit(rows)
        variance = self._axes.explained_variance_
        self._lengths = np.sqrt(np.maximum(variance + np.median(variance), 1e-12))
        points = self._place(rows)
        self.transduction_ = self.classes_[self._spread(points, labels).argmax(axis=1)]
        self._machine = SVC(C=PENALTY, gamma=WIDTH / max(points.var() * count, 1e-12))
        self._machine.fit(points, self.transduction_)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The classes of rows."""
        check_is_fitted(self)
        return np.asarray(self._machine.predict(self._place(np.asarray(X))))

    def _place(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(self._axes.transform(rows) / self._lengths)

    def _spread(self, points: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """How much of each class comes to each row; every class starts with the same amount."""
        graph = kneighbors_graph(points, min(self.neighbours, len(points) - 1), mode="distance")
        near = np.median(graph.data) or 1.0
        graph.data = np.exp(-((graph.data / near) ** 2))
        graph = graph.maximum(graph.T)
        root = diags(1 / np.sqrt(np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1e-12)))
        graph = root @ graph @ root
        start = (labels[:, None] == self.classes_).astype(float)
        start /= start.sum(axis=0)
        found = start
        for _ in range(ROUNDS):
            found = self.alpha * (graph @ found) + (1 - self.alpha) * start
        return np.asarray(found)
