"""The transform and its inverse, in time proportional to the number of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.publish.wavelets.banks import FilterBank
from discreet.rational import as_integer

__all__ = [
    "Bands",
    "bands",
    "forward",
    "forward_blocks",
    "inverse",
    "inverse_blocks",
    "padded_length",
]

Array = npt.NDArray[Any]


def padded_length(length: int, bank: FilterBank, levels: int = 1) -> int:
    """The least multiple of Mˡᵉᵛᵉˡˢ that is at least `length`.

    Examples
    --------
    >>> from discreet.publish.wavelets import HAAR, padded_length
    >>> padded_length(100, HAAR, levels=3)
    104
    """
    step = _step(bank, levels)
    return -(-as_integer(length, "length", minimum=0) // step) * step


def forward(
    values: npt.ArrayLike, bank: FilterBank, levels: int = 1, *, axis: int = 0, fill: float = 0.0
) -> Array:
    """Transform values along one axis, periodically.

    Parameters
    ----------
    values : array of any shape
        float32 stays float32, complex numbers stay complex, everything else is float64.
    bank : FilterBank
    levels : int
        How often the approximation band is transformed again.
    axis : int
    fill : float
        A public constant: values are padded with it up to `padded_length`.

    Returns
    -------
    array
        Along `axis`: the approximation band, then the M - 1 detail bands of the coarsest level, and so on
        to those of the first level; `bands` gives views.

    Examples
    --------
    >>> from discreet.publish.wavelets import HAAR
    >>> forward([1.0, 3.0, 5.0, 7.0], HAAR).round(3)
    array([ 2.828,  8.485, -1.414, -1.414])
    """
    moved = np.moveaxis(_read(values), axis, -1)
    size = padded_length(moved.shape[-1], bank, levels)
    lacking = size - moved.shape[-1]
    found = np.full((*moved.shape[:-1], size), fill, moved.dtype)
    found[..., : size - lacking] = moved
    for _ in range(levels):
        found[..., :size] = _analyse(found[..., :size], bank)
        size //= bank.bands
    return np.ascontiguousarray(np.moveaxis(found, -1, axis))


def inverse(
    coefficients: npt.ArrayLike,
    bank: FilterBank,
    levels: int = 1,
    *,
    axis: int = 0,
    length: int | None = None,
) -> Array:
    """Transform back what `forward` gave, along one axis.

    Parameters
    ----------
    coefficients : array
        Its length along `axis` must be a multiple of Mˡᵉᵛᵉˡˢ.
    bank, levels, axis
        As for `forward`.
    length : int, optional
        The length without padding: what comes after it is dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.publish.wavelets import HAAR, forward, inverse
    >>> inverse(forward(np.array([1.0, 5.0, 2.0, 2.0]), HAAR), HAAR).round(3)
    array([1., 5., 2., 2.])
    """
    found = np.moveaxis(_read(coefficients), axis, -1).copy()
    total = found.shape[-1]
    if total != padded_length(total, bank, levels):
        raise ValueError(
            f"coefficients must have a multiple of {_step(bank, levels)} entries along axis {axis}, as "
            f"forward() gives, not {total}."
        )
    for level in range(levels - 1, -1, -1):
        size = total // bank.bands**level
        found[..., :size] = _synthesise(found[..., :size], bank)
    if length is not None:
        if not 0 <= as_integer(length, "length", minimum=0) <= total:
            raise ValueError(f"length must be at most {total}, the number of coefficients.")
        found = found[..., :length]
    return np.ascontiguousarray(np.moveaxis(found, -1, axis))


def forward_blocks(
    values: npt.ArrayLike, bank: FilterBank, block: int, levels: int = 1, *, fill: float = 0.0
) -> Array:
    """Transform each block of rows alone; the last one is padded with `fill`.

    Returns
    -------
    array of shape (blocks, block, ...)
        Along the second axis as `forward` orders them.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.publish.wavelets import HAAR, forward_blocks
    >>> forward_blocks(np.ones((5, 1)), HAAR, block=4).shape  # the last block is filled up
    (2, 4, 1)
    """
    rows = _read(values)
    if rows.ndim == 0:
        raise ValueError("values must be an array of rows.")
    size = as_integer(block, "block", minimum=1)
    if size != padded_length(size, bank, levels):
        raise ValueError(
            f"block must be a multiple of {_step(bank, levels)} for {levels} levels of this bank, got {size}."
        )
    count = -(-len(rows) // size)
    padded = np.full((count * size, *rows.shape[1:]), fill, rows.dtype)
    padded[: len(rows)] = rows
    return forward(padded.reshape(count, size, *rows.shape[1:]), bank, levels, axis=1)


def inverse_blocks(
    coefficients: npt.ArrayLike, bank: FilterBank, levels: int = 1, *, length: int | None = None
) -> Array:
    """Transform back what `forward_blocks` gave: rows, without padding if `length` is given.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.publish.wavelets import HAAR, forward_blocks, inverse_blocks
    >>> rows = np.arange(5.0).reshape(5, 1)
    >>> back = inverse_blocks(forward_blocks(rows, HAAR, block=4), HAAR, length=5)
    >>> bool(np.allclose(back, rows))
    True
    """
    given = _read(coefficients)
    if given.ndim < 2:
        raise ValueError("coefficients must be blocks, as forward_blocks() gives them.")
    back = inverse(given, bank, levels, axis=1)
    rows = back.reshape(back.shape[0] * back.shape[1], *back.shape[2:])
    if length is not None and not 0 <= length <= len(rows):
        raise ValueError(f"length must be between 0 and {len(rows)}, the rows of all blocks.")
    return rows if length is None else rows[:length]


@final
@dataclass(frozen=True, eq=False)
class Bands:
    """Views of the bands of transformed values: writing to one changes the coefficients.

    Attributes
    ----------
    approximation : array
    details : tuple of tuples of arrays
        ``details[0]`` has the M - 1 detail bands of the first level, the finest one.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.publish.wavelets import HAAR, bands, forward
    >>> found = bands(forward(np.full(4, 3.0), HAAR), HAAR)
    >>> found.approximation.round(3), abs(found.details[0][0]).round(3)
    (array([4.243, 4.243]), array([0., 0.]))
    """

    approximation: Array
    details: tuple[tuple[Array, ...], ...]


def bands(coefficients: Array, bank: FilterBank, levels: int = 1, *, axis: int = 0) -> Bands:
    """Views of the bands of what `forward` gave.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.publish.wavelets import HAAR, bands, forward
    >>> found = bands(forward(np.full(8, 1.0), HAAR, 2), HAAR, levels=2)
    >>> found.approximation.round(3), [len(level[0]) for level in found.details]
    (array([2., 2.]), [4, 2])
    """
    if not isinstance(coefficients, np.ndarray):
        raise TypeError("coefficients must be a numpy array: its parts are returned as views.")
    total = coefficients.shape[axis]
    if total != padded_length(total, bank, levels):
        raise ValueError("coefficients must have the length that forward() gives.")
    moved = np.moveaxis(coefficients, axis, 0)

    def view(start: int, stop: int) -> Array:
        return np.moveaxis(moved[start:stop], 0, axis)

    details = []
    for level in range(1, levels + 1):
        size = total // bank.bands**level
        details.append(tuple(view(b * size, (b + 1) * size) for b in range(1, bank.bands)))
    return Bands(view(0, total // bank.bands**levels), tuple(details))


def _step(bank: FilterBank, levels: int) -> int:
    if not isinstance(bank, FilterBank):
        raise TypeError(f"bank must be a FilterBank, not {type(bank).__name__}.")
    return int(bank.bands ** as_integer(levels, "levels", minimum=1))


def _read(values: npt.ArrayLike) -> Array:
    given = np.asarray(values)
    if given.dtype.kind not in "biufc":
        raise TypeError(f"values must be numbers, not {given.dtype}.")
    if given.dtype == np.float32 or given.dtype.kind == "c":
        return given
    return given.astype(np.float64, copy=False)


def _analyse(values: Array, bank: FilterBank) -> Array:
    """One level along the last axis: y_b[k] = Σ_t f_b[t]·x[(Mk + t) mod n]."""
    *rest, size = values.shape
    count = size // bank.bands
    grouped = np.ascontiguousarray(values).reshape(*rest, count, bank.bands)
    found = np.zeros_like(grouped)
    for shift, taps in enumerate(bank.polyphase.astype(_real(values.dtype), copy=False)):
        _add_rolled(found, grouped @ taps.T, -shift)
    return np.ascontiguousarray(np.swapaxes(found, -1, -2)).reshape(*rest, size)


def _synthesise(coefficients: Array, bank: FilterBank) -> Array:
    """The transpose of `_analyse`, which is its inverse."""
    *rest, size = coefficients.shape
    count = size // bank.bands
    grouped = np.swapaxes(coefficients.reshape(*rest, bank.bands, count), -1, -2)
    found = np.zeros((*rest, count, bank.bands), coefficients.dtype)
    for shift, taps in enumerate(bank.polyphase.astype(_real(coefficients.dtype), copy=False)):
        _add_rolled(found, grouped @ taps, shift)
    return found.reshape(*rest, size)


def _add_rolled(total: Array, part: Array, shift: int) -> None:
    """Add `part`, rolled along the axis before the last; shorter than the shift it folds."""
    count = total.shape[-2]
    cut = -shift % count if count else 0
    total[..., : count - cut, :] += part[..., cut:, :]
    total[..., count - cut :, :] += part[..., :cut, :]


def _real(dtype: Any) -> Any:
    return np.float32 if dtype in (np.float32, np.complex64) else np.float64
