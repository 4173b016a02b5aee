"""What comes out of the door: a noised answer with its price."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from discreet import certificates
from discreet.certificates import DEFAULT_LEVELS
from discreet.comparison import Comparison, compare_groups
from discreet.events import Event
from discreet.layout import choose_quantity, lay_out
from discreet.ledger import NOT_DATA, Entry
from discreet.ledger.statement import shorten
from discreet.measures import Measure
from discreet.queries import Answer, Interval, Joint, NoiseInterval, Prepared, Query, Sampling
from discreet.schema import Schema
from discreet.show import Shown, Table, draw_table
from discreet.unit import Unit

#: How many numbers of a plan are printed.
MAX_PLANNED = 12


@dataclass(frozen=True, repr=False)
class Release(Shown):
    """A noised answer.

    It can be shown: `to_frame`, `to_csv`, `plot`, `to_json`, and in a notebook. Pickle keeps what JSON keeps.

    Attributes
    ----------
    value : number or array
        The answer; an array over `labels` for a grouped query.
    stderr : number or array or None
        The standard deviation that the noise gives `value` (for quotients to first order); None for
        selections such as quantiles, and for discovered keys, which are shown or not by their noise.
    labels : list or None
        The groups, in the order of `value`.
    event, measure : what ran, and what was charged for it
    entry : the ledger's entry; None on public data
    is_private : bool
        False on data declared public, and when noise was drawn from a fixed seed.
    unit : Unit or None
        Who is protected.
    note : str
        What a limit of rows per person, or bounds that were bought, mean for the answer; else empty.
    checked : what a check of the columns found that was paid along with the answer (``check=True``)
    is_made_up : whether the rows were made up for a rehearsal
    """

    query: Any
    value: Any
    stderr: Any
    labels: list[Any] | None
    event: Event
    measure: Measure
    entry: Any
    is_private: bool
    _interval: Callable[[float], NoiseInterval] = field(repr=False)
    unit: Unit | None = None
    note: str = ""
    checked: Any = None
    _sampling: Sampling | None = field(default=None, repr=False)
    is_made_up: bool = False

    @classmethod
    def from_answer(
        cls,
        query: Query,
        prepared: Prepared,
        answer: Answer,
        entry: Entry | None,
        is_private: bool,
        unit: Unit,
        is_made_up: bool = False,
    ) -> Release:
        """The release of an answer that was paid for."""
        return cls(
            query,
            *(answer.value, answer.stderr, answer.labels),
            *(prepared.event, prepared.measure, entry),
            is_private,
            answer.interval,
            unit,
            "; ".join(filter(None, (query.tell_limit(query.narrow(unit)), answer.note))),
            _sampling=answer.sampling,
            is_made_up=is_made_up,
        )

    @property
    def mark(self) -> str:
        """What must be said beside the answer, such as NOT DATA; empty where nothing must."""
        if self.is_made_up:
            return NOT_DATA
        return "" if self.is_private else "NOT PRIVATE"

    def interval(self, level: float = 0.95) -> Interval:
        """An interval for the population that the rows came from: noise and sampling error.

        For groups there is one for each, not for all at once. What it needs is part of the query:
        ask with ``dp.Estimate(query)``.
        """
        return self._find_sampling().interval(_check_level(level))

    def compare(self, first: Any, second: Any, level: float = 0.95) -> Comparison:
        """How much the answer for one group exceeds that for another, in the population.

        Parameters
        ----------
        first, second : labels of two groups
        level : float
        """
        sampling = self._find_sampling()
        given = self.labels, self.value, sampling.interval(_check_level(level)), first, second
        return compare_groups(*given, sampling.is_disjoint, sampling.grain)

    def _find_sampling(self) -> Sampling:
        if self._sampling is None:
            raise ValueError(
                f"{self.query!r} didn't buy what an interval for the population needs: ask with "
                "dp.Estimate(query). noise_interval() is about these rows."
            )
        return self._sampling

    def noise_interval(self, level: float = 0.95) -> NoiseInterval:
        """An interval for the answer without noise.

        For groups, and for several quantiles, there is one for each, not for all at once.
        """
        return self._interval(_check_level(level))

    def __float__(self) -> float:
        if isinstance(self.value, int | float):
            return float(self.value)
        raise TypeError("only an answer of one number can be a float: use .value, or .to_dict().")

    def to_dict(self) -> dict[Any, Any]:
        """The values of a grouped answer by label."""
        if self.labels is None:
            raise ValueError("only grouped answers have labels; use .value.")
        return dict(zip(self.labels, self.value.tolist(), strict=True))

    def to_table(self, level: float = 0.95) -> Table:
        """The answer as a table: groups, value, standard error and noise interval.

        An answer to `dp.Estimate` has ``population_lower`` and ``population_upper``, too.
        """
        layout, head = self._layout(), self._head()
        columns: dict[str, Any] = {
            name: [row[at] for row in layout.rows] for at, name in enumerate(layout.columns)
        }
        columns["value"] = layout.pick(self._numbers()) or []
        if (errors := layout.pick(self.stderr)) is not None:
            columns["stderr"] = errors
        notes = [self.note]
        try:
            interval = self.noise_interval(level)
        except ValueError:
            if not 0 < level < 1:
                raise
        else:
            prefix = "" if interval.unit == "value" else f"{interval.unit}_"
            for name, end in (("lower", interval.lower), ("upper", interval.upper)):
                if (ends := layout.pick(end)) is not None:
                    columns[prefix + name] = ends
            notes.append(certificates.describe_interval(interval))
        with suppress(ValueError):  # not bought, or not kept at this level
            found = self.interval(level)
            columns["population_lower"] = layout.pick(found.lower)
            columns["population_upper"] = layout.pick(found.upper)
            notes.append(f"population: {found.about}, each with probability {level:g}")
        rows = list(zip(*columns.values(), strict=True))
        return Table(list(columns), rows, head, "; ".join(filter(None, notes)))

    def _layout(self) -> Any:
        if hasattr(self.value, "to_layout"):
            return self.value.to_layout()
        return lay_out(self.query, self.value, self.labels)

    def _numbers(self) -> Any:
        return (
            getattr(self.value, "cells", self.value)
            if hasattr(self.value, "to_layout")
            else self.value
        )

    def plot(self, level: float = 0.95, *, quantity: str | None = None, ax: Any = None) -> Any:
        """Draw the answer: bars with intervals, lines over ordered groups, a heat map for two groupings.

        Parameters
        ----------
        level : float
            The probability of the intervals.
        quantity : str, optional
            Which one to draw, for answers that have several.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib axes
            ``ax.get_label()`` describes the picture in words, for people who can't see it.
        """
        table = self.to_table(level)
        keys = list(self._layout().columns)
        if quantity is not None or {"quantity", "question"} & set(keys):
            table, keys = choose_quantity(table, keys, quantity)
        return draw_table(table, keys, ax)

    def to_json(self, levels: Sequence[float] = DEFAULT_LEVELS) -> str:
        """The answer with its certificate as JSON, exact to the last digit.

        Parameters
        ----------
        levels : sequence of float
            The levels at which intervals are written down; a release that was read back knows no others.
        """
        return certificates.write_release(self, levels)

    @classmethod
    def from_json(cls, text: str) -> Release:
        """A release that `to_json` wrote. Nothing in the text is run.

        Privacy
        -------
        It says what the text says: whoever wrote the text may have changed it. The ledger that the
        certificate names has the entry.
        """
        return cls(**certificates.read_release(text))

    def __reduce__(self) -> tuple[Any, ...]:
        return Release.from_json, (self.to_json(),)

    def __copy__(self) -> Release:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Release:
        parts = (deepcopy(part, memo) for part in (self.value, self.stderr, self.labels))
        value, stderr, labels = parts
        return replace(self, value=value, stderr=stderr, labels=labels)

    def _head(self) -> str:
        mark = f"  [{self.mark}]" if self.mark else ""
        return f"{self.query!r}  {self.measure!r}{mark}"

    def __repr__(self) -> str:
        shown = self._show_answer()
        told = [f"  ({self.note})"] if self.note and self.note not in shown else []
        told += [] if self.checked is None else [f"  check: {w}" for w in self.checked.warnings]
        return "\n".join([shown, *told])

    def _show_answer(self) -> str:
        head = self._head()
        if self.labels is None and not hasattr(self.value, "shape"):
            if isinstance(self.value, int | float | str):
                error = "" if not isinstance(self.stderr, float) else f" ± {self.stderr:.4g}"
                return f"{head}\n  {_show(self.value)}{error}"
            if hasattr(self.value, "to_layout"):
                return f"{head}\n  {self.value!r}"
        if self.labels is None or not hasattr(self.value, "shape") or self.value.ndim != 1:
            return str(self.to_table())
        lines = []
        for index, label in enumerate(self.labels[:40]):
            error = "" if self.stderr is None else f" ± {self.stderr[index]:.4g}"
            name = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
            lines.append(f"  {name}: {_show(self.value[index])}{error}")
        if len(self.labels) > 40:
            lines.append(f"  ... and {len(self.labels) - 40} more")
        return "\n".join([head, *lines])


def _check_level(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}.")
    return level


def _show(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """What an answer would cost and how noisy it would be; no row was read.

    Attributes
    ----------
    event, measure : what would run, and what would be charged
    stderr : number or array or None
        The expected standard error; None where it depends on the number of rows and none was given
        (use ``expected_error(rows)``), and for selections and steps.
    note : str
        What was chosen from public facts, such as how a histogram is measured; empty where nothing was.
    labels : list or None
        The groups, in the order of `stderr`.
    """

    asked: Any
    event: Event
    measure: Measure | None
    stderr: Any
    _error: Callable[[int], Any] | None = field(repr=False)
    note: str = ""
    labels: list[Any] | None = None

    @classmethod
    def from_prepared(
        cls, asked: Any, prepared: Prepared, stderr: Any, schema: Schema, told: Iterable[str]
    ) -> Plan:
        """The plan of a query that is ready to be answered; `told` is what else its note must say."""
        event, measure = prepared.event, prepared.measure
        note = "; ".join(filter(None, (prepared.note, *told)))
        # where noise decides the groups, as for keys, nobody knows them yet
        labels = asked.labels(schema) if asked.by or isinstance(asked, Joint) else None
        return cls(asked, event, measure, stderr, prepared.expected_error, note, labels)

    def expected_error(self, rows: int) -> Any:
        """The expected standard error if there were `rows` rows, spread evenly over the groups."""
        if self._error is None:
            raise ValueError(
                "no standard error is known for this: it is a step, or a plan that was read from JSON; make "
                "the plan anew with data.plan(...)."
            )
        return self._error(rows)

    def to_table(self, level: float = 0.95) -> Table:
        """The expected standard error of every number, labelled."""
        layout = lay_out(self.asked, self.stderr, self.labels)
        errors = layout.pick(self.stderr)
        if self.stderr is None or errors is None:
            return Table(("stderr",), [[None]], self._head(), self.note)
        rows = [(*keys, error) for keys, error in zip(layout.rows, errors, strict=True)]
        return Table((*layout.columns, "stderr"), rows, self._head(), self.note)

    def plot(self, level: float = 0.95, *, quantity: str | None = None, ax: Any = None) -> Any:
        """Draw the expected standard errors: bars, lines over ordered groups, a heat map for two."""
        if self.stderr is None:
            raise ValueError(
                "this plan has no standard error to draw: give data.plan(..., rows=1000) a public guess of "
                "the number of rows, where the error depends on it."
            )
        table = self.to_table()
        keys = [name for name in table.columns if name != "stderr"]
        if quantity is not None or {"quantity", "question"} & set(keys):
            table, keys = choose_quantity(table, keys, quantity)
        return draw_table(table, keys, ax, value="stderr")

    def to_json(self) -> str:
        """The plan as JSON, exact to the last digit."""
        return certificates.write_plan(self)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """A plan that `to_json` wrote; what it would be with another number of rows isn't in the text."""
        return cls(**certificates.read_plan(text))

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan.from_json, (self.to_json(),)

    def __copy__(self) -> Plan:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Plan:
        return self

    def _head(self) -> str:
        price = "the step's own cost" if self.measure is None else repr(self.measure)
        return f"Plan: {self.asked!r}  {price}"

    def __repr__(self) -> str:
        lines = [self._head(), f"  event   {shorten(self.event)}"]
        if self.stderr is not None:
            lines += _show_errors(self.to_table())
        if self.note:
            lines.append(f"  note    {self.note}")
        return "\n".join(lines)


def _show_errors(table: Table) -> list[str]:
    """The expected errors of a plan: a number, one for all, or a few lines with labels."""
    errors = table.column("stderr")
    if len(errors) == 1:
        return [f"  stderr  {_show(errors[0])}"]
    if len(set(errors)) == 1:
        return [f"  stderr  {_show(errors[0])} for each of {len(errors)} numbers"]
    lines = []
    for *keys, error in table.rows[:MAX_PLANNED]:
        lines.append(
            f"  stderr  {_show(error)} for {', '.join(str(key) for key in keys if key != '')}"
        )
    more = len(errors) - MAX_PLANNED
    if more > 0:
        numbers = [float(error) for error in errors]
        span = f"from {_show(min(numbers))} to {_show(max(numbers))}"
        lines.append(f"  ... and {more} more, all {span}")
    return lines
