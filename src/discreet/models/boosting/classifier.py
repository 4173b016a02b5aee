"""Additive boosting of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.models.boosting.estimator import AdditiveBoosting, Floats
from discreet.models.boosting.learning import LAG, Start, whole_steps
from discreet.models.boosting.starts import CLASS_CLIP, class_start
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.targets import PrivateClassifier
from discreet.queries import Cells, ClassResiduals, Count
from discreet.queries.residuals import CENTRE, REACH
from discreet.release import Release


@final
@with_parameters
class AdditiveBoostingClassifier(AdditiveBoosting, PrivateClassifier):
    """A classifier that adds up one shape function per column, learned from noised sums of residuals.

    A row's score for a class is the sum of what its cells add; with more than two classes, exponentials of
    their scores are shares of a whole. The shapes start from noised counts of the classes in the cells of
    every column, and are then corrected for some rounds, one small group of columns after the other: noised
    sums of residuals in the cells of a group say where its shapes should be. The idea is that of DP-EBM (Nori
    et al. 2021); here residuals are clipped at 1/2, shapes are posterior means given all the noise,
    neighbouring cells differ by little, and later rounds, which know more, get more of the budget.

    Attributes
    ----------
    classes_ : array
    intercept_ : array of shape (outputs,)
        One output for two classes, the score of the second; else one for each class.
    term_names_ : list of str
        Columns with more than one cell, then pairs.
    pairs_ : list of Pair
        Two columns each, and the parts of their cells.
    cuts_ : dict
        The cut points between the cells of each column; None for categories.
    term_scores_, term_errors_ : lists of arrays of shape (cells, outputs)
        What each cell adds to the score, and the approximate standard deviation of its noise.
    term_counts_ : list of arrays of shape (cells,)
        Noised numbers of rows, at least as large as their noise.
    privacy_ : FitPrivacy

    Privacy
    -------
    One charge for a joint vector of all columns, and in each of `rounds` rounds one for each group of columns
    (with pairs four more), whose number and noise are fixed in advance. With d columns a row moves the first
    by d in L1 and √d in L2, and the groups of a round together by half of that, times the number of outputs,
    3 at most (its root in L2); replace-one: about twice as far. Event: `DiscreteLaplace`, or `Gaussian` with
    a δ. No rows, one class, constant columns and NaN (the fill) are not special cases; a value that isn't
    declared adds nothing, neither to a fit's counts of its column nor to predictions.
    Proof page: ``docs/proofs/boosting.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.boosting import AdditiveBoostingClassifier
    >>> draw = np.random.default_rng(0)
    >>> X = draw.random((2000, 2))
    >>> y = (X[:, 0] + 0.2 * X[:, 1] > 0.6).astype(int)
    >>> model = AdditiveBoostingClassifier(epsilon=1, delta=1e-6, bounds=(0, 1), classes=[0, 1])
    >>> bool(model.fit(X, y).score(X, y) > 0.85)
    True
    """

    _lag = LAG

    def _places(self, facts: Facts) -> list[int]:
        """The classes that have a score, as positions among the target's values."""
        labels = list(facts.labels)
        order = [labels.index(label) for label in sorted(labels)]
        return order[-1:] if len(order) <= 2 else order

    def _outputs(self, facts: Facts) -> int:
        return len(self._places(facts))

    def _default_clip(self) -> float:
        return CLASS_CLIP

    def _shape(self, facts: Facts) -> tuple[int, ...]:
        return (len(facts.labels),)

    def _counts(self, answer: Floats) -> Floats:
        return np.asarray(answer.sum(axis=1))

    def _count_error(self, noise: Floats) -> float:
        return float(np.sqrt(np.square(noise).sum()))

    def _first_query(self, by: str | None, facts: Facts) -> Count:
        assert facts.target is not None
        return Count(by=facts.target if by is None else (by, facts.target))

    def _residuals(
        self, values: dict[str, Floats], intercept: Floats, clip: float, cells: Cells, facts: Facts
    ) -> tuple[ClassResiduals, float]:
        assert facts.target is not None
        step, places, by = REACH / CENTRE, self._places(facts), next(iter(values))
        steps = {name: whole_steps(value / step) for name, value in values.items()}
        scores = [
            {name: value[:, k].tolist() for name, value in steps.items()}
            for k in range(len(places))
        ]
        offsets = whole_steps(intercept / step).tolist()
        target = facts.target
        query = ClassResiduals(target, by, scores, offsets, classes=places, cells=cells)
        return query, clip

    def _start(
        self,
        answers: list[Floats],
        cells: list[Floats],
        errors: Floats,
        target: Release | None,
        is_ordered: list[bool],
        facts: Facts,
    ) -> Start:
        return class_start(answers, cells, float(errors.max()), self._places(facts), is_ordered)

    def _expected_noise(self, residual: float, rows: int) -> float:
        return residual / max(rows / 20 * 0.25, 1.0)

    def _export(self) -> dict[str, Any]:
        return {"classes": self.classes_.tolist()}

    def _import(self, data: Mapping[str, Any]) -> None:
        self.classes_ = np.array(data["classes"])

    def _output_names(self) -> list[str]:
        return [str(label) for label in (self.classes_ if len(self.classes_) > 2 else [""])]

    def _score_name(self) -> str:
        what = "of the class" if len(self.classes_) > 2 else f"of {self.classes_[-1]}"
        return f"added to the score {what}"

    def decision_function(self, X: Any) -> Floats:
        """The score of each row, or of each row and class where there are more than two."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) <= 2 else scores

    def predict_proba(self, X: Any) -> Floats:
        """The classes' probabilities for each row."""
        scores = self._scores(X)
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        if len(self.classes_) == 2:
            shares = calibrate(scores)
            return np.column_stack([1 - shares[:, 0], shares[:, 0]])
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of the classes' probabilities for each row."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        scores = self._scores(X)
        if len(self.classes_) == 1:
            chosen = np.zeros(len(scores), np.int64)
        elif len(self.classes_) == 2:
            chosen = (scores[:, 0] > 0).astype(np.int64)
        else:
            chosen = scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])


def calibrate(scores: Floats) -> Floats:
    """The probability at which clipped residuals add up to 0.

    With q = 1/(1 + exp(-score)), a share p of rows with min(1 - q, 1/2) left over and a share 1 - p with
    -min(q, 1/2) balance at p = min(q, 1/2)/(min(q, 1/2) + min(1 - q, 1/2)).
    """
    scores = np.clip(scores, -30, 30)
    q = 1 / (1 + np.exp(-scores))
    above, below = np.minimum(q, 0.5), np.minimum(1 / (1 + np.exp(scores)), 0.5)
    return np.asarray(above / (above + below))
