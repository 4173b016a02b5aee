"""Wavelet scattering: features of images that are fixed in advance, and so tell nothing about anyone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy import fft

from discreet.rational import as_integer, positive

__all__ = ["Scattering"]

Singles = npt.NDArray[np.float32]
Complexes = npt.NDArray[np.complex64]

#: Images are transformed this many at a time, the last ones with blank ones beside them.
BLOCK = 32
#: Pixels beyond this are clamped, so that no sum overflows.
MAX_PIXEL = 1e6
#: What is added to variances before the root is taken.
_SMALLEST_VARIANCE = 1e-5


@final
@dataclass(frozen=True)
class Scattering:
    """The wavelet scattering transform of grey images: stable features to put a linear model on.

    An image is averaged; its modulus after each Morlet wavelet is averaged; and so is the modulus after
    two of them, the second coarser than the first (Mallat 2012; Bruna & Mallat 2013). Nothing is learned.
    With `groups`, the coefficients of an image are standardised within each group of channels, as Tramèr &
    Boneh 2021 do before a private linear model.

    Parameters
    ----------
    shape : pair of int
        Rows and columns of the images.
    scales : int
        J: averages reach over about 2^J pixels.
    orientations : int
        L: how many directions wavelets have.
    groups : int, optional
        The number of groups of channels that are standardised; it must divide `channels`, of which there
        are 81 with J = 2 and L = 8. None: coefficients as they are.
    brightest : float
        The value of a pixel that counts as 1.

    Privacy
    -------
    Each image's features depend on that image alone: images are worked on in blocks of one size, padded
    with blank images, so that not even the last bit depends on how many others there are (a test, on the
    machine at hand). A pixel that is no number counts as 0. Nothing is charged: features of private images
    are as private as the images.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.deep.scattering import Scattering
    >>> Scattering((28, 28)).transform(np.zeros((3, 784))).shape
    (3, 3969)
    """

    shape: tuple[int, int] = (28, 28)
    scales: int = 2
    orientations: int = 8
    groups: int | None = 27
    brightest: float = 255.0

    def __post_init__(self) -> None:
        rows, columns = self.shape
        for size in (rows, columns):
            as_integer(size, "shape", minimum=1)
        as_integer(self.scales, "scales", minimum=1)
        as_integer(self.orientations, "orientations", minimum=1)
        positive(self.brightest, "brightest")
        if min(rows, columns) <= 2**self.scales:
            raise ValueError(
                f"shape must be larger than 2^scales = {2**self.scales} pixels in both directions, got "
                f"{self.shape!r}."
            )
        if self.groups is not None and (
            as_integer(self.groups, "groups", minimum=1) and self.channels % self.groups
        ):
            raise ValueError(
                f"groups must divide the number of channels, {self.channels}, got {self.groups!r}; None "
                "leaves the coefficients as they are."
            )

    @property
    def channels(self) -> int:
        """How many averaged images there are: 1 + JL + L²J(J-1)/2."""
        j, n = self.scales, self.orientations
        return 1 + j * n + n * n * j * (j - 1) // 2

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """Channels, rows and columns of the features of one image."""
        step = 2**self.scales
        return (self.channels, *(-(-size // step) for size in self.shape))

    def transform(self, X: npt.ArrayLike) -> Singles:
        """The features of images, one flat row each.

        Parameters
        ----------
        X : array of shape (images, rows·columns) or (images, rows, columns)
        """
        images = np.asarray(X)
        if images.shape[1:] not in ((self.shape[0] * self.shape[1],), tuple(self.shape)):
            raise ValueError(
                f"X must hold images of {self.shape[0]} × {self.shape[1]} pixels, one a row; it is an array "
                f"of shape {images.shape}."
            )
        width = math.prod(self.output_shape)
        found = np.empty((len(images), width), np.float32)
        for start in range(0, len(images), BLOCK):
            part = images[start : start + BLOCK].reshape(-1, *self.shape)
            block = np.zeros((BLOCK, *self.shape), np.float32)
            with np.errstate(all="ignore"):
                kept = np.nan_to_num(part.astype(np.float64), posinf=MAX_PIXEL, neginf=-MAX_PIXEL)
                block[: len(part)] = np.clip(kept, -MAX_PIXEL, MAX_PIXEL) / self.brightest
            done = self._standardise(self._bank.scatter(block))
            found[start : start + BLOCK] = done[: len(part)].reshape(len(part), width)
        return found

    __call__ = transform

    @property
    def _bank(self) -> FilterBank:
        return _filter_bank(*self.shape, self.scales, self.orientations)

    def _standardise(self, coefficients: Singles) -> Singles:
        """Coefficients of each image and group of channels with mean 0 and variance 1, nearly."""
        if self.groups is None:
            return coefficients
        grouped = coefficients.reshape(len(coefficients), self.groups, -1)
        centred = grouped - grouped.mean(axis=2, keepdims=True)
        variance = (centred * centred).mean(axis=2, keepdims=True)
        return np.asarray(centred / np.sqrt(variance + np.float32(_SMALLEST_VARIANCE)))


@final
@dataclass(frozen=True)
class FilterBank:
    """Morlet wavelets for images of one size, in the frequency domain, and averages as matrices.

    Notes
    -----
    Wavelet j turned by θ has, before it is made to vanish at frequency 0, the transform of a Gaussian of
    width 0.8·2^j around the frequency 3π/4·2^-j in direction θ, elongated across it by L/4. Averages are
    Gaussians of width 0.8·2^(J-1) (the constants of Kymatio; Andreux et al. 2020). Wavelets have a common
    factor, the largest at which no frequency of an image is amplified.
    """

    rows: int
    columns: int
    scales: int
    orientations: int

    @cached_property
    def padded(self) -> tuple[int, int]:
        """The size of images with a mirrored margin of at least 2^J pixels: a multiple of 2^J."""
        step = 2**self.scales
        rows, columns = (-(-n // step) * step + 2 * step for n in (self.rows, self.columns))
        return rows, columns

    @cached_property
    def wavelets(self) -> npt.NDArray[np.float64]:
        """By scale and orientation, over all frequencies."""
        found = np.array(
            [
                [self._morlet(j, math.pi * t / self.orientations) for t in range(self.orientations)]
                for j in range(self.scales)
            ]
        )
        low = self.averages[0][0], self.averages[0][1]
        power = np.zeros(self.padded)
        for wavelet in found.reshape(-1, *self.padded):
            power += (wavelet**2 + _mirror(wavelet) ** 2) / 2
        room = 1 - np.outer(*(np.abs(fft.fft(side)) ** 2 for side in low))
        seen = power > 1e-12
        return np.asarray(found * math.sqrt(float((room[seen] / power[seen]).min())))

    def _morlet(self, j: int, angle: float) -> npt.NDArray[np.float64]:
        width, across = 0.8 * 2**j, 4 / self.orientations
        centre = 3 * math.pi / 4 / 2**j
        bump, at_zero = np.zeros(self.padded), np.zeros(self.padded)
        y, x = (2 * math.pi * fft.fftfreq(size) for size in self.padded)
        for up in range(-2, 3):  # frequencies are periodic
            for right in range(-2, 3):
                v, u = np.meshgrid(y + 2 * math.pi * up, x + 2 * math.pi * right, indexing="ij")
                along = u * math.cos(angle) + v * math.sin(angle)
                aside = (v * math.cos(angle) - u * math.sin(angle)) / across
                bump += np.exp(-(width**2) / 2 * ((along - centre) ** 2 + aside**2))
                at_zero += np.exp(-(width**2) / 2 * (along**2 + aside**2))
        return np.asarray(bump - bump[0, 0] / at_zero[0, 0] * at_zero)

    @cached_property
    def averages(self) -> list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
        """The weights of the average along both sides, by resolution 2^-j, around pixel 0."""
        found = []
        for j in range(self.scales + 1):
            width = 0.8 * 2.0 ** (self.scales - 1 - j)
            sides = []
            for size in self.padded:
                length = size // 2**j
                away = np.arange(-4 * length, 4 * length)
                weights = np.exp(-(away**2) / (2 * width**2)).reshape(8, length).sum(axis=0)
                sides.append(weights / weights.sum())
            found.append((sides[0], sides[1]))
        return found

    @cached_property
    def _means(self) -> list[tuple[Singles, Singles]]:
        """Matrices that average the rows and columns of an image and keep every 2^(J-j)-th inside."""
        found = []
        for j in range(self.scales):
            sides = []
            for weights, size in zip(self.averages[j], (self.rows, self.columns), strict=True):
                places = 2 ** (self.scales - j) * (1 + np.arange(-(-size // 2**self.scales)))
                shifts = np.arange(len(weights))[None, :] - places[:, None]
                sides.append(weights[shifts % len(weights)].astype(np.float32))
            found.append((sides[0], sides[1]))
        return found

    def wavelets_at(self, resolution: int, j: int) -> npt.NDArray[np.float64]:
        """The wavelets of a scale, for images of which every 2^resolution-th pixel is left."""
        return np.array([_fold(wavelet, 2**resolution) for wavelet in self.wavelets[j]])

    @cached_property
    def _filters(self) -> dict[tuple[int, int], Complexes]:
        return {
            (r, j): self.wavelets_at(r, j).astype(np.complex64)
            for j in range(self.scales)
            for r in range(j + 1)
        }

    def scatter(self, images: Singles) -> Singles:
        """The coefficients by image and channel: of order 0, then 1 (by scale), then 2."""
        step = 2**self.scales
        margins = [
            (step, full - size - step)
            for full, size in zip(self.padded, (self.rows, self.columns), strict=True)
        ]
        padded = np.pad(images, [(0, 0), *margins], mode="reflect")
        first, second = [], []
        spectrum = fft.fft2(padded)
        for j in range(self.scales):
            moduli = self._moduli(spectrum[:, None], 0, j)
            first.append(self._average(moduli, j))
            coarser = fft.fft2(moduli) if j + 1 < self.scales else None
            for k in range(j + 1, self.scales):
                assert coarser is not None
                second.append(self._average(self._moduli(coarser[:, :, None], j, k), k))
        flat = [part.reshape(len(images), -1, *part.shape[-2:]) for part in (*first, *second)]
        return np.concatenate([self._average(padded[:, None], 0), *flat], axis=1)

    def _moduli(self, spectrum: Complexes, resolution: int, j: int) -> Singles:
        """The modulus after the wavelets of scale j, at resolution 2^-j."""
        filters, factor = self._filters[resolution, j], 2 ** (j - resolution)
        rows, columns = (size // factor for size in spectrum.shape[-2:])
        total: Any = 0
        # multiplied and folded at once, which leaves every factor-th pixel
        for top in range(0, rows * factor, rows):
            for left in range(0, columns * factor, columns):
                part = np.s_[..., top : top + rows, left : left + columns]
                total = total + spectrum[part] * (filters[part] / np.float32(factor**2))
        return np.asarray(np.abs(fft.ifft2(total, overwrite_x=True)))

    def _average(self, images: Singles, j: int) -> Singles:
        down, across = self._means[j]
        return np.asarray(down @ (images @ across.T))


@lru_cache(maxsize=8)
def _filter_bank(rows: int, columns: int, scales: int, orientations: int) -> FilterBank:
    return FilterBank(rows, columns, scales, orientations)


def _mirror(spectrum: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The spectrum at opposite frequencies."""
    return np.roll(spectrum[::-1, ::-1], (1, 1), axis=(0, 1))


def _fold(spectrum: npt.NDArray[np.float64], factor: int) -> npt.NDArray[np.float64]:
    """Add up the frequencies that fall together where every `factor`-th pixel is left."""
    rows, columns = spectrum.shape
    parts = spectrum.reshape(factor, rows // factor, factor, columns // factor)
    return np.asarray(parts.sum(axis=(0, 2)))
