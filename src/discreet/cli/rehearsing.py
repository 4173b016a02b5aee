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
#: What more rows take must be this share of the whole, or it is taken for chance.
MIN_SHARE = 0.2


@final
@dataclass(frozen=True)
class Expected:
    """The time that something takes: some, and more for each row, if that is known."""

    start: float
    per_row: float | None

    def seconds(self, rows: int | None) -> float | None:
        """The time for this many rows; None if it isn't known."""
        if rows is None or self.per_row is None:
            return None
        return self.start + self.per_row * rows

    def describe(self, rows: int | None) -> str:
        """The time in words; `rows` is a public guess of their number."""
        whole = self.seconds(rows)
        if whole is not None:
            return f"about {_words(whole)} for {rows:,} rows, and the time to read them"
        more = "more with many rows"
        if self.per_row is not None:
            more = f"{_words(self.per_row * 1e6)} more for a million rows"
        return f"about {_words(self.start)}, {more}, and the time to read them"


def rehearse(
    act: Callable[[PrivateDataset], Any], data: PrivateDataset, measure: Measure
) -> Expected:
    """Do something with made-up rows instead: how long it takes, and whether it works at all.

    Privacy
    -------
    No row is read and nothing is charged where the rows' answers are: made-up rows follow from schema and
    unit, and pay to a ledger of their own.
    """
    first = _time(act, data, measure, FEW)  # with imports, and what is computed once
    if first > PATIENCE:
        return Expected(first, None)
    few, many = (_time(act, data, measure, rows) for rows in (FEW, MANY))
    if many - few < MIN_SHARE * many:
        return Expected(many, 0.0)
    per_row = (many - few) / (MANY - FEW)
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
def show_progress(title: str, whole: float | None, quiet: bool) -> Iterator[None]:
    """Inside, a bar shows how far something is that is expected to take `whole` seconds; none if quiet."""
    from discreet.progress import hide_bars, show

    start = time.monotonic()

    def share() -> float:
        return -1.0 if whole is None else min(0.99, (time.monotonic() - start) / max(whole, 1.0))

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
