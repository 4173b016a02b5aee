"""Shapes and array types shared by the samplers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK", "Floats", "Integers", "Size", "Words", "blocks", "fill_shape", "shape_of"]

Words: TypeAlias = NDArray[np.uint64]
Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Size: TypeAlias = int | tuple[int, ...] | None

BLOCK: Final = 1 << 14
"""How many draws are made at a time: a few arrays of this length fit a second-level cache."""


def shape_of(size: Size) -> tuple[int, ...]:
    """Return `size` as a shape; None, which asks for one bare number, is the empty shape."""
    if size is None:
        return ()
    entries = size if isinstance(size, tuple) else (size,)
    if any(isinstance(entry, bool | np.bool_) for entry in entries):
        raise ValueError("size must be a non-negative int or a tuple of them, not a bool")
    try:
        shape = tuple(operator.index(entry) for entry in entries)
    except TypeError:
        raise TypeError(f"size must be an int, a tuple of ints or None, not {size!r}") from None
    if any(entry < 0 for entry in shape):
        raise ValueError(f"size must not be negative; got {size!r}")
    return shape


def blocks(total: int) -> Iterator[slice]:
    """Cut ``range(total)`` into slices of at most `BLOCK`."""
    for start in range(0, total, BLOCK):
        yield slice(start, min(start + BLOCK, total))


def fill_shape(size: Size, draw: Callable[[Integers], None]) -> Integers | int:
    """Let `draw` fill a flat int64 array, and return it in the shape that `size` asks for."""
    shape = shape_of(size)
    flat: Integers = np.empty(math.prod(shape), np.int64)
    if flat.size:
        draw(flat)
    return int(flat[0]) if size is None else flat.reshape(shape)
