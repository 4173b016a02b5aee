"""The private `describe()`: what a table looks like, column by column, for one charge."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, final

from discreet.answers.several import Answers
from discreet.answers.tables import format_table
from discreet.columns import Categorical, Date, Integer, Numeric, Real
from discreet.measures import Measure
from discreet.queries import Count, Moments, Quantile, Query, Tighten
from discreet.schema import Schema
from discreet.show import Shown, Table

__all__ = ["Description", "Figure", "list_questions"]

QUARTILES = ("1/4", "1/2", "3/4")
DEFAULT_VALUES = 5


class Figure(NamedTuple):
    """A noised number with an interval for the number without noise; `unit` is "value" or "rank"."""

    value: float
    lower: float
    upper: float
    unit: str = "value"

    def __str__(self) -> str:
        if self.unit == "rank":
            return f"{self.value:.6g} (±{self.upper:.3g} ranks)"
        return f"{self.value:.6g} ({self.lower:.6g} to {self.upper:.6g})"


def _lay_out(figure: Figure) -> tuple[Any, ...]:
    """Value, interval in the value's unit, interval in ranks: one of the two intervals is empty."""
    ends, none = (figure.lower, figure.upper), (None, None)
    pairs = (none, ends) if figure.unit == "rank" else (ends, none)
    return (figure.value, *pairs[0], *pairs[1])


def list_questions(schema: Schema, tighten: bool = False) -> dict[str, Query]:
    """What a description asks: the rows, and of each declared column what is usual for its kind.

    Numbers: count, mean and variance as one vector, and three quartiles. Categories: a histogram. Columns
    of undeclared text or without bounds can't be asked like this and are left out. With `tighten`, means and
    deviations are taken between bounds that are bought first.
    """
    asked: dict[str, Query] = {"rows": Count()}
    for name, column in schema.base.items():
        if isinstance(column, Numeric):
            moments = Moments(name)
            wide = tighten and isinstance(column, Real | Integer) and column.width
            asked[f"moments of {name}"] = Tighten(moments) if wide else moments
            asked[f"quartiles of {name}"] = Quantile(name, QUARTILES)
        elif isinstance(column, Categorical):
            asked[f"values of {name}"] = Count(by=name)
    return asked


@final
class Description(Shown):
    """A noised description of a table, paid with one charge.

    Attributes
    ----------
    answers : Answers
        All releases, by name, and the plan by which the budget was split.
    level : float
        Of the intervals, each for itself: for what these rows would give without noise.
    rows : Figure
    numbers : dict of str to dict
        For each column of numbers its mean, deviation, and quartiles.
    values : dict of str to dict
        For each category column the counts of its values, the commonest first.

    Examples
    --------
    >>> import discreet as dp
    >>> people = {"age": [34, 51, 29, 62] * 100, "ward": ["A", "B", "A", "A"] * 100}
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset(people, schema, ledger=dp.Ledger(limit=dp.PureDP(9)))
    >>> description = data.describe(dp.PureDP(4))
    >>> "age" in str(description)
    True
    """

    def __init__(self, answers: Answers, schema: Schema, level: float) -> None:
        self.answers, self.level, self._schema = answers, level, schema
        interval = answers["rows"].noise_interval(level)
        self.rows = Figure(answers["rows"].value, interval.lower, interval.upper)
        self.numbers: dict[str, dict[str, Figure]] = {}
        self.values: dict[str, dict[Any, Figure]] = {}
        for name, column in schema.base.items():
            if isinstance(column, Numeric):
                self.numbers[name] = dict(self._iter_figures(name))
            elif isinstance(column, Categorical):
                self.values[name] = self._find_commonest(name)

    @property
    def measure(self) -> Measure:
        """What was charged for all of it."""
        return self.answers.measure

    def _iter_figures(self, name: str) -> Iterator[tuple[str, Figure]]:
        release = self.answers[f"moments of {name}"]
        found, bounds = release.value, release.noise_interval(self.level)
        low, high = bounds.lower, bounds.upper
        yield "mean", Figure(float(found.mean[0]), float(low.mean[0]), float(high.mean[0]))
        value, least, largest = (math.sqrt(float(p.variance[0])) for p in (found, low, high))
        yield "deviation", Figure(value, least, largest)
        release = self.answers[f"quartiles of {name}"]
        ranks = release.noise_interval(self.level)
        for at, title in enumerate(("25 %", "50 %", "75 %")):
            reach = float(ranks.upper[at])
            yield title, Figure(float(release.value[at]), -reach, reach, "rank")

    def _find_commonest(self, name: str) -> dict[Any, Figure]:
        release = self.answers[f"values of {name}"]
        assert release.labels is not None
        bounds = release.noise_interval(self.level)
        found = {
            label: Figure(int(value), float(low), float(high))
            for label, value, low, high in zip(
                release.labels, release.value, bounds.lower, bounds.upper, strict=True
            )
        }
        return dict(sorted(found.items(), key=lambda pair: -pair[1].value))

    def to_table(self, level: float | None = None) -> Table:
        """All figures below each other, with intervals of this level, by default the description's own."""
        if level is not None and level != self.level:
            return Description(self.answers, self._schema, level).to_table()
        rows: list[tuple[Any, ...]] = [("", "rows", *_lay_out(self.rows))]
        for name, figures in (*self.numbers.items(), *self.values.items()):
            rows += [(name, title, *_lay_out(figure)) for title, figure in figures.items()]
        titles = ["column", "figure", "value", "lower", "upper", "rank_lower", "rank_upper"]
        if not self.numbers:  # then there are no quartiles, whose intervals are in ranks
            titles, rows = titles[:-2], [row[:-2] for row in rows]
        if any(isinstance(column, Date) for column in self._schema.base.values()):
            titles.append("date")  # days since 1970 say little to people
            rows = [(*row, self._find_date(*row[:3])) for row in rows]
        return Table(titles, rows, self._head())

    def _find_date(self, name: str, title: str, value: float) -> str | None:
        """The day that a figure of a column of dates stands for; a deviation is a number of days."""
        column = self._schema[name] if name else None
        if not isinstance(column, Date) or title == "deviation":
            return None
        return column.to_date(value).isoformat()

    def _render(self, name: str, title: str, figure: Figure) -> str:
        day = self._find_date(name, title, figure.value)
        if day is None:
            return f"{figure} days" if isinstance(self._schema[name], Date) else str(figure)
        if figure.unit == "rank":
            return f"{day} (±{figure.upper:.3g} ranks)"
        ends = (self._find_date(name, title, end) for end in (figure.lower, figure.upper))
        return f"{day} ({' to '.join(map(str, ends))})"

    @property
    def mark(self) -> str:
        """What must be said beside the figures, such as NOT PRIVATE; empty where nothing must."""
        return self.answers["rows"].mark

    def _head(self) -> str:
        head = f"one charge of {self.measure!r}; intervals are for the noise, {self.level:g} each"
        return f"{head}  [{self.mark}]" if self.mark else head

    def __str__(self) -> str:
        lines = [self._head(), f"rows: {self.rows}"]
        if self.numbers:
            titles = ("number", *next(iter(self.numbers.values())))
            rows = [
                (name, *(self._render(name, title, figure) for title, figure in found.items()))
                for name, found in self.numbers.items()
            ]
            lines += format_table(titles, rows)
        if self.values:
            rows = []
            for name, counts in self.values.items():
                shown = list(counts.items())[:DEFAULT_VALUES]
                rows += [
                    (name if at == 0 else "", str(label), str(count))
                    for at, (label, count) in enumerate(shown)
                ]
                if len(counts) > len(shown):
                    rows.append(("", f"... and {len(counts) - len(shown)} more", ""))
            lines += format_table(("category", "commonest", "rows"), rows)
        return "\n".join(lines)

    __repr__ = __str__
