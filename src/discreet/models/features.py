"""Derived columns as features: parts of dates, bins and nearest centres, seen as categories or as numbers.

A model sees a column as any other; its code is that of the derived column, which every engine computes from
the columns that stand in the table. Rows to predict for hold those columns, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.coding import VALUE_BITS, Code, Cuts, base_columns, grid_multiplier
from discreet.coding.chunks import Chunk
from discreet.columns import (
    Base,
    Bins,
    CalendarColumn,
    Categorical,
    Column,
    Derived,
    Integer,
    Numeric,
)
from discreet.models.facts import Facts
from discreet.models.rows import match_cells
from discreet.schema import Schema, UnknownColumn

__all__ = [
    "ComputedCategory",
    "ComputedNumber",
    "Recipe",
    "choose_features",
    "input_names",
    "recipes_of",
    "see_target",
]

Array = npt.NDArray[Any]


@final
@dataclass(frozen=True, eq=False)
class Recipe:
    """How a derived feature follows from columns of a table.

    Attributes
    ----------
    name : str
    schema : Schema
        Declares the columns that it is derived from, and derives it.
    """

    name: str
    schema: Schema

    @classmethod
    def from_schema(cls, name: str, schema: Schema) -> Recipe:
        """The recipe with as few columns as it needs."""
        needed = set(base_columns(schema.code(name)))
        found = Schema({n: column for n, column in schema.base.items() if n in needed})
        for other, column in schema.derived.items():
            if needed.issuperset(base_columns(schema.code(other))):
                found = found.derive(**{other: column})
        return cls(name, found)

    @property
    def code(self) -> Code:
        """What every engine computes."""
        return self.schema.code(self.name)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of a table that it needs."""
        return tuple(self.schema.base)

    def read(self, cells: Mapping[str, Array], column: Base) -> Array:
        """The values of the feature for rows to predict for, as the column that models see declares them."""
        fitting = {n: match_cells(cells[n], one) for n, one in self.schema.base.items()}
        codes = Chunk(fitting).code(self.code)
        if isinstance(column, Categorical):
            # a row without a value has one that isn't declared
            values = np.array([*column.values, None], dtype=object)
            return values[codes]
        assert isinstance(column, Numeric)
        return codes + float(column.lower)

    def to_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"name": self.name, "schema": self.schema.to_dict()}

    @classmethod
    def from_dict(cls, data: Any) -> Recipe:
        """The inverse of `to_dict`."""
        found = cls(data["name"], Schema.from_dict(data["schema"]))
        if found.name not in found.schema.derived:
            raise ValueError("a derived feature isn't derived.")
        return found


@final
class ComputedCategory(Categorical):
    """A derived column as a category of its labels."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(*recipe.schema.labels(recipe.name))
        self.recipe = recipe

    @property
    def plain(self) -> Base:
        """What a fitted model remembers of it: the same values, as if they stood in the table."""
        return Categorical(*self.values)

    def code(self, name: str, schema: Schema) -> Any:
        return self.recipe.code


@final
@dataclass(frozen=True, repr=False, eq=False)
class ComputedNumber(Numeric):
    """A derived column as a whole number: a part of a date, or the position of a bin."""

    recipe: Recipe
    lower: int
    upper: int
    fill: None = None

    @classmethod
    def from_recipe(cls, recipe: Recipe) -> ComputedNumber:
        """The number that the codes of a derived column stand for."""
        labels = recipe.schema.labels(recipe.name)
        first = labels[0] if isinstance(labels[0], int) else 0
        return cls(recipe, first, first + len(labels) - 1)

    @property
    def plain(self) -> Base:
        """What a fitted model remembers of it: the same values, as if they stood in the table."""
        return Integer(self.lower, self.upper, scale="linear")

    @property
    def is_log(self) -> bool:
        return False

    @property
    def filling(self) -> float:
        return float((self.lower + self.upper) // 2)

    def steps(self, bits: int) -> int:
        return self.upper - self.lower if self.is_exact(bits) else 2**bits

    def is_exact(self, bits: int) -> bool:
        return bool(self.upper - self.lower <= 2**bits)

    def grid(self, name: str, bits: int) -> Any:
        """The code of the derived column, on a coarser grid where it has more values than that."""
        if self.is_exact(bits):
            return self.recipe.code
        places = np.arange(self.upper - self.lower + 1)
        multiplier = grid_multiplier(self.width, VALUE_BITS) * 2.0 ** (bits - VALUE_BITS)
        cells = np.floor(places * multiplier).astype(np.int64)
        cuts = np.searchsorted(cells, np.arange(1, 2**bits + 1))
        return Cuts(self.recipe.code, tuple(cuts.tolist()))

    def cells(self, name: str, schema: Schema) -> tuple[Any, ...]:
        return tuple(range(self.lower, self.upper + 1))


def choose_features(facts: Facts, names: Sequence[str], numbers_only: bool, who: str) -> Facts:
    """The facts of a fit on some columns, in this order: declared ones, and derived ones as they are seen."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names) or not len(names):
        raise TypeError(
            'features must be names of columns to learn from, as in features=["age", "month"].'
        )
    if len(set(names)) != len(names):
        raise ValueError("features: a column is named twice.")
    schema, seen = facts.schema, dict[str, Column]()
    possible = (*facts.features, *schema.derived)
    for name in names:
        if name not in schema:
            raise UnknownColumn(name, possible)
        if name not in possible:
            raise ValueError(f"features: {name!r} is the target, or the column of ids.")
        if name in schema.derived:
            seen[name] = _see(Recipe.from_schema(name, schema), numbers_only, who)
    for name, column in seen.items():
        recipe: Recipe = column.recipe  # type: ignore[attr-defined]
        if facts.target in recipe.inputs:
            raise ValueError(f"features: {name!r} is derived from the target.")
    return replace(facts, schema=schema.with_features(seen), features=tuple(names))


def see_target(facts: Facts, schema: Schema) -> Facts:
    """The facts with a derived target as a category that follows from the columns of `schema`, as declared.

    So it stays what it is, on whatever scale a model learns from the columns that it is derived from.
    """
    if facts.target is None or facts.target not in schema.derived:
        return facts
    seen = ComputedCategory(Recipe.from_schema(facts.target, schema))
    return replace(facts, schema=facts.schema.with_features({facts.target: seen}))


def _see(recipe: Recipe, numbers_only: bool, who: str) -> Column:
    column: Derived = recipe.schema.derived[recipe.name]
    if not numbers_only:
        return ComputedCategory(recipe)
    if isinstance(column, Bins | CalendarColumn) and recipe.code.high <= 2**VALUE_BITS:
        return ComputedNumber.from_recipe(recipe)
    raise ValueError(
        f"{who} takes numbers only: column {recipe.name!r}, {column!r}, has no order; leave it out of "
        "features."
    )


def recipes_of(facts: Facts) -> dict[str, Recipe]:
    """How the derived features of a fit follow from columns of a table."""
    return {
        name: column.recipe
        for name, column in zip(facts.features, facts.columns, strict=True)
        if isinstance(column, ComputedCategory | ComputedNumber)
    }


def input_names(model: Any) -> tuple[str, ...]:
    """The columns of a table that a fitted model predicts from."""
    recipes: Mapping[str, Recipe] = getattr(model, "derived_", {})
    found = [recipes[name].inputs if name in recipes else (name,) for name in model.columns_]
    return tuple(dict.fromkeys(name for names in found for name in names))
