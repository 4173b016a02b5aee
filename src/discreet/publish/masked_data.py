"""Masked data: made-up rows on which a logistic regression gives the private one."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from os import PathLike
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression
from sklearn.utils.validation import check_is_fitted

from discreet.dataset import PrivateDataset
from discreet.measures import Measure, PureDP
from discreet.models import learned
from discreet.models.facts import Facts, Question
from discreet.models.linear_model import LogisticRegression
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.seeds import legacy_generator
from discreet.models.shares import together
from discreet.models.targets import PrivateClassifier
from discreet.publish.declared import ranges_of, shares_of, start_of
from discreet.publish.greedy import greedy
from discreet.publish.mask import ROWS_PER_CLASS, Filling, Generator, Mask, Noisy, joint, mask
from discreet.publish.true_labels import TrueLabels
from discreet.queries import Count
from discreet.rational import as_integer, positive, rational
from discreet.show import as_cell, native_frame

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

METHODS: dict[str, Filling] = {"joint": joint, "greedy": greedy}
#: The number of rows of a mask where nothing public gives it.
ROWS = 1000
#: Wider problems are left to scikit-learn's limited-memory solver.
_MAX_WEIGHTS = 2000


@final
@dataclass(frozen=True, eq=False)
class _Recipe:
    """The model of the weights and its plan; the noisy counts, if any; how many rows to make up."""

    model: LogisticRegression
    weights: FitPlan
    counts: Question | None
    samples: int


@final
@with_parameters
class MaskedData(PrivateClassifier):
    """Made-up rows with labels, for which privately learned logistic weights are stationary.

    A logistic regression is learned privately; then rows are made up whose regularised logistic gradient
    vanishes at its weights (Pham, Ghosh & Yegneswaran, algorithm 1). Whoever trains a logistic regression on
    them finds the private one: `classifier` is scikit-learn's, set up for that. No row and no label
    of the data is published. All features must be numbers.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> masked = MaskedData(epsilon=2, bounds=(-1, 1), classes=[0, 1], samples=50, random_state=0)
    >>> masked.fit(X, (X[:, 0] > 0).astype(int)).X_.shape
    (50, 2)

    Parameters
    ----------
    epsilon, delta : number
        The budget of everything; pure DP if `delta` is 0. Infinite only with ``unit=dp.PUBLIC``.
    method : {"joint", "greedy"}
        ``"joint"`` moves all rows at once until the gradient is 0 up to rounding; ``"greedy"`` finds rows
        one by one by descent, as published: slower, and the gradient is only small.
    samples : int, optional
        How many rows to make up, including those of `start`; by default the number of rows where it is
        public (replace-one), else 1000. At least 8 for each class.
    labels : {"model", "noisy", "true"}, or shares
        ``"model"``: as the private weights label rows spread evenly between the bounds, which costs nothing.
        Shares of the classes, in the order of ``classes_`` or by class: public ones. ``"noisy"``: shares
        from noised counts, for `label_share` of ε. ``"true"``: the true labels, as published; they are
        refused unless the unit is ``dp.PUBLIC``.
    label_share : number
        Between 0 and 1: the share of ε for ``labels="noisy"``.
    start : pair (X, y), optional
        *Public* rows that the masked ones begin with, such as decoys of a sensitive class.
    C : number, optional
        The C of scikit-learn's logistic regression for which the rows are made. By default 1, or more if the
        rows are too few to hold the ridge. Infinite: no ridge, so that columns may be rescaled before.
    perturbation, alpha, norm, fit_intercept, expected_rows
        How the weights are learned: ``method`` and the others of `discreet.models` ``LogisticRegression``
        (``"objective"`` or ``"output"``).
    random_state : int or RandomState, optional
        Only for the made-up rows; it plays no part in privacy.

    Attributes
    ----------
    X_, y_ : arrays
        The masked rows, in the units of the columns, and their labels; `masked_` is the pair.
    coef_, intercept_ : arrays
        The private weights, in the units of the columns.
    C_ : float
        scikit-learn's C for which the rows were made.
    scale_ : float
        The minimiser on the masked rows is ``scale_`` times the weights (intercept included): 1, or less
        where scores would be huge, a class too rare or a given C too small. It predicts the same classes.
    gradient_ : float
        The length of the mean gradient at that point, of features scaled to [-1, 1]. It is 0 up to rounding
        with ``"joint"``, unless there are fewer features than classes minus one, or weights of exactly 0.
    classes_, alpha_, privacy_

    Privacy
    -------
    Unit: any. Measure: PureDP(ε) or ApproxDP(ε, δ). Event: that of the weights' perturbation and, with
    noisy labels, one noised count by class. Everything else is post-processing of released numbers, public
    parameters and random numbers; nothing is assumed about the gradient. Rows without a declared class are
    left out; n = 0 gives rows that follow the noise. Proof page: ``docs/proofs/masked_data.md``.
    """

    method: str = "joint"
    samples: int | None = None
    labels: Any = "model"
    label_share: Any = 0.1
    start: Any = None
    C: Any = None
    perturbation: str = "objective"
    alpha: Any = None
    norm: Any = None
    fit_intercept: bool = True
    expected_rows: int | None = None
    random_state: Any = None

    _learned = learned.attributes(
        coef_=learned.Array("scores", "features"),
        intercept_=learned.Array("scores"),
        alpha_=learned.IfSet(learned.Number()),
        X_=learned.Array("samples", "features"),
        y_=learned.Array("samples", dtype="labels"),
        C_=learned.Number(finite=False),
        scale_=learned.Number(),
        gradient_=learned.Number(),
        _shares=learned.IfSet(learned.Array("classes")),
        _labels=learned.IfSet(learned.Array("labelled", dtype="int64")),
        _names=learned.Texts(tuple),
        _samples=learned.Count(),
    )

    @property
    def _claims(self) -> tuple[str, ...]:  # type: ignore[override]
        return "masked-data", f"{self.perturbation}-perturbation"

    def _parts(self) -> tuple[Measure, Measure | None]:
        """What the weights and the noisy counts may cost."""
        whole_budget = self._measure()
        if not self._is("noisy"):
            return whole_budget, None
        share = rational(self.label_share, "label_share")
        if not 0 < share < 1:
            raise ValueError(f"label_share must lie between 0 and 1, got {self.label_share!r}.")
        if self.epsilon == math.inf:
            return whole_budget, PureDP(math.inf)
        epsilon = rational(self.epsilon, "epsilon")
        return self._measure_of(epsilon * (1 - share)), PureDP(epsilon * share)

    def _measure_of(self, epsilon: Any) -> Measure:
        return LogisticRegression(epsilon=epsilon, delta=self.delta)._measure()

    def _is(self, word: str) -> bool:
        return isinstance(self.labels, str) and self.labels == word

    def _model(self) -> LogisticRegression:
        if self.perturbation not in ("objective", "output"):
            raise ValueError(
                f"perturbation must be 'objective' or 'output', got {self.perturbation!r}."
            )
        weights, _ = self._parts()
        return LogisticRegression(
            epsilon=weights.epsilon,  # type: ignore[attr-defined]
            delta=self.delta,
            method=self.perturbation,
            alpha=self.alpha,
            norm=self.norm,
            fit_intercept=self.fit_intercept,
            expected_rows=self.expected_rows,
        )

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        samples = self._check(facts)
        model = self._model()
        made = model._plan(facts, rows)
        _, counts = self._parts()
        if counts is None:
            recipe = _Recipe(model, made, None, samples)
            return FitPlan(made.event, self._measure(), made.noise, (), facts, recipe)
        assert facts.target is not None
        asked = facts.ask(Count(by=facts.target), counts)
        noise = dict(made.noise)
        if rows is not None:
            noise["counts"] = asked.expected_error(rows)
        event, recipe = together((made.event, asked.event)), _Recipe(model, made, asked, samples)
        return FitPlan(event, self._measure(), noise, (asked.query,), facts, recipe)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        facts = plan.facts
        recipe: _Recipe = plan.recipe
        model = recipe.model
        model._remember(facts, False)
        model._train(recipe.weights, door)
        self.coef_, self.intercept_, self.alpha_ = model.coef_, model.intercept_, model.alpha_
        self._shares, self._labels = shares_of(self.labels, self.classes_), None
        if recipe.counts is not None:
            noisy = recipe.counts.release(door).value
            noisy = np.maximum(np.asarray(noisy, np.float64)[self._by_class(facts)], 1.0)
            self._shares = noisy / noisy.sum()
        if self._is("true"):  # only on public rows: `_check`
            assert facts.target is not None
            places = np.argsort(self._by_class(facts))
            self._labels = places[door.run(TrueLabels(facts.target))]
        self._names = (*facts.features, str(facts.target))
        self._samples = recipe.samples
        made = self._mask(self._samples, self.random_state, self._strength())
        self.X_, self.y_ = self._publish(made)
        self.C_, self.scale_, self.gradient_ = made.strength, made.scale, made.gradient

    # what is public about the rows to be made

    def _check(self, facts: Facts) -> int:
        """How many rows to make up, if what is declared about them is consistent."""
        facts.numeric("MaskedData")
        if self.method not in METHODS:
            raise ValueError(f"method must be 'joint' or 'greedy', got {self.method!r}.")
        if isinstance(self.labels, str) and self.labels not in ("model", "noisy", "true"):
            raise ValueError(
                "labels must be 'model', 'noisy', 'true' or the public shares of the classes, got "
                f"{self.labels!r}."
            )
        if self._is("true"):
            if not facts.unit.is_public:
                raise ValueError(
                    "labels='true' publishes the labels of the data, which no noise protects: it is for "
                    "rows declared public (unit=dp.PUBLIC). Use 'model', 'noisy' or public shares."
                )
            if self.samples is not None:
                raise ValueError("samples must not be given with labels='true': all rows count.")
        self._strength()
        classes = np.unique(np.asarray(facts.labels))
        shares_of(self.labels, classes)
        start_of(self.start, facts.columns, classes)
        return self._row_count(facts)

    def _strength(self) -> float | None:
        return self.C if self.C in (None, math.inf) else float(positive(self.C, "C"))

    def _row_count(self, facts: Facts) -> int:
        begun = 0 if self.start is None else len(self.start[1])
        least = begun + ROWS_PER_CLASS * max(2, len(facts.labels))
        if self.samples is None:
            return max(ROWS if facts.rows is None else facts.rows, least, 2 * begun)
        samples = as_integer(self.samples, "samples")
        if samples < least:
            raise ValueError(
                f"samples must be at least {least} here: {ROWS_PER_CLASS} rows for each class, besides "
                f"those of start. Got {samples}."
            )
        return samples

    # from weights to rows: nothing below has seen the data

    def _mask(self, samples: int, random_state: Any, strength: float | None) -> Mask:
        seed = legacy_generator(random_state).randint(2**31 - 1)
        generator: Generator = np.random.default_rng(seed)
        columns = tuple(self.columns_.values())
        lower, half, wide = ranges_of(columns)
        if len(self.classes_) == 1:
            z = generator.uniform(-1.0, 1.0, (samples, int(wide.sum())))
            return Mask(z, np.zeros(samples, np.int64), 1.0, 1.0, 0.0)
        with np.errstate(all="ignore"):
            weights = np.nan_to_num(self.coef_ * half)[:, wide]
            intercept = np.nan_to_num(self.intercept_ + self.coef_ @ (lower + half))
        start = start_of(self.start, columns, self.classes_)
        if self._labels is not None:
            samples = len(self._labels) + (0 if start is None else len(start.y))
        return mask(
            Noisy.of(weights, intercept, half[wide]),
            samples,
            generator,
            shares=self._shares,
            labels=self._labels,
            strength=strength,
            start=start,
            fill=METHODS[self.method],
        )

    def _publish(self, made: Mask) -> tuple[Floats, Array]:
        lower, half, wide = ranges_of(tuple(self.columns_.values()))
        x = np.empty((len(made.z), len(half)))
        x[:] = lower
        x[:, wide] = (lower + half)[wide] + half[wide] * made.z
        if self.start is not None:  # as they were given, to the last bit
            x[: len(self.start[1])] = np.asarray(self.start[0], np.float64)
        return x, self.classes_[made.y]

    @property
    def masked_(self) -> tuple[Floats, Array]:
        """The masked rows and their labels."""
        check_is_fitted(self, "privacy_")
        return self.X_, self.y_

    def sample(self, samples: int | None = None, random_state: Any = None) -> tuple[Floats, Array]:
        """Make up other masked rows for the same weights and the same ``C_``. It costs nothing.

        Fewer rows may hold only a smaller multiple of the weights than ``scale_``.
        """
        check_is_fitted(self, "privacy_")
        least = ROWS_PER_CLASS * max(2, len(self.classes_))
        least += 0 if self.start is None else len(self.start[1])
        count = self._samples if samples is None else as_integer(samples, "samples", minimum=least)
        return self._publish(self._mask(count, random_state, self.C_))

    def classifier(self) -> Any:
        """scikit-learn's logistic regression, not yet fitted, with the C that the rows were made for.

        ``masked.classifier().fit(masked.X_, masked.y_)`` has coefficients ``scale_ * coef_``; with
        more than two classes up to a vector that is the same for all classes, which changes no prediction.
        """
        check_is_fitted(self, "privacy_")
        narrow = self.coef_.size <= _MAX_WEIGHTS
        return PlainLogisticRegression(
            C=self.C_,
            solver="newton-cholesky" if narrow else "lbfgs",
            tol=1e-9,
            max_iter=1000 if narrow else 20_000,
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """The masked rows and labels as a data frame: of pandas, else Polars, else PyArrow."""
        return native_frame(self.to_columns(), backend)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the masked rows and labels, with a header; reading gives the same numbers again.

        Names and labels that a spreadsheet program would run as a formula begin with an apostrophe.
        """
        columns = self.to_columns()
        cells = ([as_cell(cell) for cell in column.tolist()] for column in columns.values())
        with open(path, "w", encoding="utf-8", newline="") as file:
            write = csv.writer(file)
            write.writerow(map(as_cell, columns))
            write.writerows(zip(*cells, strict=True))

    def to_columns(self) -> dict[str, Array]:
        """The masked rows and labels, as one array for each column."""
        x, y = self.masked_
        parts = [*(x[:, place] for place in range(x.shape[1])), y]
        return dict(zip(self._names, parts, strict=True))

    # the private weights as a classifier

    def decision_function(self, X: Any) -> Floats:
        """The private weights' score of the second class, or of each class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _scores(self, X: Any) -> Floats:
        return np.asarray(self._rows(X).numbers() @ self.coef_.T + self.intercept_)

    def predict(self, X: Any) -> Array:
        """The class that the private weights give to each row."""
        scores = self._scores(X)
        place = scores.argmax(axis=1)
        if len(self.classes_) == 2:
            place = (scores[:, 0] > 0).astype(np.intp)
        return np.asarray(self.classes_[place])

    def predict_proba(self, X: Any) -> Floats:
        """The classes' probabilities by the private weights."""
        scores = self._scores(X)
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        if len(self.classes_) == 2:
            scores = np.concatenate([-scores / 2, scores / 2], axis=1)
        return np.asarray(np.exp(log_softmax(scores, axis=1)))
