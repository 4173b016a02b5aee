"""Plain text tables that fit a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence

__all__ = ["table"]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Columns side by side; the last one is wrapped to the width of the terminal."""
    whole = width or max(80, shutil.get_terminal_size((100, 24)).columns)
    sizes = [max(len(line[index]) for line in [heads, *rows]) for index in range(len(heads) - 1)]
    left = sum(sizes) + 2 * len(sizes)
    lines = []
    for row in [heads, *rows]:
        start = "".join(cell.ljust(size + 2) for cell, size in zip(row[:-1], sizes, strict=True))
        wrapped = textwrap.wrap(row[-1], max(20, whole - left)) or [""]
        lines.append((start + wrapped[0]).rstrip())
        lines += [" " * left + more for more in wrapped[1:]]
    return "\n".join(lines)
