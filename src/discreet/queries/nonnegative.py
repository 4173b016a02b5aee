"""Noised counts as counts can be: none negative, and with the same sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.queries.additive import Floats

__all__ = ["nonnegative_counts"]


def nonnegative_counts(counts: Any) -> Floats:
    """Move noised counts to the nearest non-negative ones of the same sum.

    For histograms with many empty cells: half of the noise in these is negative, and setting it to 0
    alone would make the sum too large. The counts as released stay unbiased; these are not, and err less.

    Parameters
    ----------
    counts : array
        The value of a release of `Histogram` or `Count`, of any shape.

    Returns
    -------
    array of float
        max(count - t, 0) with the t that keeps the sum; all 0 where the sum isn't positive.

    Examples
    --------
    >>> from discreet.queries import nonnegative_counts
    >>> nonnegative_counts([12, 5, -3, 0, 1, -2]).tolist()
    [10.0, 3.0, 0.0, 0.0, 0.0, 0.0]

    Privacy
    -------
    A function of released counts alone: post-processing, which costs nothing. It is the Euclidean projection
    onto a simplex (Duchi, Shalev-Shwartz, Singer & Chandra 2008, Figure 1).
    """
    values = np.asarray(counts, np.float64)
    total = float(values.sum())
    if values.size == 0 or total <= 0:
        return np.zeros(values.shape)
    falling = np.sort(values, axis=None)[::-1]
    # the t at which the j largest counts, less t each, have the sum; the last whose counts stay positive
    shifts = (np.cumsum(falling) - total) / np.arange(1, values.size + 1)
    shift = shifts[np.flatnonzero(falling > shifts)[-1]]
    return np.asarray(np.maximum(values - shift, 0.0))
