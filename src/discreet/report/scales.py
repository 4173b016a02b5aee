"""Axes of charts: where a number stands, and which numbers are written beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

__all__ = ["Scale", "find_ends", "format_number"]


@final
@dataclass(frozen=True)
class Scale:
    """Places numbers between `low` and `high` on a line from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def place(self, value: float) -> float:
        """Where a number stands; what is beyond the ends, or isn't a number, stands at an end."""
        low, high, x = self.low, self.high, value
        if self.is_log:
            x = max(x, low) if x == x else low
            low, high, x = math.log(low), math.log(high), math.log(x) if x < math.inf else math.inf
        if not x > low:
            return self.start
        if x >= high:
            return self.end
        return self.start + (x - low) / (high - low) * (self.end - self.start)

    def ticks(self, count: int) -> list[float]:
        """About `count` round numbers within the ends."""
        if self.is_log:
            return _log_ticks(self.low, self.high, count)
        step = _round_step((self.high - self.low) / count)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(step * at, 12) + 0.0 for at in range(first, last + 1)]


def find_ends(
    values: Iterable[float], limits: tuple[float, ...] = (), *, is_tight: bool = False
) -> tuple[float, float]:
    """The ends of an axis: as given, or around the finite numbers, rounded outwards unless `is_tight`."""
    if limits:
        return limits[0], limits[1]
    finite = [float(value) for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if low == high:
        far = abs(low) / 2 or 0.5
        low, high = low - far, high + far
    if is_tight:
        return low, high
    step = _round_step((high - low) / 5)
    return step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9)


def _round_step(rough: float) -> float:
    """The least of 1, 2, 5 times a power of ten that isn't smaller."""
    if not rough > 0 or not math.isfinite(rough):
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    for factor in (1, 2, 5):
        if factor * power >= rough * (1 - 1e-9):
            return factor * power
    return 10 * power


def _log_ticks(low: float, high: float, count: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [
            tick
            for power in powers
            for factor in factors
            if low * (1 - 1e-9) <= (tick := float(f"{factor}e{power}")) <= high * (1 + 1e-9)
        ]
        if len(found) <= count + 2:
            return found
    return found[:: math.ceil(len(found) / count)]


def format_number(value: float) -> str:
    """A number for a chart: four digits, thousands apart, no more decimals than it has."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞" if value < 0 else "?"
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value):,}".replace(",", " ")
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.4g}"
