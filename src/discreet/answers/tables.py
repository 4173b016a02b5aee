"""Plain tables for terminals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["draw_bar", "format_error", "format_table", "iter_numbers"]

#: How wide a full bar is, and the longest text of a cell.
BAR_WIDTH = 12
MAX_TEXT = 48


def format_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table whose columns are as wide as what they hold; long texts are shortened."""
    cells = [list(titles), *([_shorten(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  "
        + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def draw_bar(share: float) -> str:
    """A bar as long as a share of the largest, in eighths of a character."""
    eighths = round(min(max(share, 0.0), 1.0) * BAR_WIDTH * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def format_error(error: Any) -> str:
    """The errors of an answer in a few characters: one, or the range over its numbers."""
    if error is None:
        return "depends on rows"
    numbers = list(iter_numbers(error))
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    return f"± {low:.4g}" if math.isclose(low, high) else f"± {low:.4g} to {high:.4g}"


def iter_numbers(value: Any) -> Iterator[float]:
    """All numbers of an answer's errors, one after the other."""
    if hasattr(value, "__dataclass_fields__"):
        value = tuple(vars(value).values())
    if isinstance(value, tuple):
        for part in value:
            yield from iter_numbers(part)
    elif value is not None:
        yield from np.asarray(value, np.float64).ravel().tolist()
