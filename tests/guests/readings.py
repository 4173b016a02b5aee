"""Outputs of any form as rows of numbers, with the same columns on both sides."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Stands for a number that is missing or not finite.
MISSING = -1e9


def flatten(output: Any) -> list[float]:
    """All numbers in an output, in order; what is not there counts as missing."""
    if output is None:
        return [MISSING]
    if isinstance(output, Mapping):
        return [number for key in sorted(output, key=repr) for number in flatten(output[key])]
    if isinstance(output, list | tuple):
        return [number for part in output for number in flatten(part)]
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        return [
            number
            for f in dataclasses.fields(output)
            for number in flatten(getattr(output, f.name))
        ]
    array = np.asarray(output)
    if array.dtype.kind not in "biuf":
        return [number for part in array.ravel().tolist() for number in flatten(float(part))]
    return array.astype(np.float64).ravel().tolist()


def as_rows(outputs: Sequence[Any]) -> Floats:
    """One row for each output, as wide as the widest; outputs of any form have their width as last column."""
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biuf":
        rows = outputs.reshape(len(outputs), -1).astype(np.float64)
    else:
        flat = [flatten(output) for output in outputs]
        width = max(map(len, flat))
        rows = np.full((len(flat), width + 1), MISSING)
        for at, numbers in enumerate(flat):
            rows[at, : len(numbers)] = numbers
            rows[at, -1] = len(numbers)
    return np.clip(
        np.nan_to_num(rows, nan=MISSING, posinf=-MISSING, neginf=MISSING), MISSING, -MISSING
    )


def align(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Both sides with the columns of the wider one; what the narrower one lacks is missing."""
    width = max(first.shape[1], second.shape[1])

    def widen(rows: Floats) -> Floats:
        extra = np.full((len(rows), width - rows.shape[1]), MISSING)
        return np.concatenate([rows[:, :-1], extra, rows[:, -1:]], axis=1)

    return widen(first), widen(second)


def joint_codes(*parts: Floats, most: int = 60) -> list[npt.NDArray[np.int64]] | None:
    """For outputs with few different values: which of them each one is; None if there are more."""
    few = np.concatenate([part[: 2 * most] for part in parts])
    if len(np.unique(few, axis=0)) > most:
        return None
    values, codes = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
    if len(values) > most:
        return None
    return np.split(codes.ravel(), np.cumsum([len(part) for part in parts])[:-1])
