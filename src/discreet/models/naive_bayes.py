"""Naive Bayes from one noised vector of counts, sums, squares and histograms per class.

>>> import discreet as dp; schema = dp.Schema(age=dp.Integer(0, 90), ill=dp.Categorical("no", "yes"))
>>> isinstance(model := MixedNB(epsilon=2, schema=schema), NaiveBayes), model.plan().measure
(True, PureDP(epsilon=2))
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from discreet.columns import Base, Categorical, Integer, Logarithmic, Numeric, Real
from discreet.dataset import PrivateDataset
from discreet.models import learned, posterior
from discreet.models.base import PrivateEstimator
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.targets import PrivateClassifier
from discreet.queries import Marginals, MarginalsValue
from discreet.rational import non_negative, probability

Floats = npt.NDArray[np.float64]


class NaiveBayes(ClassifierMixin, PrivateEstimator):
    """What naive Bayes classifiers share: one noised vector, and class scores from it.

    Numeric columns are normal within a class, countable ones have a probability for each value.

    Parameters
    ----------
    alpha : number, added to the count of every value
    correlation : number from 0 to 1
        How far any two columns are expected to say the same of a row's class; public. The log-likelihoods
        of m columns that tell classes apart equally well are divided by 1 + correlation·(m - 1). With 0
        all count in full, as in scikit-learn.
    """

    _target = "class"
    _log_scaling = True
    _claims = ("naive-bayes",)
    _learned = learned.attributes(
        class_count_=learned.Array("classes"),
        class_prior_=learned.Array("classes"),
        evidence_weight_=learned.IfSet(learned.Number()),
        theta_=learned.IfSet(learned.Array("classes", "numbers")),
        var_=learned.IfSet(learned.Array("classes", "numbers")),
        category_count_=learned.IfSet(
            learned.Each(learned.Array("classes", "values"), "counted", fresh=("values",))
        ),
        feature_log_prob_=learned.IfSet(
            learned.Each(learned.Array("classes", "values"), "counted", fresh=("values",))
        ),
    )

    #: Added to every count of a cell.
    alpha: Any = 0.1
    correlation: Any = 0.3

    @abstractmethod
    def _numeric_places(self, columns: Sequence[Base]) -> list[int]:
        """Which features are numbers to average; the others are counted."""

    def _query(self, facts: Facts) -> Marginals:
        numeric = set(self._numeric_places(facts.columns))
        tallied = [
            name
            for place, (name, column) in enumerate(zip(facts.features, facts.columns, strict=True))
            if place not in numeric and isinstance(column, Integer)
        ]
        assert facts.target is not None
        return Marginals(*facts.features, by=facts.target, tallied=tallied)

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        query = self._query(facts)
        non_negative(self.alpha, "alpha")
        probability(self.correlation, "correlation")
        asked = facts.ask(query, self._measure())
        noise: dict[str, Any] = {}
        if rows is not None:
            error: MarginalsValue = asked.expected_error(rows)
            each = max(1.0, rows / len(facts.labels))
            if error.count is not None:
                noise["class_count_"] = error.count
                half = np.array([c.width / 2 for _, c in query.numeric(facts.schema)])
                noise["theta_"] = error.sums / each * half
            if error.cells:
                noise["category_count_"] = [cells[:, 0] for cells in error.cells]
        return FitPlan.from_question(facts, asked, noise)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        facts, query = plan.facts, plan.recipe.query
        release = plan.recipe.release(door)
        order = self._by_class(facts)
        value, error = posterior.order_classes(release, order)
        counts, noise = posterior.join_counts(posterior.list_class_counts(value, error))
        self.class_count_ = posterior.repair_counts(counts, noise)
        self.class_prior_ = posterior.class_prior(self.class_count_, noise)
        columns = [column for _, column in query.numeric(facts.schema)]
        if columns:
            # sums of 1 - u² as they were released: a better count also makes better squares of them
            rest = value.count[:, None] - value.squares
            spread = np.sqrt(np.maximum(error.squares[0] ** 2 - error.count[0] ** 2, 0.0))
            bits = query.bits(facts.schema)
            moments = posterior.class_moments(
                self.class_count_,
                value.sums,
                counts[:, None] - rest,
                (noise, error.sums[0], spread),
                4.0**-bits,
            )
            means, variances = moments
            self._learn_numbers(columns, bits, means, self._share_spread(columns, variances))
        self._learn_cells(value, error)
        shares, apart, blurred = self.class_prior_, [], 0.0
        if columns:
            apart += posterior.normal_divergences(shares, self.theta_, self.var_).tolist()
        if value.cells:
            apart += [posterior.cell_divergence(shares, each) for each in self.feature_log_prob_]
            for cells, spread in zip(self.category_count_, error.cells, strict=True):
                blur = (shares, cells, self.class_count_, float(spread[0, 0]))
                blurred += posterior.blurred_divergence(*blur)
        correlation = float(probability(self.correlation, "correlation"))
        self.evidence_weight_ = posterior.weigh_evidence(np.array(apart), correlation, blurred)

    def _share_spread(self, columns: list[Numeric], variances: Floats) -> Floats:
        """Variances within classes, one for all classes where a column is on a logarithmic scale.

        What differs by a factor between classes is shifted on that scale, its spread isn't. Spreads that
        differ make the largest values a sign of the class with the wider spread, which is often the one
        with the smaller values, such as short calls.
        """
        shared = self.class_prior_ @ variances
        is_log = np.array([isinstance(column, Logarithmic) for column in columns])
        return np.where(is_log, shared, variances)

    def _learn_numbers(
        self, columns: list[Numeric], bits: int, means: Floats, variances: Floats
    ) -> None:
        """Means and variances in the units of the columns."""
        half = np.array([column.width / 2 for column in columns])
        lower = np.array([float(column.lower) for column in columns])
        bias = np.array([0.0 if c.is_exact(bits) else 1 / max(1, c.steps(bits)) for c in columns])
        self.theta_ = np.clip(lower + half * (means + bias + 1.0), lower, lower + 2 * half)
        self.var_ = np.where(half > 0, variances * half**2, 1.0)

    def _learn_cells(self, value: MarginalsValue, error: MarginalsValue) -> None:
        if not value.cells:
            return
        alpha = float(non_negative(self.alpha, "alpha"))
        self.category_count_ = [
            posterior.repair_cells(cells, float(spread[0, 0]), self.class_count_, max(alpha, 1e-10))
            for cells, spread in zip(value.cells, error.cells, strict=True)
        ]
        self.feature_log_prob_ = [
            np.log(cells) - np.log(cells.sum(axis=1, keepdims=True))
            for cells in self.category_count_
        ]

    def _scores(self, X: Any) -> Floats:
        """log P(class) + weight · log P(row | class), up to a constant of the row."""
        rows = self._rows(X)
        numeric = self._numeric_places(rows.columns)
        others = [place for place in range(len(rows.columns)) if place not in set(numeric)]
        scores = np.zeros((rows.length, len(self.classes_)))
        if numeric:
            x = rows.numbers(numeric)
            for c in range(len(self.classes_)):
                constant = 0.5 * np.log(2 * np.pi * self.var_[c]).sum()
                far = ((x - self.theta_[c]) ** 2 / self.var_[c]).sum(axis=1)
                scores[:, c] -= constant + 0.5 * far
        codes = rows.codes(others) if others else np.zeros((rows.length, 0), np.int64)
        for column in range(len(others)):
            table = np.vstack([self.feature_log_prob_[column].T, np.zeros(len(self.classes_))])
            scores += table[codes[:, column]]  # not a declared value: the zeros after the last
        weight = getattr(self, "evidence_weight_", 1.0)  # files of older versions have none
        return np.asarray(np.log(self.class_prior_) + weight * scores)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        scores = self._scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of the classes' probabilities for each row."""
        scores = self._scores(X)
        scores = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))

    def predict_proba(self, X: Any) -> Floats:
        """The classes' probabilities for each row."""
        return np.asarray(np.exp(self.predict_log_proba(X)))


@final
@with_parameters
class GaussianNB(NaiveBayes, PrivateClassifier):
    """Naive Bayes for numbers, each normal within a class.

    Attributes
    ----------
    classes_, class_count_, class_prior_ : arrays over classes
    evidence_weight_ : float, which multiplies the columns' log-likelihoods
    theta_, var_ : arrays of shape (classes, features)
        Mean, and variance of a new row (the noise of the mean included); on a logarithmic scale all
        classes share one variance.
    privacy_ : FitPrivacy

    Privacy
    -------
    One noised vector, by class: (1/2; u, (1 - u²)/2 for each feature), u the feature scaled to [-1, 1].
    Its sensitivity is that of the sums alone, so the squares cost nothing. Class counts, means and
    variances are post-processing by a fixed prior. No rows, one class or a constant column give the
    prior back; NaN counts as the midpoint. Proof page: ``docs/proofs/naive_bayes.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> X, y = np.repeat([[1.0], [9.0]], 500, axis=0), np.repeat([0, 1], 500)
    >>> GaussianNB(epsilon=1, bounds=(0, 10), classes=[0, 1]).fit(X, y).predict([[2.0], [8.0]])
    array([0, 1])
    """

    correlation: Any = 0.3

    _numbers_only = True

    def _query(self, facts: Facts) -> Marginals:
        facts.numeric("GaussianNB")
        return super()._query(facts)

    def _numeric_places(self, columns: Sequence[Base]) -> list[int]:
        return list(range(len(columns)))


@final
@with_parameters
class CategoricalNB(NaiveBayes):
    """Naive Bayes for columns with declared values, each with its probability within a class.

    Parameters
    ----------
    categories : sequence, optional
        The values of every feature, or one sequence of values for each.
    classes : sequence, optional
        The classes. With `categories`, this declares what a `schema` would.

    Attributes
    ----------
    classes_, class_count_, class_prior_, evidence_weight_ : as in `GaussianNB`
    category_count_, feature_log_prob_ : lists of arrays of shape (classes, values), one per feature
    privacy_ : FitPrivacy

    Privacy
    -------
    The histograms of all features by class are one vector with one noise: one person moves one cell
    of each. Class counts are the mean of what the histograms add up to, so they cost nothing. What noise
    hides is as in all rows. Rows without a declared value of a feature have a cell of their own, which
    class counts need; predictions ignore it. Proof page: ``docs/proofs/naive_bayes.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.naive_bayes import CategoricalNB
    >>> X = np.array([["a", "x"], ["b", "y"]] * 200, dtype=object)
    >>> y = np.array([0, 1] * 200)
    >>> model = CategoricalNB(epsilon=2, categories=[["a", "b"], ["x", "y"]], classes=[0, 1]).fit(X, y)
    >>> model.predict(X[:2]).tolist()
    [0, 1]
    """

    categories: Any = None
    classes: Any = None
    alpha: Any = 0.1
    correlation: Any = 0.3

    def _query(self, facts: Facts) -> Marginals:
        for name, column in zip(facts.features, facts.columns, strict=True):
            if isinstance(column, Real) or not isinstance(column, Categorical | Integer):
                raise ValueError(
                    f"CategoricalNB counts declared values: column {name!r} must be dp.Categorical(...) or "
                    f"dp.Integer(lower, upper), not {column!r}. MixedNB takes both kinds."
                )
        return super()._query(facts)

    def _numeric_places(self, columns: Sequence[Base]) -> list[int]:
        return []

    def _declared_width(self) -> int | None:
        return len(self.categories) if _is_nested(self.categories) else None

    def _declared_features(self, names: Sequence[str]) -> Mapping[str, Base] | None:
        if self.categories is None:
            return None
        lists = self.categories if _is_nested(self.categories) else [self.categories] * len(names)
        if len(lists) != len(names):
            raise ValueError(
                f"categories must hold the values of each of the {len(names)} features, or one list of "
                f"values for all; it has {len(lists)} lists."
            )
        return {n: Categorical(*_plain(v)) for n, v in zip(names, lists, strict=True)}

    def _infer_features(
        self, names: Sequence[str], cells: Sequence[npt.NDArray[Any]]
    ) -> Mapping[str, Base]:
        return {name: _infer_values(values) for name, values in zip(names, cells, strict=True)}

    def _undeclared_message(self) -> str:
        return (
            'categories must be declared, as in categories=["no", "yes"] or one list for each feature, or '
            "a schema: they are never taken from private rows. Rows that anyone may see are fitted with "
            "unit=dp.PUBLIC."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


@final
@with_parameters
class MixedNB(NaiveBayes):
    """Naive Bayes for both kinds of column: numbers are normal, declared values have probabilities.

    Parameters
    ----------
    schema : Schema
        Declares features and target, and says of each column which kind it is.

    Attributes
    ----------
    classes_, class_count_, class_prior_, evidence_weight_ : as in `GaussianNB`
    theta_, var_ : arrays of shape (classes, numeric features)
    category_count_, feature_log_prob_ : lists of arrays, one per countable feature
    privacy_ : FitPrivacy

    Privacy
    -------
    One vector with one noise: that of `GaussianNB` for the numbers beside that of `CategoricalNB` for
    the others. Proof page: ``docs/proofs/naive_bayes.md``.
    """

    alpha: Any = 0.1
    correlation: Any = 0.3

    def _numeric_places(self, columns: Sequence[Base]) -> list[int]:
        return [place for place, column in enumerate(columns) if isinstance(column, Numeric)]

    def _infer_features(
        self, names: Sequence[str], cells: Sequence[npt.NDArray[Any]]
    ) -> Mapping[str, Base]:
        found: dict[str, Base] = {}
        for name, values in zip(names, cells, strict=True):
            if any(isinstance(value, str) for value in values.ravel()[:1000].tolist()):
                found[name] = _infer_values(values)
            else:
                found |= super()._infer_features([name], [values])
        return found

    def _undeclared_message(self) -> str:
        return (
            "schema must be declared, as in dp.Schema(age=dp.Real(17, 90), sex=dp.Categorical('F', 'M'), "
            "...): bounds and values are never taken from private rows. Rows that anyone may see are fitted "
            "with unit=dp.PUBLIC."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _is_nested(values: Any) -> bool:
    """Whether there is one list of values for each feature."""
    return values is not None and any(np.ndim(value) == 1 for value in values)


def _plain(values: Any) -> list[Any]:
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _infer_values(values: npt.NDArray[Any]) -> Categorical:
    """The values of a column of *public* rows."""
    cells = values.tolist()
    if any(isinstance(cell, str) for cell in cells):
        return Categorical(*sorted({cell for cell in cells if isinstance(cell, str)}))
    finite = {float(cell) for cell in cells if cell is not None and np.isfinite(float(cell))}
    return Categorical(*sorted(finite)) if finite else Categorical(0)
