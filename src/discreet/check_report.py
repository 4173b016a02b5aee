"""What a check found: noised counts, and what is suspicious about them in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from discreet.events import Event, event_from_dict
from discreet.ledger import NOT_DATA, Entry
from discreet.measures import Measure, measure_from_dict
from discreet.show import Shown, Table, decode_value, encode_value

__all__ = ["LEVEL", "CheckReport", "CheckRow", "format_share"]

#: All counts of a check are within the stated distance with this probability.
LEVEL = 0.99


@final
@dataclass(frozen=True)
class CheckRow:
    """One count of a check.

    Attributes
    ----------
    column : str
        Empty for counts of persons and of rows without id.
    state : str
    count : int
        The noised count.
    share : float or None
        The count as a share of the column's rows, or of the persons; None where that says nothing.
    suspicious : bool
    """

    column: str
    state: str
    count: int
    share: float | None
    suspicious: bool


@final
@dataclass(frozen=True, repr=False)
class CheckReport(Shown):
    """What a table is like, compared with what was declared about it.

    Attributes
    ----------
    rows : tuple of CheckRow
    warnings : tuple of str
        What is suspicious beyond the noise, and what to do about it; empty where nothing is.
    half_width, level : float
        All counts together are within `half_width` of those without noise, with probability `level`.
    event, measure : what ran, and what was charged for it
    entry : the ledger's entry; None on public rows
    is_private : bool
        False on rows declared public, and when noise was drawn from a fixed seed.
    is_made_up : bool
        Whether the rows were made up for a rehearsal.

    Privacy
    -------
    A function of the noised counts alone. Proof page: ``docs/proofs/check.md``.
    """

    rows: tuple[CheckRow, ...]
    warnings: tuple[str, ...]
    half_width: float
    level: float
    event: Event
    measure: Measure
    entry: Any
    is_private: bool
    is_made_up: bool = False

    @property
    def is_suspicious(self) -> bool:
        """Whether anything stands out of the noise."""
        return bool(self.warnings)

    def to_dict(self) -> dict[str, dict[str, int]]:
        """The noised counts, by column and state; those of persons and of rows without id by ``""``."""
        found: dict[str, dict[str, int]] = {}
        for row in self.rows:
            found.setdefault(row.column, {})[row.state] = row.count
        return found

    def to_plain(self) -> dict[str, Any]:
        """The report as plain data, exact to the last digit."""
        return {
            "rows": [encode_value(tuple(vars(row).values())) for row in self.rows],
            "warnings": list(self.warnings),
            "half_width": encode_value(self.half_width),
            "level": encode_value(self.level),
            "event": self.event.to_dict(),
            "measure": self.measure.to_dict(),
            "entry": None if self.entry is None else self.entry.to_dict(),
            "is_private": self.is_private,
            "is_made_up": self.is_made_up,
        }

    @classmethod
    def from_plain(cls, body: Any) -> CheckReport:
        """The inverse of `to_plain`."""
        if not all(isinstance(body[name], bool) for name in ("is_private", "is_made_up")):
            raise TypeError("is_private")
        entry = body["entry"]
        return cls(
            tuple(CheckRow(*decode_value(row)) for row in body["rows"]),
            tuple(str(text) for text in body["warnings"]),
            float(decode_value(body["half_width"])),
            float(decode_value(body["level"])),
            event_from_dict(body["event"]),
            measure_from_dict(body["measure"]),
            None if entry is None else Entry.from_dict(entry),
            body["is_private"],
            body["is_made_up"],
        )

    @property
    def mark(self) -> str:
        """What must be said beside the counts, such as NOT PRIVATE; empty where nothing must."""
        return NOT_DATA if self.is_made_up else "" if self.is_private else "NOT PRIVATE"

    def to_table(self, level: float = LEVEL) -> Table:
        """The noised counts as a table; `level` is the report's own, in which all of them hold.

        Shares are those of the noised counts, cut off at 0 and 1.
        """
        rows = [
            (row.column, row.state, row.count, _clamp_share(row.share), row.suspicious)
            for row in self.rows
        ]
        titles = ("column", "state", "count", "share", "suspicious")
        return Table(titles, rows, self._head(), "\n".join(self._words()))

    def to_printed(self) -> Table:
        """The same table with shares in per cent, as people read it."""
        table = self.to_table()
        rows = [
            (*row[:3], None if row[3] is None else format_share(row[3]), row[4])
            for row in table.rows
        ]
        return Table(table.columns, rows, table.caption, table.note)

    def _table(self) -> list[tuple[str, str, str, str, str]]:
        return [
            (
                row.column,
                row.state,
                str(row.count),
                "" if row.share is None else format_share(row.share),
                "suspicious" if row.suspicious else "",
            )
            for row in self.rows
        ]

    def _head(self) -> str:
        mark = f"  [{self.mark}]" if self.mark else ""
        return (
            f"Check  {self.measure!r}{mark}  all counts ± {self.half_width:.4g} with probability "
            f"{self.level:g}"
        )

    def _words(self) -> tuple[str, ...]:
        return self.warnings or ("Nothing stands out of the noise.",)

    def __str__(self) -> str:
        lines = [_TITLES, *self._table()]
        widths = [max(len(line[at]) for line in lines) for at in range(len(_TITLES))]
        shown = [
            "  ".join(
                cell.rjust(width) if at in (2, 3) else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([self._head(), *(f"  {line}" for line in shown), *self._words()])

    __repr__ = __str__


_TITLES = ("column", "state", "count", "share", "")


def format_share(share: float) -> str:
    """A share in per cent, for people."""
    return f"{100 * min(max(share, 0.0), 1.0):.0f} %"


def _clamp_share(share: float | None) -> float | None:
    return None if share is None else min(max(share, 0.0), 1.0)
