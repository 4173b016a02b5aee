"""How long something will take, from a rehearsal on made-up rows: before it is charged."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from discreet.dataset import PrivateDataset
    from discreet.measures import Measure

__all__ = ["Expected", "rehearse", "show_progress"]

#: Made-up rows of the two rehearsals.
FEW, MANY = 100, 1000


@final
@dataclass(frozen=True)
class Expected:
    """The time that something takes: some, and more for each row."""

    start: float
    per_row: float

    def seconds(self, rows: int) -> float:
        """The time for this many rows."""
        return self.start + self.per_row * rows

    def describe(self, rows: int | None) -> str:
        """The time in words; `rows` is a public guess of their number."""
        if rows is not None:
            return (
                f"about {_words(self.seconds(rows))} for {rows:,} rows, and the time to read them"
            )
        more = _words(self.per_row * 1e6)
        return (
            f"about {_words(self.start)}, {more} more for a million rows, and the time to read them"
        )


def rehearse(
    act: Callable[[PrivateDataset], Any], data: PrivateDataset, measure: Measure
) -> Expected:
    """Do something with made-up rows instead, twice: how long it took, and whether it works at all.

    Privacy
    -------
    No row is read and nothing is charged where the rows' answers are: made-up rows follow from schema and
    unit, and pay to a ledger of their own.
    """
    _time(act, data, measure, FEW)  # imports, and what is computed once
    few, many = (_time(act, data, measure, rows) for rows in (FEW, MANY))
    per_row = max(0.0, many - few) / (MANY - FEW)
    return Expected(max(0.0, few - per_row * FEW), per_row)


def _time(
    act: Callable[[PrivateDataset], Any], data: PrivateDataset, measure: Measure, rows: int
) -> float:
    from discreet.answers.rehearsal import MadeUpRows, make_up_rows
    from discreet.dataset import PrivateDataset
    from discreet.ledger import Ledger
    from discreet.progress import hide_bars
    from discreet.unit import REPLACE_ONE

    unit = data.unit
    table = MadeUpRows(make_up_rows(data.schema, unit, rows, 0))
    if unit.is_public:
        door = PrivateDataset(table, data.schema, unit=unit)
    else:
        aside = Ledger(limit=measure, unit=unit, accept_assumed=True)
        known = rows if unit.relation is REPLACE_ONE else None
        door = PrivateDataset(table, data.schema, ledger=aside, rows=known)
    start = time.monotonic()
    with warnings.catch_warnings(), hide_bars():
        warnings.simplefilter("ignore")
        act(door)
    return time.monotonic() - start


@contextmanager
def show_progress(title: str, expected: Expected, rows: int | None) -> Iterator[None]:
    """A bar by the expected time, if the number of rows is known; else those of whatever reads the table."""
    from discreet.progress import hide_bars, show

    if rows is None:
        yield
        return
    start, whole = time.monotonic(), max(expected.seconds(rows), 1e-3)
    with show(title, lambda: min(0.99, (time.monotonic() - start) / whole)), hide_bars():
        yield


def _words(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours"
