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

#: Made-up rows of the rehearsals.
FEW, MANY = 200, 5000
#: Seconds after which a rehearsal isn't repeated with more rows.
PATIENCE = 1.0


@final
@dataclass(frozen=True)
class Expected:
    """The time that something takes for a number of rows, which is a public guess or our own."""

    seconds: float
    rows: int

    def describe(self) -> str:
        """The time in words."""
        return f"about {_words(self.seconds)} for {self.rows:,} rows, and the time to read them"


def rehearse(
    act: Callable[[PrivateDataset], Any],
    data: PrivateDataset,
    measure: Measure,
    rows: int | None = None,
) -> Expected:
    """Do something with made-up rows instead: how long it takes, and whether it works at all.

    Parameters
    ----------
    act : callable
    data : PrivateDataset
        Its schema and unit are used, and nothing else.
    measure : Measure
        What `act` charges.
    rows : int, optional
        A public guess of the number of rows. Beyond a few thousand the time is taken to grow evenly.

    Privacy
    -------
    No row is read and nothing is charged where the rows' answers are: made-up rows follow from schema and
    unit, and pay to a ledger of their own.
    """
    first = _time(act, data, measure, FEW)  # with imports, and what is computed once
    if first > PATIENCE:
        return Expected(first, FEW)
    size = MANY if rows is None else min(rows, MANY)
    took = _time(act, data, measure, size)
    if rows is None or rows == size:
        return Expected(took, size)
    more = max(0.0, took - _time(act, data, measure, FEW)) / (size - FEW)
    return Expected(took + more * (rows - size), rows)


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
def show_progress(title: str, expected: Expected, quiet: bool) -> Iterator[None]:
    """Inside, a bar shows how far something is by its expected time; none if quiet."""
    from discreet.progress import hide_bars, show

    start, whole = time.monotonic(), max(expected.seconds, 1.0)

    def share() -> float:
        return min(0.99, (time.monotonic() - start) / whole)

    with hide_bars() if quiet else show(title, share):
        yield


def _words(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours"
