"""From gradients of any norm to integers whose sum one person moves by at most `RADIUS`.

Here floating point ends. Whatever arrays a network's backward pass gives, a person's integers have an L2
norm of at most `RADIUS`, and integers add up without rounding, so the sensitivity of the sum is `RADIUS`
exactly, in any order and for any number of persons. It needs numpy alone.

Proof page: ``docs/proofs/deep.md``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "RADIUS",
    "STABILISER",
    "Coded",
    "CodedDense",
    "CodedOuter",
    "CodedRows",
    "Order",
    "Products",
    "Rule",
    "Whole",
    "clip_factors",
    "code_clipped",
    "sum_clipped",
    "sum_columns",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Rule = Literal["flat", "per-layer", "automatic"]

#: The largest L2 norm of one person's integers: what is charged.
RADIUS = 2**36
#: Factors are smaller by this share, which covers all rounding of norms, factors and products.
MARGIN = 2.0**-20
#: Norms are right to `MARGIN` for parameters of up to this many numbers.
MAX_SIZE = 2**28
#: More persons in a block might add up to more than float64 holds exactly.
MAX_BLOCK = 2**16
#: Bounds for the norm that is clipped to: beyond them squares might underflow or overflow.
SMALLEST_BOUND, LARGEST_BOUND = 1e-30, 1e30
#: Parts of a column with more rows than this, on average, are added up one after the other, which is faster.
MANY_ROWS = 200
#: Numbers that are worked on at a time, so that they stay in the cache.
CHUNK = 2**18
#: The γ of automatic clipping, as a share of the norm that is clipped to (Bu, Wang, Zha & Karypis 2023).
STABILISER = 0.01
#: Squared norms up to this are taken as zero.
TINY = 1e-280
#: The norm of a person's coded inputs, where a product is coded by its factors.
INPUT_RADIUS = 2.0**18


@final
@dataclass(frozen=True)
class Order:
    """In which order numbers of a parameter stand: an array of a `shape` whose `axes` are to be permuted."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]


@final
@dataclass(frozen=True)
class Products:
    """Whole numbers, a row for each person, whose products outputs·inputsᵀ add up to a sum."""

    outputs: Floats
    inputs: Floats

    @property
    def size(self) -> int:
        """How many numbers are held here."""
        return self.outputs.size + self.inputs.size

    def total(self) -> Floats:
        """The sum over persons: exact for up to `MAX_BLOCK` of them, in any order of summation."""
        return np.asarray(self.outputs.T @ self.inputs).ravel()

    @staticmethod
    def join(several: Sequence[Products]) -> Products:
        """The products of the persons of several blocks."""
        if len(several) == 1:
            return several[0]
        outputs, inputs = zip(*((each.outputs, each.inputs) for each in several), strict=True)
        return Products(np.concatenate(outputs), np.concatenate(inputs))


#: What a block adds to a parameter, in whole numbers below 2^53: their sum, or the products that make it.
Whole = Floats | Products


class Coded(ABC):
    """The gradients of one parameter, one for each person of a block, ready for the integer grid."""

    #: How many numbers the parameter has.
    size: int

    @abstractmethod
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """All that is known of persons, who are in the first dimension."""

    @abstractmethod
    def squared_norms(self) -> Floats:
        """The squared norm of each person's gradient; not finite where a number in it is not."""

    @abstractmethod
    def code(self, scales: Floats, counted: npt.NDArray[np.bool_]) -> Whole:
        """What counted persons add: the gradient times their scale, truncated to integers.

        The numbers are whole, and exact: below 2^53 in magnitude.
        """


@final
@dataclass(frozen=True)
class CodedDense(Coded):
    """Gradients of shape (persons, size), in the parameter's order or in one that is said."""

    gradients: npt.NDArray[Any]
    order: Order | None = None

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return (self.gradients,)

    @property
    def size(self) -> int:  # type: ignore[override]
        return int(self.gradients.shape[1])

    def squared_norms(self) -> Floats:
        found = np.empty(len(self.gradients))
        for part in _chunks(len(self.gradients), self.size):
            found[part] = _add_up(np.square(self.gradients[part], dtype=np.float64))
        return found

    def code(self, scales: Floats, counted: npt.NDArray[np.bool_]) -> Whole:
        total = np.zeros(self.size)
        for part in _chunks(len(self.gradients), self.size):
            kept, rows, factors = counted[part], self.gradients[part], scales[part]
            if not kept.all():
                rows, factors = rows[kept], factors[kept]
            integers = np.multiply(rows, factors[:, None], dtype=np.float64)
            total += np.trunc(integers, out=integers).sum(axis=0)
        if self.order is None:
            return total
        return total.reshape(self.order.shape).transpose(self.order.axes).ravel()


@final
@dataclass(frozen=True)
class CodedOuter(Coded):
    """Gradients that are the product of a person's output gradient and input."""

    inputs: npt.NDArray[Any]
    outputs: npt.NDArray[Any]

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.inputs, self.outputs

    @property
    def size(self) -> int:  # type: ignore[override]
        return int(self.inputs.shape[1] * self.outputs.shape[1])

    @cached_property
    def _wide(self) -> tuple[Floats, Floats]:
        return self.inputs.astype(np.float64), self.outputs.astype(np.float64)

    @cached_property
    def _squares(self) -> tuple[Floats, Floats]:
        """The squared norms of the two factors."""
        inputs, outputs = self._wide
        return _add_up(np.square(inputs)), _add_up(np.square(outputs))

    def squared_norms(self) -> Floats:
        lengths, heights = self._squares
        return np.asarray(lengths * heights)

    def code(self, scales: Floats, counted: npt.NDArray[np.bool_]) -> Products:
        lengths, heights = (each[counted] for each in self._squares)
        # squares that underflow are not precise: such a person adds nothing
        vivid = np.minimum(lengths, heights) > TINY
        # truncating each factor shortens it, so the product is no longer than scale times gradient
        spreads = INPUT_RADIUS / np.sqrt(np.maximum(lengths, TINY))
        inputs, outputs = (each if counted.all() else each[counted] for each in self._wide)
        inputs = inputs * spreads[:, None]
        outputs = outputs * np.where(vivid, scales[counted] / spreads, 0.0)[:, None]
        return Products(np.trunc(outputs, out=outputs), np.trunc(inputs, out=inputs))


@final
@dataclass(frozen=True)
class CodedRows(Coded):
    """Gradients of a few rows of a table: a row that occurs twice has zeros at its second place."""

    indices: npt.NDArray[np.int64]
    gradients: npt.NDArray[Any]
    rows: int

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.indices, self.gradients

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.rows * int(self.gradients.shape[2])

    def squared_norms(self) -> Floats:
        squares = np.square(self.gradients, dtype=np.float64)
        return _add_up(squares.reshape(len(squares), -1))

    def code(self, scales: Floats, counted: npt.NDArray[np.bool_]) -> Whole:
        total = np.zeros((self.rows, self.gradients.shape[2]))
        scaled = self.gradients[counted].astype(np.float64) * scales[counted][:, None, None]
        np.add.at(
            total, self.indices[counted].ravel(), np.trunc(scaled).reshape(-1, scaled.shape[2])
        )
        return total.ravel()


def clip_factors(squares: Floats, bound: float, rule: Rule) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The factor for each parameter and person, and who counts.

    Parameters
    ----------
    squares : array of shape (parameters, persons)
        Squared norms. A person with one that isn't finite is left out.
    bound : float
        The norm that gradients are clipped to.
    rule : {"flat", "per-layer", "automatic"}

    Returns
    -------
    factors : array of shape (parameters, persons)
        Gradients times these have, over all parameters, a norm below 1.
    counted : array of bool

    Privacy
    -------
    Everything about a person is a function of that person's norms.
    """
    counted = np.asarray(np.isfinite(squares).all(axis=0))
    norms = np.sqrt(np.where(counted, squares, 0.0))
    if rule == "per-layer":
        share = np.sqrt(len(squares))
        factors = 1 / (np.maximum(norms, bound / share) * share)
    else:
        length = np.sqrt((norms**2).sum(axis=0))
        counted &= np.isfinite(length)
        if rule == "flat":
            length = np.maximum(length, bound)
        else:
            length = length + STABILISER * bound
        factors = np.broadcast_to(1 / length, squares.shape)
    return factors * (1 - MARGIN), counted


def sum_clipped(
    parts: Sequence[Sequence[Coded]], bound: float, rule: Rule, present: npt.NDArray[np.bool_]
) -> list[list[Integers]]:
    """The integer sum of clipped gradients of a block, times RADIUS/`bound`; as `code_clipped`, added up."""
    return [
        [
            (each.total() if isinstance(each, Products) else each).astype(np.int64)
            for each in several
        ]
        for several in code_clipped(parts, bound, rule, present)
    ]


def code_clipped(
    parts: Sequence[Sequence[Coded]], bound: float, rule: Rule, present: npt.NDArray[np.bool_]
) -> list[list[Whole]]:
    """The clipped gradients of a block, times RADIUS/`bound`, in whole numbers that are still to be added up.

    Parameters
    ----------
    parts : sequence of sequences of Coded
        For each parameter its parts, which don't overlap.
    bound : float
        The norm that gradients are clipped to.
    rule : {"flat", "per-layer", "automatic"}
    present : array of bool
        Which places of the block have a person; the others are filled with what is public.

    Privacy
    -------
    One person's integers have an L2 norm of at most `RADIUS`, whatever the arrays hold: infinite and
    missing numbers, too. The sums of blocks add up as integers modulo 2^64.
    """
    with np.errstate(all="ignore"):
        squares = np.zeros((len(parts), len(present)))
        for place, each in enumerate(parts):
            for part in each:
                squares[place] += part.squared_norms()
        factors, counted = clip_factors(squares, bound, rule)
        counted &= present
        scales = factors * RADIUS
        return [
            [part.code(scale, counted) for part in each]
            for each, scale in zip(parts, scales, strict=True)
        ]


def sum_columns(
    columns: Floats,
    widths: Sequence[tuple[int, int]],
    bound: float,
    rule: Rule,
    present: npt.NDArray[np.bool_],
) -> list[Integers]:
    """As `sum_clipped` for a network all of whose gradients are products, with persons as columns.

    Parameters
    ----------
    columns : float64 array with one column for each person
        The inputs of all layers, one layer below the other, and below them their output gradients: a
        person's gradient in a layer is the product of the two parts. It is overwritten.
    widths : sequence of pairs of int
        How many inputs and outputs each layer has.
    bound : float
    rule : {"flat", "automatic"}
    present : array of bool

    Returns
    -------
    list of arrays of shape (outputs, inputs)

    Privacy
    -------
    As `sum_clipped`. Norms are added up along columns, element by element, so that a person's norm is the
    same bits at every place.
    """
    layers = len(widths)
    sizes = [pair[at] for at in (0, 1) for pair in widths]
    ends = [0, *accumulate(sizes)]
    with np.errstate(all="ignore"):
        squares = _sum_squares(columns, ends)
        lengths, heights = squares[:layers], squares[layers:]
        factors, counted = clip_factors(lengths * heights, bound, rule)
        # squares that underflow are not precise: such a person adds nothing to the layer
        vivid = (np.minimum(lengths, heights) > TINY) & (counted & present)
        spreads = np.where(vivid, INPUT_RADIUS / np.sqrt(np.maximum(lengths, TINY)), 0.0)
        scales = np.where(vivid, factors * RADIUS / spreads, 0.0)
        if not counted.all():  # what isn't finite stays so when it is multiplied by zero
            columns[:, ~counted] = 0.0
        # truncating each factor shortens it, so the product is no longer than scale times gradient
        parts = [columns[a:b] for a, b in pairwise(ends)]
        for part, factor in zip(parts, (*spreads, *scales), strict=True):
            part *= factor
        np.trunc(columns, out=columns)
        pairs = zip(parts[:layers], parts[layers:], strict=True)
        return [(outputs @ inputs.T).astype(np.int64) for inputs, outputs in pairs]


def _sum_squares(columns: Floats, ends: Sequence[int]) -> Floats:
    """The sum of squares of each part of a column, number by number for all columns at once."""
    squares = np.square(columns)
    if len(columns) < MANY_ROWS * (len(ends) - 1):
        return np.asarray(np.add.reduceat(squares, ends[:-1], axis=0))
    return np.array([squares[a:b].sum(axis=0) for a, b in pairwise(ends)])


def _add_up(rows: Floats) -> Floats:
    """The sum of each row; rows are overwritten.

    Halves are added to each other number by number, so that a row's sum has the same bits wherever it stands
    and however many others there are. A sum along rows may take another way for one that is alone.
    """
    width = rows.shape[1]
    if not width:
        return np.zeros(len(rows))
    while width > 1:
        half = width // 2
        rows[:, :half] += rows[:, width - half : width]
        width -= half
    return rows[:, 0].copy()


def _chunks(persons: int, size: int) -> list[slice]:
    step = max(1, CHUNK // max(1, size))
    return [slice(start, start + step) for start in range(0, persons, step)]
