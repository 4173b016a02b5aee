"""What repetitions say about a number, and tables of Markdown that show it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Numbers", "Summary", "markdown", "summarise"]

Numbers = dict[str, float]


@dataclass(frozen=True)
class Summary:
    """What the repetitions of one setting say about one number."""

    mean: float
    error: float
    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Summary:
        found = np.array(list(values), np.float64)
        with np.errstate(invalid="ignore"):  # an infinite number has no neighbours
            error = found.std(ddof=1) / math.sqrt(len(found)) if len(found) > 1 else math.nan
            low, median, high = np.quantile(found, [0.25, 0.5, 0.75])
        return cls(*(float(v) for v in (found.mean(), error, median, low, high)), len(found))

    def __str__(self) -> str:
        """Mean and standard error; a single run has none."""
        return f"{self.mean:.4g}" + ("" if math.isnan(self.error) else f" ± {self.error:.2g}")

    @property
    def middle(self) -> str:
        """The median with the quartiles, for what has no useful mean."""
        return f"{self.median:.4g} ({self.low:.4g} … {self.high:.4g})"


def summarise(runs: Iterable[Numbers]) -> dict[str, Summary]:
    """Each number's summary over repetitions."""
    found = list(runs)
    return {name: Summary.of(run[name] for run in found) for name in found[0]}


def markdown(heading: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table of Markdown."""
    names = list(heading)
    lines = [names, ["---"] * len(names), *([str(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
