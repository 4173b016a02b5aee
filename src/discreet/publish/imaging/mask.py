"""Noise on an image, with the part of it that is protected stated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.coding import VALUE_BITS, Sensitivity
from discreet.columns import Real
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.mechanisms import Distribution, mechanism_for
from discreet.models.rows import Rows
from discreet.publish.wavelets import FilterBank, IntegerTransform, padded_length
from discreet.rational import as_integer, positive, rational

__all__ = ["LEVELS", "ImageMask"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: A pixel at its upper bound is this integer, at its lower bound 0.
LEVELS = 2**12
#: Taps are multiples of 2^-16: noise of whole images stays within what can be drawn.
TAP_BITS = 16
#: The most pixels of an image.
MAX_PIXELS = 2**22


@final
@dataclass(frozen=True)
class ImageMask:
    """A channel for grey images of one size: noise on the pixels, or on their wavelet coefficients.

    Parameters
    ----------
    shape : (height, width)
    epsilon, delta : number
        With ``delta=0`` discrete Laplace noise, else the less noisy of that and Gaussian noise.
    protects : "pixel", "image", or (height, width)
        What neighbouring images may differ in: one pixel, everything, or one rectangle of this size,
        anywhere. With "image" an image can't be told from any other: that is the unit of a person who gives
        an image. "pixel" hides single pixels, not what a picture shows.
    bounds : pair of numbers
        Public: what black and white are. Values outside are clamped; NaN counts as the middle.
    bank : FilterBank, optional
        Noise is added to one level of wavelet coefficients along the columns, all bands, as the repaired form
        of Choi & Lee 2019. None: to the pixels, which takes less noise for a pixel and the same for an
        image.

    Privacy
    -------
    ε-DP, or (ε, δ), for images that differ in what `protects` says; height and width are public. Pixels
    become 4097 levels and the transform is in integers, so that the distance of neighbours is exact. No pixel
    makes it raise or changes a shape. Proof page: ``docs/proofs/imaging.md``.

    Examples
    --------
    >>> mask = ImageMask((27, 27), epsilon=4, protects="pixel")
    >>> mask.randomize(np.zeros((27, 27))).shape
    (27, 27)
    """

    shape: tuple[int, int]
    epsilon: Fraction
    delta: Fraction
    protects: Literal["pixel", "image"] | tuple[int, int]
    bounds: tuple[float, float]
    bank: FilterBank | None

    def __init__(
        self,
        shape: tuple[int, int],
        *,
        epsilon: Any,
        delta: Any = 0,
        protects: Literal["pixel", "image"] | tuple[int, int],
        bounds: tuple[float, float] = (0.0, 1.0),
        bank: FilterBank | None = None,
    ) -> None:
        size = _as_pair(shape, "shape")
        if size[0] * size[1] > MAX_PIXELS:
            raise ValueError(f"shape: at most {MAX_PIXELS} pixels are masked at once.")
        exact = rational(delta, "delta")
        if not 0 <= exact < 1:
            raise ValueError(f"delta must be at least 0 and below 1, got {delta!r}.")
        if bank is not None and not isinstance(bank, FilterBank):
            raise TypeError(f"bank must be a FilterBank or None, not {type(bank).__name__}.")
        for name, value in (
            ("shape", size),
            ("epsilon", positive(epsilon, "epsilon")),
            ("delta", exact),
            ("protects", _read_protects(protects, size)),
            ("bounds", _read_bounds(bounds)),
            ("bank", bank),
        ):
            object.__setattr__(self, name, value)

    @property
    def measure(self) -> Measure:
        """The guarantee for what is protected."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    @property
    def patch(self) -> tuple[int, int]:
        """Height and width of what neighbours may differ in."""
        match self.protects:
            case "pixel":
                return (1, 1)
            case "image":
                return self.shape
            case _:
                return self.protects

    @cached_property
    def transform(self) -> IntegerTransform | None:
        """The integer transform of a column, padded to a multiple of the bank's bands."""
        if self.bank is None:
            return None
        return IntegerTransform(self.bank, padded_length(self.shape[0], self.bank), bits=TAP_BITS)

    def sensitivity(self, patch: tuple[int, int]) -> Sensitivity:
        """How far the integers of two images can be apart that differ in a rectangle of this size."""
        rows, columns = patch
        if self.transform is None:
            return Sensitivity(rows * columns * LEVELS, rows * columns * LEVELS**2)
        l1, l2_squared = _column_distance(self.transform, self.shape[0], rows)
        return Sensitivity(columns * l1 * LEVELS, columns * l2_squared * LEVELS**2)

    @cached_property
    def distribution(self) -> Distribution:
        """The noise on each integer."""
        moved = self.sensitivity(self.patch)
        return mechanism_for(self.measure, moved).distribution(moved)

    def event(self) -> events.Event:
        """The event of masking one image, for the unit that `protects` says."""
        return self.distribution.event(self.sensitivity(self.patch))

    def event_of_image(self) -> events.Event:
        """The event of masking one image, for whoever gave it: everything in it may differ."""
        return self.distribution.event(self.sensitivity(self.shape))

    def spread(self) -> float:
        """The standard deviation of the noise on a pixel, in the unit of its values."""
        one = 1 if self.transform is None else self.transform.one
        width = self.bounds[1] - self.bounds[0]
        return self.distribution.expected_error() / one / LEVELS * width

    def randomize(self, images: Any) -> Floats:
        """Mask an image, or each of a stack of images of shape (count, height, width).

        Values are not clamped afterwards, so that they stay unbiased.
        """
        given = np.asarray(images)
        if given.dtype.kind not in "biuf":
            raise TypeError(f"images must be real numbers, not {given.dtype}.")
        if given.shape[-2:] != self.shape or given.ndim not in (2, 3):
            raise ValueError(
                f"images must have the shape {self.shape}, or (count, {self.shape[0]}, "
                f"{self.shape[1]}), got {given.shape}."
            )
        column = Real(*self.bounds)
        flat = given.reshape(-1)
        codes = Rows((flat,), (column,), ("pixel",), flat.size).codes()
        levels = codes.reshape(-1, *self.shape) * LEVELS // 2**VALUE_BITS
        return self.decode(self.blur(levels)).reshape(given.shape)

    def blur(self, levels: Integers) -> Integers:
        """Noisy integers for images whose pixels are levels from 0 to `LEVELS`.

        Pixels, or the coefficients of their columns, of shape (count, width, length of the transform).
        """
        kept = np.clip(levels, 0, LEVELS)
        if self.transform is None:
            return self.distribution.run(kept)
        lacking = self.transform.length - self.shape[0]
        columns = np.pad(np.swapaxes(kept, 1, 2), ((0, 0), (0, 0), (0, lacking)))
        return self.distribution.run(self.transform.apply(columns, LEVELS))

    def decode(self, reports: Integers) -> Floats:
        """Noisy integers as images, in the unit of their values."""
        if self.transform is None:
            found = np.asarray(reports, np.float64)
        else:
            found = np.swapaxes(self.transform.invert(reports)[..., : self.shape[0]], 1, 2)
        lower, upper = self.bounds
        return np.asarray(lower + (upper - lower) / LEVELS * found)


def _column_distance(transform: IntegerTransform, height: int, rows: int) -> tuple[int, int]:
    """How far a column's coefficients move, in L1 and squared L2, if this many successive values move by 1.

    L1: the smaller of Σ|W_ki| and, by Cauchy and Schwarz, √(number of coefficients)·L2. Squared L2: at most
    rows·‖WᵀW‖, and the norm of a symmetric matrix is at most its largest sum of absolute values in a row.
    """
    matrix = transform.matrix.tocsc()
    gram = matrix.T @ matrix
    norm = int(gram.diagonal().max()) if rows == 1 else int(abs(gram).sum(axis=1).max())
    sums = transform.column_sums()
    best = 0
    for start in range(height - rows + 1):
        window = sums[start : start + rows]
        reached = matrix.indices[matrix.indptr[start] : matrix.indptr[start + rows]]
        direct = sum(int(value) for value in window)
        by_norm = math.isqrt(len(np.unique(reached)) * rows * norm)
        best = max(best, min(direct, by_norm))
    return best, rows * norm


def _as_pair(given: Any, name: str) -> tuple[int, int]:
    try:
        height, width = given
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair (height, width).") from None
    return as_integer(height, name, minimum=1), as_integer(width, name, minimum=1)


def _read_protects(given: Any, shape: tuple[int, int]) -> Any:
    if isinstance(given, str):
        if given not in ("pixel", "image"):
            raise ValueError(
                f"protects must be 'pixel', 'image' or a pair (height, width), got {given!r}."
            )
        return given
    patch = _as_pair(given, "protects")
    if patch[0] > shape[0] or patch[1] > shape[1]:
        raise ValueError("protects must be a rectangle that fits into the image.")
    return patch


def _read_bounds(given: Any) -> tuple[float, float]:
    try:
        lower, upper = (float(value) for value in given)
    except (TypeError, ValueError):
        raise TypeError("bounds must be a pair of numbers, as in bounds=(0, 255).") from None
    if not (math.isfinite(upper - lower) and lower < upper):
        raise ValueError("bounds must be two finite numbers, the smaller one first.")
    return lower, upper
