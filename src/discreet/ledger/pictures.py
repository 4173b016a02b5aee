"""How charges filled a limit, drawn entry by entry."""

from __future__ import annotations

from typing import Any

from discreet.ledger.statement import Statement
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.show import open_axes

__all__ = ["draw_statement"]


def draw_statement(statement: Statement, ax: Any = None) -> Any:
    """Draw the sum of charges over the entries, and the limit that it never passes."""
    paid = [entry for entry in statement.entries if entry.booked is not None]
    sizes = [_size(entry.booked) for entry in paid if entry.booked is not None]
    limit = _limit(statement)
    if limit is None or any(size is None for size in sizes):
        raise ValueError(
            "a ledger of Rényi curves counts at several orders, which one line can't show: print the "
            "statement, or draw statement.used."
        )
    axes = open_axes(ax)
    totals, total = [0.0], 0.0
    for size in sizes:
        total += float(size or 0)
        totals.append(total)
    numbers = [0, *(entry.number for entry in paid)]
    axes.step([*numbers, numbers[-1] + 1], [*totals, total], where="post", color="#2a78b5")
    axes.axhline(limit, linestyle="--", color="0.35")
    unit = "ρ" if isinstance(statement.spent, ZCDP) else "ε"
    axes.text(0, limit, f"limit {unit} = {limit:.6g}", va="bottom", ha="left")
    axes.set_ylim(0, limit * 1.12)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("entry")
    axes.set_ylabel(f"charged so far ({unit})")
    axes.set_title(f"{statement.used:.1%} used: a fill level, not the guarantee", loc="left")
    axes.set_label(
        f"Charges of {len(paid)} entries add up to {unit} = {total:.6g} of a limit of {limit:.6g}; "
        f"{statement.used:.1%} used."
    )
    return axes


def _size(measure: Measure) -> float | None:
    if isinstance(measure, PureDP | ApproxDP):
        return float(measure.epsilon)
    return float(measure.rho) if isinstance(measure, ZCDP) else None


def _limit(statement: Statement) -> float | None:
    """The limit in what the ledger adds up: what was spent and what is left."""
    spent, left = _size(statement.spent), _size(statement.remaining)
    return None if spent is None or left is None else spent + left
