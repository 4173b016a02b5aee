"""Columns that a statement computes: parts of dates, and CASE as bins of a number."""

from __future__ import annotations

from typing import Any

from discreet.columns import (
    Bins,
    CalendarColumn,
    Date,
    Derived,
    Month,
    Numeric,
    Quarter,
    Weekday,
    Year,
)
from discreet.schema import Schema
from discreet.sql.reading import check_parts, constant_of, kind_of, name_of, refuse

_PARTS: dict[str, type[CalendarColumn]] = {
    "YEAR": Year, "QUARTER": Quarter, "MONTH": Month, "ISODOW": Weekday, "DAYOFWEEKISO": Weekday,
}  # fmt: skip


class Names:
    """The columns that a statement may name: the schema's, and those that it derives."""

    def __init__(self, schema: Schema, tables: frozenset[str]) -> None:
        self._schema, self._tables = schema, tables
        self._made: dict[str, str] = {}

    @property
    def schema(self) -> Schema:
        """The schema with what was derived so far."""
        return self._schema

    def find(self, node: Any) -> str:
        """The name of a column, or of a column derived as an expression says."""
        kind = kind_of(node)
        if kind == "Paren":
            return self.find(node.this)
        if kind == "Column":
            return name_of(node, self._schema, self._tables)
        text = node.sql()
        if text not in self._made:
            self._made[text] = self._derive(text, self._column(node, kind))
        return self._made[text]

    def is_column(self, node: Any, name: str | None) -> bool:
        """Whether a node names the column `name`, which needn't be declared, such as that of ids."""
        if name is None or kind_of(node) != "Column":
            return False
        check_parts(node, "this", "table")
        table, identifier = node.args.get("table"), node.this
        if (table is not None and table.name not in self._tables) or node.name in self._schema:
            return table is None and node.name == name
        is_quoted = bool(identifier.args.get("quoted"))
        return bool(
            node.name == name or (not is_quoted and node.name.casefold() == name.casefold())
        )

    def _column(self, node: Any, kind: str) -> Derived:
        if kind == "Extract":
            check_parts(node, "this", "expression")
            return self._part(node, str(node.this.name), node.expression)
        if kind in ("Year", "Quarter", "Month", "DayOfWeekIso"):
            check_parts(node, "this")
            return self._part(node, kind, node.this)
        if kind == "Anonymous" and str(node.this).upper() == "DATE_PART":
            unit, *rest = node.expressions
            if len(rest) == 1:
                return self._part(node, str(unit.name), rest[0])
        if kind == "Case":
            return self._bins(node)
        raise refuse(node)

    def _part(self, node: Any, part: str, source: Any) -> Derived:
        if part.upper() not in _PARTS:
            instead = "parts of a date are YEAR, QUARTER, MONTH and ISODOW (1 is Monday, 7 Sunday)"
            raise refuse(node, instead)
        name = self.find(source)
        if not isinstance(self._schema[name], Date):
            raise refuse(node, f"declare column {name!r} as dp.Date(first, last) first")
        return _PARTS[part.upper()](name)

    def _bins(self, node: Any) -> Bins:
        """CASE WHEN x < 30 THEN 'young' WHEN x < 60 THEN 'middle' ELSE 'old' END as bins of x."""
        instead = (
            "a CASE is read as bins of one number or date, as in "
            "CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END"
        )
        check_parts(node, "ifs", "default")
        cuts, labels, names = [], [], set()
        for branch in node.args["ifs"]:
            if kind_of(branch.this) != "LT":
                raise refuse(branch.this, instead)
            names.add(self.find(branch.this.this))
            cuts.append(constant_of(branch.this.expression))
            labels.append(constant_of(branch.args["true"]))
        default = node.args.get("default")
        if default is None or len(names) != 1:
            raise refuse(node, instead)
        labels.append(constant_of(default))
        (name,) = names
        if not isinstance(self._schema[name], Numeric) or not all(
            isinstance(x, str) for x in labels
        ):
            raise refuse(node, instead)
        return Bins(name, cuts, labels=labels)  # type: ignore[arg-type]

    def _derive(self, text: str, column: Derived) -> str:
        for name, known in self._schema.derived.items():
            if type(known) is type(column) and known.to_dict() == column.to_dict():
                return name
        name = text
        while name in self._schema:
            name += " "
        self._schema = self._schema.derive(**{name: column})
        return name
