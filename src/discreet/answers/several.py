"""Several questions with one budget: the plan, which is charged once, and the answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from discreet import events
from discreet.accounting import NoBound
from discreet.answers.sizes import relative_error
from discreet.answers.splitting import Route, best_shares, fit, list_routes, sum_events
from discreet.answers.tables import draw_bar, format_error, format_table, iter_numbers
from discreet.measures import Measure
from discreet.queries import Prepared, Query
from discreet.rational import Number, as_integer, positive
from discreet.release import Release
from discreet.schema import Schema
from discreet.show import Shown, Table
from discreet.unit import Unit

__all__ = ["Answers", "AnswersPlan", "Question", "plan_questions"]

#: How often shares are corrected for noise on whole numbers, whose error is no exact power of a share.
ROUNDS = 3
#: The largest ε or ρ of one answer at which its error is looked at to find its share.
MAX_TRIED = Fraction(1)
#: Ends of intervals that are not in the unit of the value, or for the population (`dp.Estimate`).
_OTHER_ENDS = (
    "rank_lower", "rank_upper", "score_lower", "score_upper", "population_lower", "population_upper",
)  # fmt: skip
#: How the parts of a budget add up, in words.
SUMS = {
    "pure": "epsilons add up",
    "gaussian": "Gaussian noise adds up by squares",
    "concentrated": "rho adds up",
    "public": "nothing is charged",
}


@final
@dataclass(frozen=True)
class Question:
    """One of several questions, with its part of the budget.

    Attributes
    ----------
    name, query : what is asked, and how it is called
    budget : Measure
        What it is asked with.
    share : float
        Its part of the whole budget.
    stderr : number, array or None
        The expected standard error; None where it depends on a number of rows that nobody gave.
    relative : float
        The error as a share of the answer's range, or of the guess; what the split was made by.
    """

    name: str
    query: Query
    budget: Measure
    share: float
    stderr: Any
    relative: float


@final
@dataclass(frozen=True)
class AnswersPlan(Shown):
    """What several answers cost together, and how noisy each would be; no row was read.

    Attributes
    ----------
    questions : tuple of Question
    event, measure : what would run, and what would be charged for all of it, once
    route : str
        How the parts add up: "pure", "gaussian", "concentrated", or "public".
    note : str
        What must be said beside it, such as that of a rehearsal; empty where nothing must.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> plan = data.plan_all({"rows": dp.Count(), "age": dp.Mean("age")}, dp.PureDP(2), rows=400)
    >>> [question.name for question in plan.questions]
    ['rows', 'age']
    """

    questions: tuple[Question, ...]
    event: events.Event
    measure: Measure
    route: str
    note: str = ""

    def to_table(self, level: float = 0.95) -> Table:
        """The share of each question, and the least and the largest expected error of its numbers."""
        rows = []
        for question in self.questions:
            errors = list(iter_numbers(question.stderr)) or [None]  # type: ignore[list-item]
            ends = (min(errors), max(errors)) if errors[0] is not None else (None, None)
            rows.append((question.name, repr(question.query), question.share, *ends))
        titles = ("question", "asked", "share", "least_stderr", "largest_stderr")
        return Table(titles, rows, self._head())

    def _head(self) -> str:
        count = len(self.questions)
        head = f"{count} questions, one charge of {self.measure!r}: {SUMS[self.route]}"
        return head + f"  [{self.note}]" * bool(self.note)

    def __str__(self) -> str:
        largest = max((question.share for question in self.questions), default=0.0) or 1.0
        rows = [
            (
                question.name,
                repr(question.query),
                f"{question.share:6.1%}",
                draw_bar(question.share / largest),
                format_error(question.stderr),
            )
            for question in self.questions
        ]
        titles = ("question", "asked", "share", "", "expected error")
        return "\n".join([self._head(), *format_table(titles, rows)])

    __repr__ = __str__


@final
class Answers(Shown, Mapping[str, Release]):
    """Several noised answers by name, paid with one charge.

    Attributes
    ----------
    plan : AnswersPlan
        How the budget was split.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> answers = data.release_all({"rows": dp.Count(), "age": dp.Mean("age")}, dp.PureDP(2))
    >>> 380 < answers["rows"].value < 420
    True
    """

    def __init__(self, plan: AnswersPlan, releases: Mapping[str, Release]) -> None:
        self.plan = plan
        self._releases = dict(releases)

    @property
    def measure(self) -> Measure:
        """What was charged for all of them."""
        return self.plan.measure

    def __getitem__(self, name: str) -> Release:
        return self._releases[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._releases)

    def __len__(self) -> int:
        return len(self._releases)

    def to_table(self, level: float = 0.95) -> Table:
        """All answers below each other; intervals in ranks or scores have columns of their own.

        Answers to `dp.Estimate` have intervals for the population, too.
        """
        tables = {name: release.to_table(level) for name, release in self._releases.items()}
        known = ("value", "stderr", "lower", "upper", *_OTHER_ENDS)
        more = [name for name in _OTHER_ENDS if any(name in t.columns for t in tables.values())]
        numbers = ("value", "stderr", "lower", "upper", *more)
        rows = []
        for name, table in tables.items():
            columns = {column: table.column(column) for column in table.columns}
            keys = [column for column in columns if column not in known]
            for at in range(len(table.rows)):
                group = ", ".join(str(columns[key][at]) for key in keys)
                found = (columns[key][at] if key in columns else None for key in numbers)
                rows.append((name, group, *found))
        titles = ("question", "group", *numbers)
        return Table(titles, rows, self._head() + (f"  [{self.mark}]" if self.mark else ""))

    @property
    def mark(self) -> str:
        """What must be said beside the answers, such as NOT PRIVATE; empty where nothing must."""
        return ", ".join(dict.fromkeys(each.mark for each in self.values() if each.mark))

    def _head(self) -> str:
        return f"{len(self)} answers, one charge of {self.measure!r}"

    def __str__(self) -> str:
        parts = [self._head()]
        for name, release in self._releases.items():
            parts.append(f"{name}: {release}")
        return "\n".join(parts)

    __repr__ = __str__


def plan_questions(
    asked: Mapping[str, Query],
    measure: Measure,
    schema: Schema,
    unit: Unit,
    *,
    weights: Mapping[str, Number] | None = None,
    guesses: Mapping[str, Number] | None = None,
    rows: int | None = None,
    guessed_rows: int | None = None,
) -> AnswersPlan:
    """Split one budget among several queries, from public facts alone.

    The split minimises Σ weight·(relative error)²; see `relative_error` for what an error is relative to.

    Parameters
    ----------
    asked : mapping of str to Query
    measure : PureDP, ApproxDP or ZCDP
        What all answers may cost together.
    schema, unit : public facts
    weights : mapping of str to number, optional
        How much each question matters; 1 by default.
    guesses : mapping of str to number, optional
        About how large an answer is: its error is then relative to that.
    rows : int, optional
        The public number of rows, where it is public.
    guessed_rows : int, optional
        A public guess of it, where it isn't.

    Privacy
    -------
    The event of the whole plan provably costs at most `measure`: it is checked by the accountant before it
    is charged. Proof page: ``docs/proofs/answers.md``.
    """
    checked = _check_questions(asked)
    matter = _read_numbers(weights, "weights", checked, 1.0)
    sizes = _read_numbers(guesses, "guesses", checked, None)
    if not isinstance(measure, Measure):
        raise TypeError(
            "measure must be what all answers may cost together, such as dp.PureDP(1), not "
            f"{type(measure).__name__}."
        )
    guess = rows if guessed_rows is None else as_integer(guessed_rows, "rows", minimum=1)
    planner = _Planner(checked, schema, unit, rows, guess, matter, sizes)
    if unit.is_public and math.inf in vars(measure).values():
        return planner.without_noise(measure)
    found: list[tuple[float, AnswersPlan]] = []
    reasons: list[ValueError] = []
    for route in list_routes(measure):
        try:
            found.append(planner.along(route, measure))
        except (NoBound, ValueError) as error:
            reasons.append(error if isinstance(error, ValueError) else ValueError(str(error)))
    if not found:
        raise reasons[0]
    return min(found, key=lambda pair: pair[0])[1]


class _Planner:
    """Plans the same questions along different routes."""

    def __init__(
        self,
        asked: dict[str, Query],
        schema: Schema,
        unit: Unit,
        rows: int | None,
        guess: int | None,
        weights: list[Any],
        guesses: list[Any],
    ) -> None:
        self._asked, self._schema, self._unit = asked, schema, unit
        self._rows, self._guess = rows, guess
        self._weights, self._guesses = weights, guesses

    def along(self, route: Route, measure: Measure) -> tuple[float, AnswersPlan]:
        """The weighted squared error that a route leads to, and the plan."""
        shares = [route.total / len(self._asked)] * len(self._asked)
        for _ in range(ROUNDS):
            # beyond MAX_TRIED noise on whole numbers is almost always 0, which says nothing about shares
            tried = [min(share, MAX_TRIED) for share in shares]
            prepared = self._prepare(route, tried)
            alone = [
                0.0 if _is_free(each) else error**2 * float(share / route.total) ** route.power
                for each, error, share in zip(prepared, self._errors(prepared), tried, strict=True)
            ]
            shares = best_shares(route, alone, self._weights)

        def plan(part: Fraction) -> tuple[events.Event, tuple[list[Fraction], list[Prepared]]]:
            parts = [part * share for share in shares]
            found = self._prepare(route, parts)
            return sum_events([each.event for each in found]), (parts, found)

        parts, prepared = fit(route, measure, plan)
        errors = self._errors(prepared)
        weighted = [w * e**2 for w, e in zip(self._weights, errors, strict=True)]
        budgets = [route.part(share or route.total) for share in parts]
        ratios = [float(share / route.total) for share in parts]
        return math.fsum(weighted), self._finish(
            prepared, budgets, ratios, errors, measure, route.name
        )

    def without_noise(self, measure: Measure) -> AnswersPlan:
        """The plan for public rows."""
        prepared = [
            query.prepare(measure, self._schema, query.narrow(self._unit), self._rows)
            for query in self._asked.values()
        ]
        k = len(prepared)
        return self._finish(prepared, [measure] * k, [1 / k] * k, [0.0] * k, measure, "public")

    def _prepare(self, route: Route, shares: list[Fraction]) -> list[Prepared]:
        budgets = [route.part(share or route.total) for share in shares]
        return [
            query.prepare(budget, self._schema, query.narrow(self._unit), self._rows)
            for query, budget in zip(self._asked.values(), budgets, strict=True)
        ]

    def _errors(self, prepared: list[Prepared]) -> list[float]:
        return [
            0.0
            if _is_free(each)
            else relative_error(
                query, each, self._schema, query.narrow(self._unit), self._guess, guess
            )
            for query, each, guess in zip(
                self._asked.values(), prepared, self._guesses, strict=True
            )
        ]

    def _finish(
        self,
        prepared: list[Prepared],
        budgets: list[Measure],
        shares: list[float],
        errors: list[float],
        measure: Measure,
        route: str,
    ) -> AnswersPlan:
        questions = []
        for (name, query), each, budget, share, error in zip(
            self._asked.items(), prepared, budgets, shares, errors, strict=True
        ):
            known = self._guess is not None or not each.error_needs_rows
            stderr = each.expected_error(self._guess or 1) if known else None
            questions.append(Question(name, query, budget, share, stderr, error))
        event = sum_events([each.event for each in prepared])
        return AnswersPlan(tuple(questions), event, measure, route)


def _is_free(prepared: Prepared) -> bool:
    return prepared.event == events.Compose()


def _check_questions(asked: object) -> dict[str, Query]:
    if not isinstance(asked, Mapping) or not asked:
        raise TypeError(
            'questions must be a mapping of names to queries, as in {"people": dp.Count(), "age": '
            'dp.Mean("age")}.'
        )
    for name, query in asked.items():
        if not isinstance(name, str) or not isinstance(query, Query):
            raise TypeError(
                f"questions: {name!r} must be a name with a query such as dp.Count(), not with "
                f"{type(query).__name__}."
            )
    return dict(asked)


def _read_numbers(
    given: Mapping[str, Number] | None, name: str, asked: dict[str, Query], default: Any
) -> list[Any]:
    """One positive number for each question, by its name."""
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise TypeError(
            f'{name} must be a mapping of names of questions to numbers, as in {{"age": 2}}.'
        )
    if strange := [key for key in given if key not in asked]:
        raise ValueError(
            f"{name}: no question is called {strange[0]!r}; the questions are {', '.join(asked)}."
        )
    return [float(positive(given[key], name)) if key in given else default for key in asked]
