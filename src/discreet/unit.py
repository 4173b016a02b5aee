"""Who is protected: the change of a data set that the answers must hide."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from discreet.rational import as_integer

__all__ = ["ADD_REMOVE", "PUBLIC", "REPLACE_ONE", "Relation", "Unit", "as_unit", "parse_toml"]


class Relation(Enum):
    """How two neighbouring data sets differ."""

    ADD_REMOVE = "add_remove"
    REPLACE_ONE = "replace_one"
    PUBLIC = "public"

    def __repr__(self) -> str:
        return f"dp.{self.name}"


ADD_REMOVE = Relation.ADD_REMOVE
REPLACE_ONE = Relation.REPLACE_ONE
PUBLIC = Relation.PUBLIC


@dataclass(frozen=True)
class Unit:
    """The protected unit: one person, and what that person can change.

    Parameters
    ----------
    relation : ADD_REMOVE, REPLACE_ONE or PUBLIC
        `ADD_REMOVE`: a person may be in the data or not; the number of rows is private.
        `REPLACE_ONE`: a person's rows may be replaced by others; the number of rows is public.
        `PUBLIC`: nobody is protected. Nothing is charged and results are marked *not private*.
    id_column : str, optional
        The column that says which rows belong to the same person. Rows without an id are dropped.
        Without it every row is a person of its own.
    max_rows : int, optional
        How many rows a person may contribute to an answer. With `id_column` it must be given; further
        rows are left out by a rule that looks at that person's rows alone.

    Privacy
    -------
    The relation, the id column and `max_rows` decide the sensitivity of every query and are stored in
    the ledger, which refuses data sets with another unit. Proof page: ``docs/proofs/coding.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> print(dp.Unit(dp.ADD_REMOVE, id_column="patient", max_rows=3))
    a person is in the data or not (by column 'patient', at most 3 rows each)
    """

    relation: Relation = ADD_REMOVE
    id_column: str | None = None
    max_rows: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.relation, Relation):
            raise TypeError(
                "relation must be dp.ADD_REMOVE, dp.REPLACE_ONE or dp.PUBLIC, "
                f"not {self.relation!r}."
            )
        if self.id_column is not None and not isinstance(self.id_column, str):
            raise TypeError("id_column must be the name of a column.")
        if self.max_rows is not None:
            as_integer(self.max_rows, "max_rows", minimum=1)
        if self.id_column is not None and self.max_rows is None:
            raise ValueError(
                "max_rows must be given with id_column: say how many rows of one person may count, "
                f"as in dp.Unit(dp.{self.relation.name}, id_column={self.id_column!r}, max_rows=1)."
            )
        if self.id_column is None and self.max_rows is not None:
            raise ValueError(
                "max_rows needs id_column: without it nobody can tell which rows belong together."
            )

    @property
    def rows_per_person(self) -> int:
        """The most rows that one person can have in an answer."""
        return self.max_rows or 1

    @property
    def is_public(self) -> bool:
        """Whether the rows were declared public."""
        return self.relation is PUBLIC

    @property
    def length_is_public(self) -> bool:
        """Whether the number of rows may be used as it is."""
        return self.relation is REPLACE_ONE and self.id_column is None

    def to_dict(self) -> dict[str, Any]:
        """The unit as plain data."""
        return {
            "relation": self.relation.value,
            "id_column": self.id_column,
            "max_rows": self.max_rows,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Unit:
        """The inverse of `to_dict`."""
        return cls(Relation(data["relation"]), data["id_column"], data["max_rows"])

    @classmethod
    def read(cls, path: str | Path) -> Unit | None:
        """The unit that a schema file declares in its table [unit]; None if it has no such table."""
        return cls.from_toml(Path(path).read_text(encoding="utf-8"), str(path))

    @classmethod
    def from_toml(cls, text: str, title: str = "the text") -> Unit | None:
        """The unit that the text of a schema file declares; an error calls it by its title."""
        data = parse_toml(text, title).get("unit")
        if data is None:
            return None
        if not isinstance(data, dict) or set(data) - {"relation", "id_column", "max_rows"}:
            raise ValueError(
                f"{title}: the table [unit] has relation, id_column and max_rows, and nothing else."
            )
        relations = [relation.value for relation in Relation]
        if data.get("relation") not in relations:
            raise ValueError(f"{title}: [unit] needs relation = one of {', '.join(relations)}.")
        return cls(Relation(data["relation"]), data.get("id_column"), data.get("max_rows"))

    def __str__(self) -> str:
        words = {
            ADD_REMOVE: "a person is in the data or not",
            REPLACE_ONE: "a person's data is replaced, the number of rows is public",
            PUBLIC: "nobody is protected",
        }[self.relation]
        if self.id_column is not None:
            words += f" (by column {self.id_column!r}, at most {self.max_rows} rows each)"
        return words


def parse_toml(text: str, title: str) -> dict[str, Any]:
    """The tables of a schema file."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))  # a byte order mark, as Windows writes it
    except tomllib.TOMLDecodeError as error:
        raise ValueError(
            f"{title} is not a TOML file: {error}; write it as schema.write(path) does."
        ) from None


def as_unit(unit: Unit | Relation) -> Unit:
    """A `Unit`; a bare relation means one row per person."""
    if isinstance(unit, Unit):
        return unit
    if isinstance(unit, Relation):
        return Unit(unit)
    raise TypeError(
        f"unit must be a dp.Unit, such as dp.Unit(dp.ADD_REMOVE), not {type(unit).__name__}."
    )
