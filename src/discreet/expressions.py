"""The small language of `where`: comparisons of columns with constants, joined by and, or, not.

It is total and row by row: a condition is turned into tests on a row's integer codes, so no value can
make it raise and no row can look at another. Functions, other columns on the right-hand side, and
engine expressions are refused, since ``age > mean(age)`` or ``1 / x`` would leak.
"""

from __future__ import annotations

import ast
import datetime
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.coding import (
    VALUE_BITS,
    AllOf,
    AnyOf,
    Between,
    Branches,
    Calendar,
    Category,
    Code,
    Condition,
    Grid,
    NoneOf,
    OneOf,
)
from discreet.coding.calendar import day_of
from discreet.columns import CalendarColumn, Categorical, Column, Date, Numeric, Score, Unbounded
from discreet.columns.dates import as_date, part_condition

if TYPE_CHECKING:
    from discreet.schema import Schema

__all__ = ["Expression", "col", "parse"]


class Expression(ABC):
    """A condition on a row. Build it with `dp.col`, or write it as text."""

    @abstractmethod
    def condition(self, schema: Schema) -> Condition:
        """The test on integer codes that this stands for."""

    def __and__(self, other: Expression) -> Expression:
        return _Joined("and", (self, _check(other)))

    def __or__(self, other: Expression) -> Expression:
        return _Joined("or", (self, _check(other)))

    def __invert__(self) -> Expression:
        return _Not(self)

    def __bool__(self) -> bool:
        raise TypeError(
            "a condition has no truth value of its own: join conditions with &, | and ~ "
            "(and put each in parentheses), or write them as text with and, or, not."
        )


def _check(other: object) -> Expression:
    if not isinstance(other, Expression):
        raise TypeError(f"where: can't join a condition with {type(other).__name__}.")
    return other


@dataclass(frozen=True)
class _Joined(Expression):
    word: str
    parts: tuple[Expression, ...]

    def condition(self, schema: Schema) -> Condition:
        parts = tuple(part.condition(schema) for part in self.parts)
        return AllOf(parts) if self.word == "and" else AnyOf(parts)

    def __str__(self) -> str:
        return "(" + f" {self.word} ".join(str(part) for part in self.parts) + ")"


@dataclass(frozen=True)
class _Not(Expression):
    part: Expression

    def condition(self, schema: Schema) -> Condition:
        return NoneOf(self.part.condition(schema))

    def __str__(self) -> str:
        return f"(not {self.part})"


@dataclass(frozen=True)
class _Comparison(Expression):
    column: str
    sign: str
    constant: Any

    def condition(self, schema: Schema) -> Condition:
        column = schema[self.column]
        code = column.code(self.column, schema)
        if isinstance(column, Numeric | Score | CalendarColumn):
            first = column.first_value(schema) if isinstance(column, CalendarColumn) else 0
            return self._numeric(column, code, first)
        if self.sign not in ("==", "!="):
            raise ValueError(
                f"where: column {self.column!r} has categories, so use ==, != or in, not {self.sign}."
            )
        found = OneOf(code, (_cell(schema, self.column, self.constant),))
        return found if self.sign == "==" else NoneOf(found)

    def _numeric(self, column: Column, code: Code, origin: int) -> Condition:
        value = _number(self.constant, self.column, column)
        first, exact = Fraction(origin), True
        if isinstance(column, Numeric):
            first, exact = Fraction(column.lower), column.is_exact(VALUE_BITS)
        if exact:
            place = value - first
            at, whole = math.floor(place), place.denominator == 1
        else:
            assert isinstance(code, Grid)
            assert isinstance(column, Numeric)
            if value > Fraction(column.upper):
                at, whole = code.high, False
            elif value < first:
                at, whole = code.low - 1, False
            else:
                at, whole = code.of(float(value)), True
        match self.sign:
            case "<":
                return _range(code, code.low, at - 1 if whole else at)
            case "<=":
                return _range(code, code.low, at)
            case ">":
                return _range(code, at + 1, code.high)
            case ">=":
                return _range(code, at if whole else at + 1, code.high)
            case "==":
                return _range(code, at, at) if whole else AnyOf(())
            case _:
                return NoneOf(_range(code, at, at)) if whole else AllOf(())

    def __str__(self) -> str:
        return f"{_show(self.column)} {self.sign} {self.constant!r}"


@dataclass(frozen=True)
class _Membership(Expression):
    column: str
    values: tuple[Any, ...]

    def condition(self, schema: Schema) -> Condition:
        column = schema[self.column]
        if isinstance(column, CalendarColumn):
            wanted = [_number(value, self.column, column) for value in self.values]
            return column.condition(wanted, schema)
        if isinstance(column, Numeric | Score):
            return AnyOf(
                tuple(_Comparison(self.column, "==", v).condition(schema) for v in self.values)
            )
        members = tuple(_cell(schema, self.column, value) for value in self.values)
        return OneOf(column.code(self.column, schema), members)

    def __str__(self) -> str:
        return f"{_show(self.column)} in {list(self.values)!r}"


@dataclass(frozen=True)
class _Presence(Expression):
    column: str

    def condition(self, schema: Schema) -> Condition:
        """True where a cell is a number or a date, or of a declared category."""
        column = schema[self.column]
        if isinstance(column, Categorical):
            code = Category(self.column, column.code(self.column, schema).values)
            return OneOf(Branches((Between(code, 0, code.high),)), (1,))
        if not isinstance(column, Numeric | Unbounded):
            raise ValueError(
                f"where: column {self.column!r} is not one of numbers, dates or categories in the table, so "
                "it can't be asked whether a cell is missing."
            )
        # a cell that is missing is what it is filled with, so it alone is both the lowest and the highest
        low, high = (Grid(self.column, 0.0, 1.0, fill, 0.0, 1.0, 0.0) for fill in (0.0, 1.0))
        return NoneOf(AllOf((Between(low, 0, 0), Between(high, 1, 1))))

    def __str__(self) -> str:
        return f"{_show(self.column)} is not None"


def _show(name: str) -> str:
    return name if name.isidentifier() and not iskeyword(name) else f"col({name!r})"


def _plain(constant: object, name: str) -> str | bool | int | float:
    """A constant as plain Python has it, so that it can be printed and read again."""
    if isinstance(constant, str):
        return str(constant)
    if isinstance(constant, datetime.date):
        return as_date(constant, f"where: what column {name!r} is compared with").isoformat()
    if isinstance(constant, bool | np.bool_):
        return bool(constant)
    if isinstance(constant, numbers.Integral):
        return int(constant)
    if isinstance(constant, numbers.Real):
        try:
            number = float(constant)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        raise TypeError(f"where: column {name!r} must be compared with a finite number.")
    raise TypeError(
        f"where: column {name!r} must be compared with a constant, not with {type(constant).__name__}."
    )


def _range(code: Code, low: int, high: int) -> Condition:
    low, high = max(low, code.low), min(high, code.high)
    if isinstance(code, Calendar):
        return part_condition(code, tuple(range(low, high + 1)))
    return Between(code, low, high) if low <= high else AnyOf(())


def _cell(schema: Schema, name: str, value: object) -> int:
    cells = schema[name].cells(name, schema)
    for index, cell in enumerate(cells):
        if cell == value and isinstance(cell, str) == isinstance(value, str):
            return index
    known = ", ".join(repr(cell) for cell in cells[:8]) + (", ..." if len(cells) > 8 else "")
    raise ValueError(f"where: {value!r} is not a category of column {name!r}, which has {known}.")


def _number(value: object, name: str, column: Column) -> Fraction:
    if isinstance(column, Date):
        return Fraction(day_of(as_date(value, f"where: what column {name!r} is compared with")))
    if not isinstance(value, bool):
        if isinstance(value, numbers.Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        if isinstance(value, numbers.Real) and math.isfinite(value):
            return Fraction(float(value))
    raise TypeError(f"where: column {name!r} must be compared with a finite number.")


@dataclass(frozen=True, eq=False)
class _ColumnName:
    name: str

    def __lt__(self, constant: object) -> Expression:
        return self._compare("<", constant)

    def __le__(self, constant: object) -> Expression:
        return self._compare("<=", constant)

    def __gt__(self, constant: object) -> Expression:
        return self._compare(">", constant)

    def __ge__(self, constant: object) -> Expression:
        return self._compare(">=", constant)

    def __eq__(self, constant: object) -> Expression:  # type: ignore[override]
        return self._compare("==", constant)

    def __ne__(self, constant: object) -> Expression:  # type: ignore[override]
        return self._compare("!=", constant)

    __hash__ = None  # type: ignore[assignment]

    def is_in(self, values: Iterable[object]) -> Expression:
        """True where the column is one of `values`."""
        if isinstance(values, str):
            raise TypeError("is_in takes a list of values.")
        return _Membership(self.name, tuple(_plain(value, self.name) for value in values))

    def is_present(self) -> Expression:
        """True where the cell is a number or a date, or of a declared category; as text ``x is not None``."""
        return _Presence(self.name)

    def between(self, lower: object, upper: object) -> Expression:
        """True where ``lower <= column <= upper``."""
        return (self >= lower) & (self <= upper)

    def _compare(self, sign: str, constant: object) -> Expression:
        return _Comparison(self.name, sign, _plain(constant, self.name))


def col(name: str) -> _ColumnName:
    """A column in a condition.

    Conditions are tested on the integer codes of the columns: values were filled and clamped before,
    and two reals in one cell of the grid (a 2^20th of the width) count as equal.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.Count(where=(dp.col("age") >= 40) & (dp.col("ward") == "A"))
    Count(where="(age >= 40 and ward == 'A')")
    """
    return _ColumnName(name)


_SIGNS: dict[type, str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def parse(text: str) -> Expression:
    """A condition from text, such as ``"age >= 40 and sex == 'F' and not hours in (20, 40)"``.

    Columns whose names are no identifiers are written ``col('education-num')``.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(
            f"where: can't read {text!r}; write, for example, \"age >= 40 and sex == 'F'\"."
        ) from None
    return _build(tree)


def _build(node: ast.expr) -> Expression:
    match node:
        case ast.BoolOp(op=op, values=values):
            word = "and" if isinstance(op, ast.And) else "or"
            return _Joined(word, tuple(_build(value) for value in values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _Not(_build(operand))
        case ast.Compare(left=left, ops=ops, comparators=right):
            sides = [left, *right]
            parts = [_pair(a, op, b) for a, op, b in zip(sides, ops, right, strict=False)]
            return parts[0] if len(parts) == 1 else _Joined("and", tuple(parts))
        case _:
            raise _refusal(node)


def _pair(left: ast.expr, op: ast.cmpop, right: ast.expr) -> Expression:
    name, flip = _name(left), False
    if name is None:
        name, flip, left, right = _name(right), True, right, left
    if name is None or _name(right) is not None:
        raise ValueError(
            "where: each comparison has a column on one side and a constant on the other."
        )
    if isinstance(op, ast.In | ast.NotIn) and not flip:
        if not isinstance(right, ast.List | ast.Tuple | ast.Set):
            raise ValueError("where: write the values after 'in' as a list, such as ['F', 'M'].")
        inside = _Membership(name, tuple(_constant(item) for item in right.elts))
        return inside if isinstance(op, ast.In) else _Not(inside)
    if isinstance(op, ast.Is | ast.IsNot) and not flip and _is_none(right):
        present = _Presence(name)
        return present if isinstance(op, ast.IsNot) else _Not(present)
    if type(op) not in _SIGNS:
        raise _refusal(left)
    sign = _SIGNS[type(op)]
    return _Comparison(name, _FLIPPED[sign] if flip else sign, _constant(right))


def _name(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="col"), args=[ast.Constant(value=str(name))], keywords=[]):
            return name
        case _:
            return None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _constant(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value) if isinstance(value, str | int | float):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if isinstance(
            value, int | float
        ):
            return -value
        case _:
            raise _refusal(node)


def _refusal(node: ast.AST) -> ValueError:
    return ValueError(
        f"where: {ast.unparse(node)!r} is not part of the language: it has comparisons of columns with "
        "constants, in, is None, and, or, not."
    )
