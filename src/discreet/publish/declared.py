"""What is declared about made-up rows: shares of their classes, and public rows they begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.columns import Numeric
from discreet.publish.mask import Start

__all__ = ["ranges_of", "shares_of", "start_of"]

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]


def shares_of(labels: Any, classes: Array) -> Floats | None:
    """Read the shares of the classes, in their order; None where a word says how labels are found."""
    if isinstance(labels, str):
        return None
    given = labels
    if isinstance(given, Mapping):
        if set(given) != set(classes.tolist()):
            raise ValueError("labels must have a share for each of the classes, and no other.")
        given = [given[label] for label in classes.tolist()]
    try:
        shares = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise TypeError("labels must be a word, or the shares of the classes.") from None
    if shares.shape != (len(classes),) or not (shares > 0).all() or not np.isfinite(shares).all():
        raise ValueError(
            f"labels must be one share greater than 0 for each of the {len(classes)} classes."
        )
    return np.asarray(shares / shares.sum())


def start_of(start: Any, columns: tuple[Any, ...], classes: Array) -> Start | None:
    """Read public rows, with columns scaled to [-1, 1] and classes as their positions; None for none."""
    if start is None:
        return None
    try:
        rows, labels = start
        x = np.asarray(rows, np.float64)
    except (TypeError, ValueError):
        raise TypeError("start must be a pair (X, y) of public rows of numbers.") from None
    y = np.asarray(labels)
    if x.ndim != 2 or x.shape[1] != len(columns) or y.shape != x.shape[:1]:
        raise ValueError(
            f"start must hold rows of {len(columns)} features, and one label for each row."
        )
    if not np.isfinite(x).all() or not np.isin(y, classes).all():
        raise ValueError("start must hold finite numbers, and labels that are declared.")
    lower, half, wide = ranges_of(columns)
    z = (x[:, wide] - (lower + half)[wide]) / half[wide]
    return Start(z, np.searchsorted(classes, y))


def ranges_of(columns: tuple[Any, ...]) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Lower bounds, half widths, and which columns have a width."""
    assert all(isinstance(column, Numeric) for column in columns)
    lower = np.array([float(column.lower) for column in columns])
    half = np.array([column.width / 2 for column in columns])
    return lower, half, half > 0
