"""What a query becomes: prepared from public facts and priced, then answered by one read of the rows."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar, final

from discreet.coding import Engine
from discreet.events import Event
from discreet.measures import Measure
from discreet.mechanisms import Mechanism

__all__ = [
    "Answer",
    "Budget",
    "Interval",
    "NoiseInterval",
    "Prepared",
    "Sampling",
    "check_budget",
    "expect_budget",
    "no_noise_refused",
]

#: What a query is asked with: what the answer may cost, or how it is blurred.
Budget = Measure | Mechanism


class NoiseInterval(NamedTuple):
    """Where the answer without noise lies, with probability at least `level`.

    It covers the noise alone: not sampling error, not what clamping, filling or leaving out rows did.
    For discovered keys the probability is that among runs in which the key is shown.
    `unit` is ``"value"``, or ``"rank"`` where `lower` and `upper` say how many rows the released
    quantile may be away from the asked rank, or ``"score"`` where `upper` says how far the score of a
    chosen candidate may fall short of the best.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> interval = data.release(dp.Count(), dp.PureDP(1)).noise_interval(0.95)
    >>> interval.lower < 420 and interval.upper > 380, interval.unit
    (True, 'value')
    """

    lower: Any
    upper: Any
    level: float
    unit: str


class Interval(NamedTuple):
    """Where the truth about a population lies, with probability at least `level`.

    It covers the noise and the chance by which the rows came out of the population; not what clamping or
    filling did. `about` says in words which number of which population it is.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> answer = data.release(dp.Estimate(dp.Mean("age")), dp.PureDP(2))
    >>> answer.interval(0.95).about
    "the mean of 'age' in the population that the rows came from"
    """

    lower: Any
    upper: Any
    level: float
    about: str


@final
@dataclass(frozen=True)
class Sampling:
    """What an answer says about the population that its rows came from.

    Attributes
    ----------
    interval : callable
        From a level to an `Interval`.
    is_disjoint : bool
        Whether different groups hold different persons, so that their errors are independent.
    grain : float or array
        By how much one person moves a proportion, by group; 0 for answers that move freely.

    Examples
    --------
    >>> import discreet as dp
    >>> schema, ledger = dp.Schema(age=dp.Integer(0, 100)), dp.Ledger(limit=dp.PureDP(1))
    >>> data = dp.PrivateDataset({"age": [34, 51] * 500}, schema, ledger=ledger)
    >>> data.release(dp.Estimate(dp.Mean("age")), dp.PureDP(1)).interval(0.95).about
    "the mean of 'age' in the population that the rows came from"
    """

    interval: Callable[[float], Interval]
    is_disjoint: bool
    grain: Any = 0.0


@final
@dataclass(frozen=True)
class Answer:
    """A noised answer: its value, its standard error, its groups, intervals by level, and what to tell.

    Examples
    --------
    >>> from discreet.queries import Answer, NoiseInterval
    >>> around = lambda level: NoiseInterval(40.0, 44.0, level, "value")
    >>> answer = Answer(42.0, 1.0, None, around)  # what a query of your own returns
    >>> answer.interval(0.95).upper
    44.0
    """

    value: Any
    stderr: Any
    labels: list[Any] | None
    interval: Callable[[float], NoiseInterval]
    sampling: Sampling | None = None
    note: str = ""


class Prepared(ABC):
    """A query that is ready to be answered: planned and priced, no row read yet.

    Examples
    --------
    >>> import discreet as dp
    >>> schema, unit = dp.Schema(age=dp.Integer(0, 100)), dp.Unit(dp.ADD_REMOVE)
    >>> prepared = dp.Count().prepare(dp.PureDP("1/2"), schema, unit, rows=None)
    >>> prepared.event
    DiscreteLaplace(scale=Fraction(2, 1), sensitivity=1)
    >>> prepared.measure, round(float(prepared.expected_error(1000)), 2)
    (PureDP(epsilon=0.5), 2.8)
    """

    event: Event
    measure: Measure
    #: Whether the standard error depends on the number of rows.
    error_needs_rows: bool
    #: What was chosen on the way, in words; shown with the plan.
    note: str = ""

    @abstractmethod
    def expected_error(self, rows: int) -> Any:
        """The standard error to expect with this many rows."""

    @abstractmethod
    def answer(self, engine: Engine) -> Answer:
        """Read the rows, add the noise."""


def check_budget(budget: object) -> Budget:
    """What was given, if a query can be asked with it.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.queries.check_budget(dp.PureDP(1))
    PureDP(epsilon=1)
    >>> try:
    ...     dp.queries.check_budget(0.5)
    ... except TypeError as error:
    ...     print(str(error).split(":")[0])
    budget is a bare number
    """
    if isinstance(budget, Measure | Mechanism):
        return budget
    if isinstance(budget, int | float | Fraction) and not isinstance(budget, bool):
        raise TypeError(
            f"budget is a bare number: write dp.PureDP({budget}) for ε = {budget}, "
            f"dp.ApproxDP({budget}, 1e-6) with a δ, or dp.ZCDP({budget}) for a ρ."
        )
    raise TypeError(
        "budget must be a measure such as dp.PureDP(0.5), dp.ApproxDP(0.5, 1e-6) or dp.ZCDP(0.1), or a "
        f"mechanism, not {type(budget).__name__}."
    )


Act = TypeVar("Act", bound=Callable[..., Any])
#: Parameters of measures, which people give to questions.
_PARTS = ("epsilon", "eps", "delta", "rho")


def expect_budget(act: Act) -> Act:
    """Let a method that takes a budget say what to write when it is given ε, δ or ρ instead.

    Examples
    --------
    >>> import discreet as dp
    >>> @dp.queries.expect_budget
    ... def ask(query, budget):
    ...     return budget
    >>> ask("a question", dp.PureDP(1))
    PureDP(epsilon=1)
    >>> try:
    ...     ask("a question", epsilon=1)
    ... except TypeError as error:
    ...     print(error)
    ask has no argument 'epsilon': give the budget as a measure, as in data.ask(query, dp.PureDP(1)).
    """
    parameters = list(inspect.signature(act).parameters.values())
    place = [parameter.name for parameter in parameters].index("budget")
    is_needed = parameters[place].default is inspect.Parameter.empty

    @functools.wraps(act)
    def call(*arguments: Any, **options: Any) -> Any:
        given = [name for name in _PARTS if name in options]
        if (
            is_needed
            and not given
            and len(arguments) <= place
            and not {"budget", "how"} & set(options)
        ):
            raise TypeError(
                f"{act.__name__} needs a budget, as in data.{act.__name__}(query, dp.PureDP(0.5))."
            )
        if given:
            raise TypeError(
                f"{act.__name__} has no argument {given[0]!r}: give the budget as a measure, as in "
                f"data.{act.__name__}(query, {_suggest(options)})."
            )
        return act(*arguments, **options)

    return call  # type: ignore[return-value]


def _suggest(options: dict[str, Any]) -> str:
    """The measure that somebody meant by ε, δ or ρ."""
    shown = {
        name: f"{options[name]}"
        for name in _PARTS
        if isinstance(options.get(name), int | float | Fraction)
    }
    if "rho" in options:
        return f"dp.ZCDP({shown.get('rho', '0.1')})"
    epsilon = shown.get("epsilon", shown.get("eps", "0.5"))
    if "delta" in options:
        return f"dp.ApproxDP({epsilon}, {shown.get('delta', '1e-6')})"
    return f"dp.PureDP({epsilon})"


def no_noise_refused() -> ValueError:
    """The error for an infinite budget on private rows."""
    return ValueError(
        "budget: an infinite budget (no noise) is accepted with dp.PUBLIC only; give a finite one, such as "
        "dp.PureDP(1)."
    )
