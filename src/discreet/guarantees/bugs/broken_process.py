"""Right noise in a wrong process: what comes first, what else is revealed, what fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.guarantees.bugs.broken_noise import integer_laplace

Floats = npt.NDArray[np.float64]


class CheckFirstSpendLast:
    """A door that asks whether budget is left, answers, and charges afterwards.

    As in diffprivlib, whose models call ``accountant.check`` first and ``accountant.spend`` at their end:
    a crash in between, or another analyst who spends at the same time, gets the answer for free.
    """

    def __init__(
        self, rows: Mapping[str, Any], is_left: Callable[[], bool], charge: Callable[[], None]
    ) -> None:
        self._rows, self._is_left, self._charge = rows, is_left, charge

    def count_above(self, column: str, minimum: float, *, epsilon: float) -> int:
        """How many rows have at least this value, with noise."""
        if not self._is_left():
            raise RuntimeError("nothing is left.")
        true = sum(float(cell) >= minimum for cell in self._rows[column])
        answer = true + int(integer_laplace(1 / epsilon, 1)[0])
        self._charge()
        return answer


def counts_of_seen_labels(
    rows: Sequence[str], trials: int, *, epsilon: float
) -> list[dict[str, int]]:
    """Noisy counts of the labels that occur: which ones do is revealed without noise."""
    labels, counts = np.unique(np.asarray(rows, np.str_), return_counts=True)
    noisy = counts + integer_laplace(1 / epsilon, (trials, len(labels)))
    return [dict(zip(labels.tolist(), row, strict=True)) for row in noisy.tolist()]


def sum_that_checks_its_rows(
    rows: Sequence[float], trials: int, *, epsilon: float
) -> npt.NDArray[np.int64]:
    """A noisy sum of rows in [0, 1] that refuses NaN, as careful code does."""
    if any(math.isnan(row) for row in rows):
        raise ValueError("Input contains NaN.")
    total = sum(round(min(max(row, 0.0), 1.0)) for row in rows)
    return total + integer_laplace(1 / epsilon, trials)


def message_of_a_row(rows: Sequence[float], trials: int, *, lower: float) -> list[str]:
    """What a validator says about rows below a public bound: it quotes them."""
    bad = [row for row in rows if row < lower]
    return [f"value {bad[0]} is below {lower}" if bad else "ok"] * trials
