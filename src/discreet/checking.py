"""What a check says in words: which columns don't match what was declared, beyond what noise explains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.check_report import LEVEL, CheckReport, CheckRow, format_share
from discreet.coding import base_columns
from discreet.columns import Categorical, Date, Integer, Logarithmic, Real
from discreet.events import Compose, Event
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.queries import Budget, Check, Query, check_budget
from discreet.rational import rational
from discreet.schema import Schema
from discreet.unit import Unit

__all__ = [
    "DEFAULT_SHARE",
    "CheckReport",
    "CheckRow",
    "Checkable",
    "check_along",
    "find_checked",
    "list_checked",
    "release_checked",
    "split_budget",
]

#: What ``check=True`` takes of a budget.
DEFAULT_SHARE = Fraction(1, 10)
#: A state is suspicious if it holds more than this share of the cells, beyond the noise.
MAX_SHARE = 0.05
#: From this share on it is the rule, not an exception: the declaration itself must be wrong.
RULE_SHARE = 0.5


def report_check(
    labels: Sequence[tuple[str, str]],
    counts: Sequence[int],
    half_width: float,
    level: float,
    schema: Schema,
    unit: Unit,
    paid: tuple[Event, Measure, Any, bool, bool],
) -> CheckReport:
    """Say what the noised counts of a check mean.

    Parameters
    ----------
    labels, counts : sequences
        As a release of `Check` has them.
    half_width, level : float
        How far all counts together may be from those without noise.
    schema, unit : the public facts
    paid : tuple
        Event, measure, entry, whether the counts are private, and whether the rows were made up.
    """
    named = dict(zip(labels, counts, strict=True))
    columns = list(dict.fromkeys(name for name, _ in labels if name))
    sums = [sum(count for (name, _), count in named.items() if name == c) for c in columns]
    # every column has the same rows, so the mean of their sums has less noise than each
    total = sum(sums) / len(sums) if sums else 0.0
    rows, words = [], []
    for (name, state), count in named.items():
        whole = total if name else _whole(state, named, total)
        bad = "within" not in state and count - half_width > MAX_SHARE * (whole + half_width)
        share = count / whole if whole > half_width else None
        rows.append(CheckRow(name, state, count, share, bad))
        if bad:
            words.append(_tell(name, state, min(count / max(whole, 1.0), 1.0), count, schema, unit))
    if sums and total <= 2 * half_width:
        words.append(
            "the noise is as large as the number of rows seems to be: nothing can be said about them. Check "
            "with a larger budget, or fewer columns."
        )
    return CheckReport(tuple(rows), tuple(words), half_width, level, *paid)


def _whole(state: str, named: dict[tuple[str, str], int], rows: float) -> float:
    """What a count of persons, or of rows without id, is a share of."""
    if state.startswith("persons"):
        return float(sum(c for (n, s), c in named.items() if not n and s.startswith("persons")))
    return rows + named["", state]


def _tell(name: str, state: str, share: float, count: int, schema: Schema, unit: Unit) -> str:
    """One suspicious count in words, with what it does to answers and what to do."""
    about = f"about {format_share(share)} of"
    if state == "persons over the limit":
        return (
            f"{about} the persons have more than {unit.max_rows} rows: of each only {unit.max_rows} count. "
            "Choose max_rows with dp.RowsPerPerson."
        )
    if state == "rows without id":
        return (
            f"about {count} rows have no id in `{unit.id_column}`: they are left out of every answer. Give "
            "each person an id, or protect rows (a unit without id_column)."
        )
    declared = schema.base[name]
    column = declared.source if isinstance(declared, Logarithmic) else declared
    if state == "unknown":
        return f"{about} `{name}` matches no declared category: {_tell_category(column, share)}"
    if state == "missing":
        return f"{about} `{name}` is missing: {_tell_missing(column)}"
    if state == "not a number":
        return f"{about} `{name}` is not a number: {_tell_number(column, share)}"
    if isinstance(column, Date):
        return f"{about} `{name}` {_tell_date(column, state, share)}"
    assert isinstance(column, Real | Integer)
    bound = column.upper if state == "above" else column.lower
    side = "upper" if state == "above" else "lower"
    return (
        f"{about} `{name}` lies {state} its {side} bound {bound:g}: sums and means are cut off there. "
        "Declare bounds that hold what anyone may expect, or buy them with dp.Bounds."
    )


def _tell_category(column: object, share: float) -> str:
    assert isinstance(column, Categorical)
    done = (
        "Such rows are left out of every answer about it."
        if column.unknown is None
        else f"Such cells count as {column.unknown!r}."
    )
    if share < RULE_SHARE:
        return f"spelt otherwise, or missing? {done} Declare the others, or unknown=."
    text = isinstance(column.values[0], str)
    code = text and not all(value.isascii() for value in column.values)
    cause = "spelt otherwise, such as in another case" if text else "other numbers, or text?"
    file = "; or is the file not UTF-8 (save it as UTF-8)?" if code else "?" if text else ""
    return f"{cause}{file} {done} Declare the values as they stand in the table."


def _tell_missing(column: object) -> str:
    if isinstance(column, Date):
        day = column.to_date(column.filling)
        return (
            f"such cells count as {day}, the fill. Ask where a date is not None, or declare fill=."
        )
    if not isinstance(column, Real | Integer):
        return "such rows are left out of bounds that are bought."
    return (
        f"such cells count as {column.filling:g}, the fill. Declare another fill=, or ask where it is not "
        "None."
    )


def _tell_number(column: object, share: float) -> str:
    cause = "decimal commas, units, or another separator?" if share >= RULE_SHARE else "text?"
    if not isinstance(column, Real | Integer):
        return (
            f"{cause} Such rows are left out of bounds that are bought. Write numbers as in 1234.5."
        )
    return f"{cause} Such cells count as {column.filling:g}, the fill. Write numbers as in 1234.5."


def _tell_date(column: Date, state: str, share: float) -> str:
    if state == "not a date":
        day = column.to_date(column.filling)
        cause = "another form of dates? " if share >= RULE_SHARE else ""
        return (
            f"is not a date: {cause}Such cells count as {day}, the fill. In files write dates as "
            "in 2024-03-01, or ask where a date is not None."
        )
    end = f"its first day {column.first}" if state == "before" else f"its last day {column.last}"
    return (
        f"lies {state} {end}, and counts as that day. Declare first and last so that they hold what anyone "
        "may expect."
    )


def split_budget(budget: Budget, check: bool | float | Fraction) -> tuple[Measure, Measure]:
    """What a check takes of a budget, and what it leaves; together they are the budget.

    Parameters
    ----------
    budget : Measure
    check : True or number
        True for a tenth, or the share between 0 and 1.

    Privacy
    -------
    The two parts add up to the budget by basic composition: ε and ρ are split, δ stays with the rest.
    """
    share = DEFAULT_SHARE if check is True else rational(check, "check")
    if not 0 < share < 1:
        raise ValueError(
            f"check must be True or a share of the budget between 0 and 1, got {check!r}."
        )
    left = 1 - share
    match budget:
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon * share), PureDP(epsilon * left)
        case ApproxDP(epsilon=epsilon, delta=delta):
            return PureDP(epsilon * share), ApproxDP(epsilon * left, delta)
        case ZCDP(rho=rho):
            return ZCDP(rho * share), ZCDP(rho * left)
    raise TypeError(
        "check: a share of the budget is taken of dp.PureDP, dp.ApproxDP or dp.ZCDP; with a "
        f"{type(budget).__name__}, ask data.check(...) on its own."
    )


class Checkable:
    """A data set that can be asked whether it matches what was declared."""

    def check(self: Any, budget: Budget, *columns: str) -> CheckReport:
        """Tell which columns don't match what was declared, in words, privately.

        How many cells are missing, no number or no date, lie outside the bounds, or match no declared
        category; how many persons have more rows than count; how many rows have no id.

        Parameters
        ----------
        budget : Measure or Mechanism
            As in `release`; ``dp.PureDP(0.1)`` is enough for some thousand rows and a few columns.
        *columns : str
            The columns to check; by default all that are declared with bounds or categories, or as dates.

        Privacy
        -------
        One noised vector of counts, charged before a row is read; `Check` has its sensitivity. The words
        are made of the noised counts alone. Proof page: ``docs/proofs/check.md``.
        """
        found = self.release(Check(*columns), check_budget(budget))
        one = 1 - (1 - LEVEL) / len(found.labels)  # all at once, by a union bound
        width = float(found.value[0] - found.noise_interval(one).lower[0])
        paid = (found.event, found.measure, found.entry, found.is_private, found.is_made_up)
        counts = found.value.tolist()
        return report_check(found.labels, counts, width, LEVEL, self.schema, self.unit, paid)


def find_checked(query: Query, schema: Schema) -> tuple[str, ...]:
    """The columns of the table that a query reads and a check can compare; all if there are none."""
    names = (*query.by, *query.columns)
    if not all(name in schema for name in names):
        return ()  # the query derives columns of its own
    where = () if query.where is None else base_columns(query.where.condition(schema))
    return list_checked(schema, (*names, *where))


def list_checked(schema: Schema, names: Iterable[str]) -> tuple[str, ...]:
    """The columns of the table behind some columns, derived ones too, that a check can compare."""
    used = {
        of for n in names for of in ((n,) if n in schema.base else base_columns(schema.code(n)))
    }
    return tuple(name for name in Check().checked(schema) if name in used)


def check_along(
    data: Any, columns: Sequence[str], budget: Measure, check: bool | float
) -> tuple[Check, Measure, Measure, Event]:
    """A check that is paid along with something else: its query, its budget, what is left, its event."""
    mine, rest = split_budget(budget, check)
    asked = Check(*columns)
    return asked, mine, rest, data.plan(asked, mine).event


def release_checked(data: Any, query: Query, budget: Budget, check: bool | float) -> Any:
    """An answer and a check of the columns it uses, in one charge of the budget.

    Privacy
    -------
    The two events are composed, and charged with the whole budget before a row is read.
    """
    if not isinstance(query, Query):
        data.plan(query, budget)  # says what a query is
    budget = check_budget(budget)
    columns = find_checked(query, data.schema)
    asked, mine, rest, first = check_along(data, columns, budget, check)  # type: ignore[arg-type]
    event = Compose(first, data.plan(query, rest).event)
    with data.prepaid(event, budget, note=f"{query!r}, with a check of its columns") as door:
        report = door.check(mine, *asked.names)
        release = door.release(query, rest)
    return replace(release, event=event, measure=budget, checked=report)
