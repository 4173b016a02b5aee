"""Public facts about the columns of a table, typed in by a person or read from TOML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from discreet.coding import Code, Leaf
from discreet.coding.cells import is_unicode
from discreet.columns import (
    Base,
    Bins,
    Categorical,
    Column,
    Date,
    Integer,
    Logarithmic,
    Month,
    Nearest,
    Parts,
    Quarter,
    Real,
    Score,
    Text,
    Tree,
    Unbounded,
    Weekday,
    Year,
    base_column_from_dict,
    derived_column_from_dict,
)
from discreet.columns import (
    Derived as Derived,
)
from discreet.show import Shown, Table, read_document, write_document
from discreet.unit import Unit, parse_toml

__all__ = [
    "Bins",
    "Categorical",
    "Date",
    "Integer",
    "Month",
    "Nearest",
    "Parts",
    "Quarter",
    "Real",
    "Schema",
    "Score",
    "Text",
    "Tree",
    "Weekday",
    "Year",
]

#: How many names an error lists.
MAX_NAMES = 30


class Schema(Mapping[str, Column], Shown):
    """The declared columns of a table, by name.

    Parameters
    ----------
    columns : mapping of name to `Real`, `Integer`, `Date`, `Categorical` or `Text`, optional
        For names that are no Python identifiers. Keywords may be used beside it.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(age=dp.Real(17, 90), sex=dp.Categorical("F", "M"))
    >>> schema.derive(age_band=dp.Bins("age", [30, 60])).labels("age_band")
    ('[17, 30)', '[30, 60)', '[60, 90]')

    Privacy
    -------
    Nothing here is inferred from data: bounds and categories are what the person declares, so that
    they can't tell anything about a row. A data set may have more columns than the schema; they are
    never read. Proof page: ``docs/proofs/coding.md``.
    """

    def __init__(self, columns: Mapping[str, Base] | None = None, /, **more: Base) -> None:
        given: dict[str, Any] = {**dict(columns or {}), **more}
        if columns is not None and len(given) != len(columns) + len(more):
            raise ValueError("a column is declared twice, in the mapping and as a keyword.")
        if not given:
            raise ValueError(
                "a schema needs at least one column, as in dp.Schema(age=dp.Real(17, 90))."
            )
        for name, column in given.items():
            _check_name(name)
            if isinstance(column, Derived):
                raise TypeError(
                    f"column {name!r} is derived: declare the base columns first, "
                    f"then use schema.derive({name}=...)."
                )
            if not isinstance(column, Base):
                raise TypeError(
                    f"column {name!r} must be dp.Real(lower, upper), dp.Integer(lower, upper), "
                    f"dp.Date(first, last) or dp.Categorical(...), not {type(column).__name__}. Bounds and "
                    "categories are never taken from the data."
                )
        self._base: Mapping[str, Base] = MappingProxyType(given)
        self._derived: Mapping[str, Derived] = MappingProxyType({})
        #: The codes that were asked for: queries and plans ask for the same ones many times. Those of base
        #: columns are shared by all schemas that derive others of them.
        self._base_codes: dict[str, Code] = {}
        self._codes: dict[str, Code] = {}
        #: What was derived last, and of what: a tree asks for it several times.
        self._larger: tuple[Mapping[str, Derived], Schema] | None = None

    def _with_derived(self, derived: Mapping[str, Derived]) -> Schema:
        """The same base columns, which were checked once, with these derived ones."""
        schema = Schema.__new__(Schema)
        schema._base, schema._derived = self._base, MappingProxyType(dict(derived))
        schema._base_codes, schema._codes = self._base_codes, {}
        schema._larger = None
        return schema

    @property
    def base(self) -> Mapping[str, Base]:
        """The columns that stand in the table."""
        return self._base

    @property
    def derived(self) -> Mapping[str, Derived]:
        """The columns computed row by row from the base columns."""
        return self._derived

    def derive(self, /, **columns: Derived) -> Schema:
        """A schema with further columns, each a public function of a row's other columns."""
        last = self._larger  # read once: another thread may derive others
        if last is not None and _are_same(columns, last[0]):
            return last[1]
        derived = dict(self._derived)
        schema = self._with_derived({})
        schema._derived = MappingProxyType(derived)  # which grows here, column by column
        schema._codes = dict(self._codes)  # columns that are there already stay as they are
        for name, column in columns.items():
            _check_name(name)
            if name in self._base or name in derived:
                raise ValueError(f"derive: there is already a column {name!r}.")
            if not isinstance(column, Derived):
                raise TypeError(
                    f"derive: {name!r} must be dp.Bins, dp.Nearest or dp.Score, or a part of a date such "
                    f"as dp.Month, not {type(column).__name__}."
                )
            code = column.code(name, schema)  # raises when it does not fit the other columns
            derived[name], schema._codes[name] = column, code
        self._larger = columns, schema
        return schema

    def replace(self, /, **columns: Base) -> Schema:
        """A schema in which some base columns are declared anew, such as with bounds just bought."""
        for name in columns:
            if name not in self._base:
                raise UnknownColumn(name, tuple(self._base))
        return Schema({**self._base, **columns}).derive(**self._derived)

    def with_features(self, columns: Mapping[str, Column]) -> Schema:
        """A schema in which some derived columns are seen as others, whose codes are the same.

        Models see derived columns like this, as categories or numbers.
        """
        return self._with_derived({**self._derived, **columns})  # type: ignore[dict-item]

    def on_scale(self, names: Iterable[str], kept: Iterable[str] = ()) -> Schema:
        """The same columns, those of `names` that have `is_log` on their logarithmic scale.

        Models that scale their columns see this schema. Of derived columns those of `names` and of `kept` are
        left.
        """
        columns: dict[str, Base] = dict(self._base)
        derived = {n: self._derived[n] for n in (*names, *kept) if n in self._derived}
        for name in names:
            column = columns.get(name)
            if isinstance(column, Real | Integer) and column.is_log:
                columns[name] = Logarithmic(column)
        if columns == dict(self._base):
            return self
        return Schema(columns).with_features(derived)

    def code(self, name: str) -> Code:
        """The integer code of a column, on the grid of `VALUE_BITS` bits."""
        codes = self._base_codes if name in self._base else self._codes
        found = codes.get(name)
        if found is None:
            found = codes[name] = self[name].code(name, self)
        return found

    def labels(self, name: str) -> tuple[Any, ...]:
        """What the codes 0, 1, ... of a countable column mean; an error for a `Real`."""
        return self[name].cells(name, self)

    def __getitem__(self, name: str) -> Column:
        if name in self._base:
            return self._base[name]
        if name in self._derived:
            return self._derived[name]
        raise UnknownColumn(name, tuple(self))

    def __iter__(self) -> Iterator[str]:
        yield from self._base
        yield from self._derived

    def __len__(self) -> int:
        return len(self._base) + len(self._derived)

    def __contains__(self, name: object) -> bool:
        return name in self._base or name in self._derived

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        lines = [f"  {name}: {column!r}," for name, column in self.items()]
        return "Schema(\n" + "\n".join(lines) + "\n)"

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain data: the TOML form."""
        data: dict[str, Any] = {
            "columns": {name: column.to_dict() for name, column in self._base.items()}
        }
        if self._derived:
            data["derived"] = {name: column.to_dict() for name, column in self._derived.items()}
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """The inverse of `to_dict`."""
        unknown = set(data) - {"columns", "derived"}
        if unknown or "columns" not in data:
            raise ValueError(
                "a schema file has tables [columns.NAME] and, optionally, [derived.NAME]"
                + (f"; it can't have {sorted(unknown)[0]!r}." if unknown else ".")
            )
        for table, columns in data.items():
            if not isinstance(columns, Mapping):
                raise ValueError(f"a schema file needs tables such as [{table}.NAME].")
        base = {n: base_column_from_dict(n, entry) for n, entry in data["columns"].items()}
        schema = cls(base)
        for name, entry in data.get("derived", {}).items():
            schema = schema.derive(**{name: derived_column_from_dict(name, entry)})
        return schema

    def to_table(self, level: float = 0.95) -> Table:
        """The declared columns as a table."""
        rows = [
            (name, type(column).__name__, repr(column), name in self._derived)
            for name, column in self.items()
        ]
        return Table(("column", "kind", "declared", "derived"), rows, "Schema")

    def to_json(self) -> str:
        """The schema as JSON."""
        return write_document("schema", 1, self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """A schema that `to_json` wrote. Nothing in the text is run."""
        with read_document(text, "schema", 1) as body:
            tables = ("columns", "derived")
            return cls.from_dict({name: body[name] for name in tables if name in body})

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """A schema from a TOML file, as `write` makes it; its table [unit] is for `dp.Unit.read`."""
        return cls.from_toml(_read_text(path), str(path))

    @classmethod
    def from_toml(cls, text: str, title: str = "the text") -> Schema:
        """A schema from the text of a TOML file, which an error calls by its title."""
        data = parse_toml(text, title)
        data.pop("unit", None)
        return cls.from_dict(data)

    def write(self, path: str | Path, unit: Unit | None = None) -> None:
        """Write the schema as TOML, and the unit with it if one is given."""
        Path(path).write_text(self.to_toml(unit), encoding="utf-8")

    def to_toml(self, unit: Unit | None = None) -> str:
        """The schema as the text of a TOML file, and the unit with it if one is given."""
        lines = []
        for table, columns in self.to_dict().items():
            for name, entry in columns.items():
                lines.append(f"[{table}.{_toml(name)}]")
                lines += [f"{key} = {_toml(value)}" for key, value in entry.items()]
                lines.append("")
        if unit is not None:
            facts = {key: value for key, value in unit.to_dict().items() if value is not None}
            lines += ["[unit]", *(f"{key} = {_toml(value)}" for key, value in facts.items()), ""]
        return "\n".join(lines)


def not_a_schema(given: object) -> TypeError:
    """The error for what was given in place of a schema."""
    return TypeError(
        f"schema must be a dp.Schema, such as dp.Schema(age=dp.Integer(0, 120)), not {type(given).__name__}."
    )


class UnknownColumn(KeyError):
    """A query names a column that the schema does not declare."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(name)
        self.name, self.known = name, known

    def __str__(self) -> str:
        shown = ", ".join(self.known[:MAX_NAMES]) + (", ..." if len(self.known) > MAX_NAMES else "")
        alike = find_alike(self.name, self.known)
        hint = f" Did you mean {alike!r}?" if alike is not None else ""
        return f"column {self.name!r} is not in the schema, which has: {shown}.{hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return UnknownColumn, (self.name, self.known)


def find_alike(name: object, known: Sequence[str]) -> str | None:
    """The declared name that a person probably meant; None if none is like it."""
    if not isinstance(name, str):
        return None
    folded = {other.strip().casefold(): other for other in known}
    close = get_close_matches(name.strip().casefold(), folded, n=1, cutoff=0.7)
    return folded[close[0]] if close else None


def order_codes(schema: Schema) -> tuple[Leaf, ...]:
    """The codes of all base columns but free text: the order in which one person's rows are kept."""
    codes: list[Leaf] = []
    for name, column in schema.base.items():
        if isinstance(column, Unbounded):
            codes.append(column.ladder(name))
        elif not isinstance(column, Text):
            codes.append(column.code(name, schema))
    return tuple(codes)


def _are_same(columns: Mapping[str, Derived], others: Mapping[str, Derived]) -> bool:
    """Whether these are the same objects under the same names, in the same order."""
    return list(columns) == list(others) and all(
        others[name] is column for name, column in columns.items()
    )


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name or not is_unicode(name):
        raise TypeError(f"column names must be non-empty Unicode text, got {name!r}.")


def _read_text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no schema file {str(path)!r}: check the path, or make one with schema.write(path)."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(
            f"{path} is not a TOML file: it isn't UTF-8; write it as schema.write(path) does."
        ) from None


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = "".join(
            f"\\u{ord(c):04x}"
            if ord(c) < 32 or ord(c) == 127
            else {"\\": "\\\\", '"': '\\"'}.get(c, c)
            for c in value
        )
        return f'"{escaped}"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return repr(value)
