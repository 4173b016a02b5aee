"""Norms of integer rows, limited in integers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.rational import as_integer

__all__ = ["LARGEST_CODE", "MARGIN", "clip_rows"]

Integers = npt.NDArray[np.int64]

#: Rows to be clipped hold codes of at most this size.
LARGEST_CODE = 2**20
#: What is left below the radius for the rounding of the few float64 operations.
MARGIN = 1 - 2.0**-40


def clip_rows(rows: Integers, radius: int) -> Integers:
    """Rows scaled down to a Euclidean norm of at most `radius`, in exact integers.

    A row z with Σz² > radius² is multiplied by radius·(1 - 2^-40)/√Σz² and truncated towards zero;
    other rows stay as they are.

    Parameters
    ----------
    rows : int64 array of shape (n, d)
        Codes of at most 2^20 in size, which are a public bound of every code.
    radius : int
        At least 0, below 2^31.

    Returns
    -------
    int64 array of shape (n, d)
        Every row has Σz² <= radius² as integers.

    Privacy
    -------
    Each row depends on that row alone, so sums of clipped rows have L2 sensitivity `radius` under
    add/remove and 2·`radius` under replace-one. Codes beyond 2^20 are clamped there, so no row raises.
    Proof page: ``docs/proofs/coding.md``.
    """
    limit = as_integer(radius, "radius")
    if limit >= 2**31:
        raise ValueError("radius must be below 2^31.")
    z = np.clip(np.asarray(rows, np.int64), -LARGEST_CODE, LARGEST_CODE)
    if z.ndim != 2 or z.shape[1] > 2**20:
        raise ValueError("rows must be a two-dimensional array with at most 2^20 columns.")
    squares = np.einsum("ij,ij->i", z, z)  # below 2^60: exact
    scale = limit * MARGIN / np.sqrt(np.maximum(squares, 1).astype(np.float64))
    scaled = np.trunc(z * scale[:, None]).astype(np.int64)
    return np.where((squares > limit * limit)[:, None], scaled, z)
