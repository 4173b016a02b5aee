"""Sections of a report about the ledger: what is left, who paid for what."""

from __future__ import annotations

from typing import Any

from discreet.ledger.statement import Statement, shorten
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.report.blocks import Block, Chart, Facts, Grid, Section, Series, Words
from discreet.report.guarantee import name_measure
from discreet.show import Table

__all__ = ["describe_statement", "state_guarantee"]

#: How many charges are drawn one by one.
MAX_STEPS = 400


def describe_statement(statement: Statement) -> Section:
    """The section of a ledger: guarantee, fill level, how it was filled, entries."""
    name = "/" if statement.account == "/" else statement.account
    facts = [
        ("account", f"{name} (the ledger itself)" if name == "/" else name),
        ("guarantee", state_guarantee(statement)),
        ("protected", str(statement.terms.unit)),
        ("used so far", f"{statement.used:.1%}: a fill level; the guarantee is the limit"),
        (
            "spent",
            f"{name_measure(statement.spent)}, added up as {statement.terms.filter.composition!r}",
        ),
        ("left", name_measure(statement.remaining)),
    ]
    if statement.reserve[1]:
        taken, pot = (f"{float(part):.3g}" for part in statement.reserve)
        facts.append(("reserve", f"{taken} of δ = {pot} taken by events with a δ of their own"))
    facts.append(("anchor", f"{statement.count} entries in the ledger, head {statement.head}"))
    blocks: list[Block] = [_draw_meter(statement), Facts(tuple(facts))]
    blocks += [Words(line, "notice") for line in find_warnings(statement)]
    if (chart := _draw_steps(statement)) is not None:
        blocks.append(chart)
    paid = [entry for entry in statement.entries if entry.booked is not None]
    if not paid:
        blocks.append(Words("Nothing was charged to this ledger yet."))
    blocks.append(Grid(_list_entries(statement)))
    return Section("The ledger", tuple(blocks))


def state_guarantee(statement: Statement) -> str:
    """The guarantee of a statement, with its limit in letters that people write."""
    return statement.guarantee.replace(repr(statement.limit), name_measure(statement.limit))


def _list_entries(statement: Statement) -> Table:
    """The entries, what they were for first."""
    rows: list[tuple[Any, ...]] = [
        (
            entry.number,
            entry.note or entry.kind,
            "" if entry.booked is None else name_measure(entry.booked),
            "" if entry.event is None else shorten(entry.event),
            entry.time[:19] + "Z",
            entry.who,
            entry.hash[:16],
            entry.account,
        )
        for entry in statement.entries
    ]
    columns = ["entry", "what", "cost", "how", "time", "who", "hash", "account"]
    if all(entry.account == statement.account for entry in statement.entries):  # stands above
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Table(columns, rows, "Entries")


def find_warnings(statement: Statement) -> list[str]:
    """What the guarantee of a statement rests on beside proofs: lines of it that warn."""
    starts = ("NOTICE", "ASSUMED", "declared")
    lines = [line.strip() for line in str(statement).split("\n")]
    return [line for line in lines if line.startswith(starts)]


def _draw_meter(statement: Statement) -> Chart:
    used = f"{statement.used:.1%} used"
    table = Table(
        ("used", "spent", "left"),
        [(statement.used, name_measure(statement.spent), name_measure(statement.remaining))],
    )
    described = f"A bar that is filled to {statement.used:.1%} of the limit."
    return Chart(
        "meter",
        "How much of the budget is used",
        described,
        table,
        (Series(used, ("used",), (statement.used,)),),
    )


def _draw_steps(statement: Statement) -> Chart | None:
    """The sum of charges, entry by entry, against the limit; None where one line can't show it."""
    paid = [entry for entry in statement.entries if entry.booked is not None]
    sizes = [_size(entry.booked) for entry in paid if entry.booked is not None]
    spent, left = _size(statement.spent), _size(statement.remaining)
    if not 2 <= len(sizes) <= MAX_STEPS or None in (*sizes, spent, left):
        return None
    limit = (spent or 0.0) + (left or 0.0)
    unit = "ρ" if isinstance(statement.spent, ZCDP) else "ε"
    xs, ys, rows, total = [0.0], [0.0], [], 0.0
    for at, (entry, size) in enumerate(zip(paid, sizes, strict=True), 1):
        xs += [float(at), float(at)]
        ys += [total, total + (size or 0.0)]
        total += size or 0.0
        rows.append((at, entry.number, size, total))
    described = f"{len(paid)} charges add up to {unit} = {total:.6g} of a limit of {limit:.6g}."
    table = Table(("charge", "entry", f"charged ({unit})", "in all"), rows)
    ends = (0.0, float(len(paid)))
    series = (
        Series("charged so far", tuple(xs), tuple(ys), has_marks=False),
        Series(f"the limit, {unit} = {limit:.6g}", ends, (limit, limit), is_reference=True),
    )
    return Chart(
        "lines", "How the budget was filled", described, table, series, "charge", f"{unit} in all"
    )


def _size(measure: Measure) -> float | None:
    if isinstance(measure, PureDP | ApproxDP):
        return float(measure.epsilon)
    return float(measure.rho) if isinstance(measure, ZCDP) else None
