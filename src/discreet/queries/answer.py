"""What a query becomes: prepared from public facts and priced, then answered by one read of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

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
    """

    lower: Any
    upper: Any
    level: float
    unit: str


class Interval(NamedTuple):
    """Where the truth about a population lies, with probability at least `level`.

    It covers the noise and the chance by which the rows came out of the population; not what clamping or
    filling did. `about` says in words which number of which population it is.
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
    """

    interval: Callable[[float], Interval]
    is_disjoint: bool


@final
@dataclass(frozen=True)
class Answer:
    """A noised answer: its value, its standard error, its groups, and intervals by level."""

    value: Any
    stderr: Any
    labels: list[Any] | None
    interval: Callable[[float], NoiseInterval]
    sampling: Sampling | None = None


class Prepared(ABC):
    """A query that is ready to be answered: planned and priced, no row read yet."""

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
    """What was given, if a query can be asked with it."""
    if isinstance(budget, Measure | Mechanism):
        return budget
    raise TypeError(
        "budget must be a measure such as dp.PureDP(0.5), dp.ApproxDP(0.5, 1e-6) or dp.ZCDP(0.1), or a "
        f"mechanism, not {type(budget).__name__}."
    )


def no_noise_refused() -> ValueError:
    """The error for an infinite budget on private rows."""
    return ValueError("budget: an infinite budget (no noise) is accepted with dp.PUBLIC only.")
