"""PATE as an estimator: plan, charge, teach, and let a student learn the noisy labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeVar, final

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from discreet import accounting, events
from discreet.columns import Categorical, Numeric
from discreet.dataset import PrivateDataset
from discreet.deep.pate.aggregation import (
    UNANSWERED,
    Aggregation,
    ConfidentGNMax,
    GNMax,
    LNMax,
    Plurality,
)
from discreet.deep.pate.dependent import dependent_cost
from discreet.deep.pate.teachers import Design, Lesson, Teachers, changed_teachers
from discreet.deep.quiet import keep_quiet
from discreet.measures import ApproxDP, PureDP, convert
from discreet.models.facts import Facts
from discreet.models.inputs import open_input
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.reading import column_array, column_names, read_cells
from discreet.models.rows import Rows
from discreet.models.targets import PrivateClassifier
from discreet.rational import Number, as_integer, rational

__all__ = ["PATE"]

Self = TypeVar("Self", bound="PATE")
Integers = npt.NDArray[np.int64]

#: Public rows with invented classes on which the teacher is tried before anything is charged.
_TRIED = 400
#: Relative width at which the search for a noise scale stops.
_TOLERANCE = {"gaussian": 1e-6, "laplace": 1e-3}


@final
@dataclass(frozen=True)
class _Recipe:
    """How votes are noised, how many questions there are; and how teachers learn, once rows are known."""

    aggregation: Aggregation
    questions: int
    lesson: Lesson | None = None
    public: Any = None


@final
@with_parameters
class PATE(PrivateClassifier):
    """A classifier that learns from the noisy votes of teachers which each saw a part of the private rows.

    Persons are dealt to teachers by chance, every teacher learns its part, and all vote on public rows
    without labels. The votes are noised, and the student learns the labels that come out. What it costs
    depends on the number of questions, not on the models: any classifier can teach, and any can learn.

    Parameters
    ----------
    teacher : classifier, or callable
        ``LogisticRegression()`` by default. It is cloned for each teacher. For anything that has no
        ``fit`` and ``predict``, such as a torch network: a function of features, classes (0, 1, ... in the
        order of the schema) and their number, which returns a function from features to classes. It must
        keep nothing from one call to the next.
    student : classifier, optional
        Learns from the public rows and their noisy labels; like the teacher by default. Gets classes
        0, 1, ... in the order of the schema.
    n_teachers : int
        How many parts there are. More teachers drown the noise, and each knows less.
    n_queries : int
        How many public rows are voted on: the first ones of `public`.
    aggregation : {"confident", "gnmax", "lnmax"} or Aggregation
        ``"confident"`` answers where teachers agree, ``"gnmax"`` always, both with Gaussian noise and
        `delta` > 0; ``"lnmax"`` always, with Laplace noise, and pure DP if `delta` is 0. The noise follows
        from the budget; an `Aggregation` brings its own, which the budget must cover.
    max_answers : int, optional
        For ``"confident"``: after this many labels no more are given; half of `n_queries` by default.
    threshold : int, optional
        For ``"confident"``: how many teachers must agree; four fifths by default.
    check_share : float
        For ``"confident"``: the share of the budget (of squared sensitivity over variance) for checks.
    features : callable or transformer, optional
        From a matrix of rows to a matrix of features, row by row, fixed in advance (such as
        `Scattering`). Numbers reach it in their units, categories as indicators.
    semi_supervised : bool
        Whether the student also gets the public rows without label, marked -1, as those of
        ``sklearn.semi_supervised`` and `SpreadingStudent` take them.
    n_jobs : int, optional
        How many processes train teachers.

    Attributes
    ----------
    student_ : the fitted student
    labels_ : array of shape (n_queries,)
        The noisy labels as codes of classes, in the order of the schema; -1 where none was given.
    aggregation_ : Aggregation
    votes_ : array of shape (n_queries, classes)
        Of public rows alone: the counts of votes.
    privacy_ : FitPrivacy

    Privacy
    -------
    One person reaches one teacher (with ids: all rows of a person go to one teacher if the schema declares
    the id column, else `max_rows` teachers are reached; under replace-one with declared ids, two), which
    moves the counts of each question by 1 in two classes. The ledger is charged a price that holds
    whatever the votes are; `dependent_epsilon` is told for public rows alone. Teachers that fail, or have
    no rows, vote for the first class, so no error or warning tells anything; running times aren't
    protected. A teacher's votes must depend on its rows, its parameters and its own random numbers alone:
    random states of numpy, torch and Python are renewed for each. Proof page: ``docs/proofs/pate.md``.

    Examples
    --------
    >>> from discreet.deep.pate import PATE
    >>> model = PATE(n_teachers=50, n_queries=200, bounds=(0, 1), classes=[0, 1], epsilon=2, delta=1e-6)
    >>> model.plan(n_features=4).measure
    ApproxDP(epsilon=2, delta=1e-06)
    """

    _claims = ("pate",)
    _needs_besides = "public rows, as in fit(X, y, public=rows)"

    teacher: Any = field(default=None, kw_only=False)
    student: Any = field(default=None, kw_only=False)
    n_teachers: int = field(default=100, kw_only=False)
    n_queries: int = 500
    aggregation: Any = "confident"
    max_answers: int | None = None
    threshold: int | None = None
    check_share: float = 0.1
    features: Any = None
    semi_supervised: bool = False
    n_jobs: int | None = None

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        target: str | None = None,
        check: bool | float = False,
        features: Sequence[str] | None = None,
        public: Any = None,
    ) -> Self:
        """Train teachers on private rows, and a student on public ones.

        Parameters
        ----------
        X, y, groups, target
            The private rows, as for all estimators; `check` and `features` are not taken.
        public : array, data frame or mapping of names to arrays
            Rows with the same features that anyone may see; their first `n_queries` are voted on.
        """
        if check is not False or features is not None:
            raise ValueError("check and features: PATE takes none; ask data.check(...) before.")
        if public is None:
            raise ValueError(
                "public must be given: rows with the same features that anyone may see, without labels, as "
                "in fit(X, y, public=rows)."
            )
        source = open_input(self, X, y, groups, target)
        plan = self._plan(source.facts, None)
        lesson, rows = self._prepare(plan, public)
        recipe = replace(plan.recipe, lesson=lesson, public=rows)
        return self._carry_out(replace(plan, recipe=recipe), source)

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        for name, column in zip(facts.features, facts.columns, strict=True):
            if not isinstance(column, Numeric | Categorical):
                raise ValueError(f"column {name!r} must be a number or a category, not {column!r}.")
        if len(facts.labels) < 2:
            raise ValueError("classes: a classifier needs more than one class.")
        if self.n_jobs is not None and as_integer(abs(self.n_jobs), "n_jobs") < 1:
            raise ValueError(
                "n_jobs must be a number of processes, -1 for all processors, or None."
            )
        questions = as_integer(self.n_queries, "n_queries", minimum=1)
        teachers = as_integer(self.n_teachers, "n_teachers", minimum=1)
        changed = changed_teachers(facts.schema, facts.unit, teachers)
        chosen = self._aggregation(questions, teachers, changed)
        event = chosen.event(questions, changed)
        scale = getattr(chosen, "sigma", getattr(chosen, "scale", 0))
        noise = {"votes": float(scale)}
        return FitPlan(event, self._measure(), noise, (), facts, _Recipe(chosen, questions))

    def _aggregation(self, questions: int, teachers: int, changed: int) -> Aggregation:
        """The aggregation that was given, if the budget covers it; else the one with the least noise."""
        if self.epsilon == math.inf:
            return Plurality()
        measure = self._measure()
        if isinstance(self.aggregation, Aggregation):
            if isinstance(self.aggregation, Plurality):
                raise ValueError("aggregation: votes without noise need epsilon=math.inf.")
            if not accounting.satisfies(self.aggregation.event(questions, changed), measure):
                raise ValueError(
                    f"aggregation: answering {questions} questions with {self.aggregation!r} costs more than "
                    f"{measure!r}: give a larger epsilon or delta, more noise, or ask less."
                )
            return self.aggregation
        if self.aggregation == "lnmax":
            return self._laplace(measure, questions, changed)
        if self.aggregation not in ("gnmax", "confident"):
            raise ValueError(
                "aggregation must be 'confident', 'gnmax', 'lnmax' or an Aggregation, "
                f"got {self.aggregation!r}."
            )
        if not isinstance(measure, ApproxDP):
            raise ValueError(
                f"delta must be above 0 for aggregation={self.aggregation!r}, whose noise is Gaussian; with "
                "delta=0 use aggregation='lnmax'."
            )
        build = GNMax if self.aggregation == "gnmax" else self._confident(questions, teachers)
        return _calibrate(build, measure, questions, changed, "gaussian")

    @staticmethod
    def _laplace(measure: Any, questions: int, changed: int) -> Aggregation:
        if isinstance(measure, PureDP):
            return LNMax(2 * changed * questions / Fraction(measure.epsilon))
        return _calibrate(LNMax, measure, questions, changed, "laplace")

    def _confident(self, questions: int, teachers: int) -> Any:
        """From the noise of answers to the whole: checks have the share of the budget that is theirs."""
        share = rational(self.check_share, "check_share")
        if not 0 < share < 1:
            raise ValueError(f"check_share must lie between 0 and 1, got {self.check_share!r}.")
        most = (
            max(1, questions // 2)
            if self.max_answers is None
            else as_integer(self.max_answers, "max_answers", minimum=1)
        )
        at_least = (
            math.ceil(0.8 * teachers)
            if self.threshold is None
            else as_integer(self.threshold, "threshold")
        )
        # questions/check_sigma² : 2·most/sigma² = share : 1 - share
        ratio = math.sqrt(questions * (1 - share) / (2 * min(most, questions) * share))
        exact = Fraction(max(1, round(ratio * 1024)), 1024)
        return lambda sigma: ConfidentGNMax(at_least, exact * sigma, sigma, most)

    def _prepare(self, plan: FitPlan, public: Any) -> tuple[Lesson, Any]:
        """Read the public rows, and try the teacher on them: what can't work fails here, unpaid."""
        facts, questions = plan.facts, plan.recipe.questions
        rows = _read_public(facts, public)
        if rows.length < questions:
            raise ValueError(
                f"public has {rows.length} rows, fewer than n_queries = {questions}: give more, or ask less."
            )
        design, features = Design(facts.columns), self._features()
        matrix = design.matrix(rows.codes())
        found = matrix if features is None else np.asarray(features(matrix))
        if found.ndim < 1 or len(found) != rows.length:
            raise ValueError(
                "features must give one row for each row: for "
                f"{rows.length} rows it gave an array of shape {found.shape}."
            )
        asked = np.array(found[:questions])
        asked.flags.writeable = False  # teachers share it, and must not pass anything on by it
        lesson = Lesson(self._teacher(), features, design, asked, len(facts.labels))
        tried = found[: min(rows.length, _TRIED)]
        with keep_quiet():  # invented classes are hard to learn
            lesson.check_votes(lesson.ask(np.array(tried), np.arange(len(tried)) % lesson.classes))
        return lesson, found

    def _teacher(self) -> Any:
        return LogisticRegression() if self.teacher is None else self.teacher

    def _features(self) -> Any:
        return getattr(self.features, "transform", self.features)

    def _step(self, plan: FitPlan) -> Teachers:
        """All that reads rows."""
        lesson, target = plan.recipe.lesson, plan.facts.target
        assert lesson is not None
        assert target is not None
        return Teachers(
            (*plan.facts.features, target),
            lesson,
            plan.recipe.aggregation,
            as_integer(self.n_teachers, "n_teachers", minimum=1),
            plan.facts.schema,
            plan.unit,
            self.n_jobs,
        )

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        recipe: _Recipe = plan.recipe
        self.aggregation_, self._event = recipe.aggregation, plan.event
        self._labels = np.asarray(plan.facts.labels)
        self.labels_, votes = door.run(self._step(plan))
        if votes is not None:
            self.votes_ = votes
        elif hasattr(self, "votes_"):
            del self.votes_
        self.student_ = self._learn(recipe.public)

    def _learn(self, public: Any) -> Any:
        """The student, from the labels that came out: post-processing."""
        answered = np.flatnonzero(self.labels_ != UNANSWERED)
        found = self.labels_[answered]
        if len(np.unique(found)) < 2:
            constant = int(found[0]) if len(found) else 0
            dummy = DummyClassifier(strategy="constant", constant=constant)
            return dummy.fit(np.zeros((1, 1)), [constant])
        student = clone(self._student())
        if not self.semi_supervised:
            return student.fit(public[answered], found)
        marked = np.full(len(public), UNANSWERED, np.int64)
        marked[answered] = found
        return student.fit(public, marked)

    def _student(self) -> Any:
        if self.student is not None:
            return self.student
        teacher = self._teacher()
        return teacher if hasattr(teacher, "fit") else LogisticRegression()

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The student's classes for rows."""
        rows = self._rows(X)
        matrix = Design(tuple(self.columns_.values())).matrix(rows.codes())
        features = self._features()
        found = self.student_.predict(matrix if features is None else features(matrix))
        return np.asarray(self._labels[np.asarray(found, np.int64)])

    def independent_epsilon(self, delta: Number | None = None) -> float:
        """The ε of what was charged, at this δ: it holds whatever the votes were."""
        check_is_fitted(self, "privacy_")
        return float(accounting.epsilon_at(self._event, self._delta(delta)).epsilon)

    def dependent_epsilon(self, delta: Number | None = None) -> float:
        """The ε, at this δ, of these votes against those of all their neighbours; for public rows alone.

        Privacy
        -------
        **Not private**: it is a function of the votes. With private rows it is refused. It speaks of these
        rows and their neighbours, not of all pairs of neighbours as differential privacy does.
        """
        check_is_fitted(self, "privacy_")
        if not hasattr(self, "votes_"):
            raise ValueError(
                "the data-dependent ε is itself a fact about private rows, and is told for unit=dp.PUBLIC "
                "alone; independent_epsilon() is what was charged."
            )
        if isinstance(self.aggregation_, Plurality):
            return math.inf
        chosen = self._delta(delta)
        curve = dependent_cost(self.aggregation_, self.votes_)
        found = convert(curve, ApproxDP, delta=chosen).epsilon
        return min(float(found), self.independent_epsilon(chosen))

    def _delta(self, delta: Number | None) -> Fraction:
        return rational(self.delta if delta is None else delta, "delta")


def _calibrate(
    build: Any, measure: ApproxDP, questions: int, changed: int, kind: str
) -> Aggregation:
    """The least noise whose price the budget covers."""
    tried: dict[events.Event, Aggregation] = {}

    def event(scale: Fraction) -> events.Event:
        found = build(scale)
        made: events.Event = found.event(questions, changed)
        tried[made] = found
        return made

    start = changed * max(1, math.isqrt(2 * questions))
    best = accounting.calibrate(event, measure, tolerance=_TOLERANCE[kind], start=start)
    return tried[best]


def _read_public(facts: Facts, public: Any) -> Rows:
    """Public rows, read by the same rules as the private ones."""
    if column_names(public) is not None:
        cells = tuple(column_array(public, name) for name in facts.features)
    else:
        matrix = read_cells(public)
        if matrix.ndim != 2 or matrix.shape[1] != len(facts.features):
            raise ValueError(
                f"public must have the {len(facts.features)} features as columns, in the order of X; it has "
                f"shape {matrix.shape}."
            )
        cells = tuple(matrix[:, j] for j in range(matrix.shape[1]))
    return Rows(cells, facts.columns, facts.features, len(cells[0]))
