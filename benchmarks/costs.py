"""What privacy costs: private lines beside the same models without noise, and beside gradient boosting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from comparing import at, measured_again, twin_of, without_noise
from real_tables import TABLES
from recommendations import METRICS as GAINS
from recommendations import ROWS
from texts import SHORT, named, rows_of, shown

Line = dict[str, Any]

EPSILON, DELTA = 1.0, 1e-6
MANY_ROWS = 10_000
KEPT_BAR, BOOSTING_BAR = 0.95, 0.94
#: Where a model gains less than this without noise, a share of it would be a share of luck.
SMALLEST_GAIN = 0.01
BOOSTING = {"classes": "HistGradientBoostingClassifier", "number": "HistGradientBoostingRegressor"}


@dataclass(frozen=True)
class Kept:
    """A private line at the budget above, and a line without privacy.

    Attributes
    ----------
    line, reference : dict
    metric : str
    figure, wanted : mean and standard error
    share : float or None
        What is kept of the gain; None where there is hardly a gain.
    """

    line: Line
    reference: Line
    metric: str
    figure: Sequence[float]
    wanted: Sequence[float]
    share: float | None


def compare(line: Line, reference: Line | None) -> Kept | None:
    """The share that a line keeps of the gain of another, if both were measured."""
    metric, trivial = GAINS[line["task"]]
    figure = at(line, metric, EPSILON)
    wanted = None if reference is None else without_noise(reference, metric)
    if reference is None or figure is None or wanted is None:
        return None
    gained = wanted[0] - trivial
    share = (figure[0] - trivial) / gained if gained >= SMALLEST_GAIN else None
    return Kept(line, reference, metric, figure, wanted, share)


def _private(lines: list[Line]) -> Iterator[list[Line]]:
    """Our lines on large tables, by table and task, each model with its δ if it has one."""
    for table in TABLES:
        for task in GAINS if ROWS[table] >= MANY_ROWS else ():
            chosen: dict[tuple[str, str], Line] = {}
            for line in lines:
                if (line["table"], line["task"], line["library"]) == (table, task, "discreet"):
                    kind = (line["model"], line["columns"])
                    if line["delta"] <= DELTA and line["delta"] >= chosen.get(kind, line)["delta"]:
                        chosen[kind] = line
            if chosen:
                yield list(chosen.values())


def beside_twins(lines: list[Line]) -> list[Kept]:
    """Each of ours on a large table, beside itself without noise."""
    found = (compare(line, twin_of(line, lines)) for group in _private(lines) for line in group)
    return [kept for kept in found if kept is not None]


def below_bar(lines: list[Line]) -> list[Kept]:
    """Those of ours that keep less than the bar of what they gain without noise, the least first."""
    missed = [one for one in beside_twins(lines) if one.share is not None and one.share < KEPT_BAR]
    return sorted(missed, key=lambda kept: kept.share or 0.0)


def beside_boosting(lines: list[Line]) -> list[Kept]:
    """The best of ours on each large table, beside gradient boosting without privacy."""
    found = []
    for group in _private(lines):
        facts = group[0]["table"], BOOSTING[group[0]["task"]]
        for reference in lines:
            if (reference["table"], reference["model"]) == facts:
                pairs = [compare(line, reference) for line in group if line["columns"] != "few"]
                there = [kept for kept in pairs if kept is not None]
                if there:
                    found.append(max(there, key=lambda kept: kept.figure[0]))
    return found


def percent(share: float | None) -> str:
    """A share as the page shows it."""
    return "–" if share is None else f"{100 * share:.1f} %".replace("-", "−")


def render_kept(lines: list[Line], again: list[Line]) -> list[str]:
    """A row for each model with its share on each large table, and the list of those below the bar."""
    found = beside_twins(lines)
    if not found:
        return ["No figures yet.", ""]
    tables = list(dict.fromkeys(kept.line["table"] for kept in found))
    shares = {
        (
            kept.line["task"],
            kept.line["model"],
            kept.line["columns"],
            kept.line["table"],
        ): kept.share
        for kept in found
    }
    cells = []
    for kind in dict.fromkeys(key[:3] for key in shares):
        row = [f"`{kind[1]}`", kind[2], SHORT[GAINS[kind[0]][0]]]
        for table in tables:
            share = shares.get((*kind, table))
            text = percent(share) if (*kind, table) in shares else ""
            row.append(f"**{text}**" if share is not None and share < KEPT_BAR else text)
        cells.append(row)
    text = rows_of(cells, ["", "columns", "", *(TABLES[table].title for table in tables)])
    rated, missed = [kept for kept in found if kept.share is not None], below_bar(lines)
    text += [
        f"{len(rated) - len(missed)} of {len(rated)} keep at least {100 * KEPT_BAR:.0f} %; the others are "
        f"**bold**, and here. –: without noise the model gains less than {SMALLEST_GAIN:g}, or nothing.",
        "",
    ]
    if not missed:
        return [*text, "None.", ""]
    rows = [[*_row(kept), *_second(kept, again)] for kept in missed]
    head = ["", "ours", "", "private", "without noise", "kept", "private again", "kept"]
    return text + rows_of(rows, head)


def _second(kept: Kept, again: list[Line]) -> list[str]:
    """What the second measurement says."""
    line = measured_again(kept.line, EPSILON, again)
    repeated = None if line is None else compare(line, kept.reference)
    if repeated is None:
        return ["not measured again", ""]
    return [shown(repeated.figure), percent(repeated.share)]


def render_boosting(lines: list[Line]) -> list[str]:
    """The best of ours beside gradient boosting, and whether the bar is met."""
    found = beside_boosting(lines)
    if not found:
        return ["No figures yet.", ""]
    rows = [[*_row(kept), _verdict(kept.share)] for kept in found]
    return rows_of(rows, ["", "best of ours", "", "private", "gradient boosting", "kept", "bar"])


def _verdict(share: float | None) -> str:
    if share is None:
        return "–"
    return "met" if share >= BOOSTING_BAR else "**missed**"


def _row(kept: Kept) -> list[str]:
    return [
        TABLES[kept.line["table"]].title,
        f"{named(kept.line)}, {kept.line['columns']}",
        SHORT[kept.metric],
        shown(kept.figure),
        shown(kept.wanted),
        percent(kept.share),
    ]
