"""Scattering features are what direct convolutions give, and depend on one image alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.deep.scattering import BLOCK, FilterBank, Scattering

SMALL = Scattering((12, 12), orientations=4, groups=None, brightest=1)


def convolve(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """The circular convolution, pixel by pixel of the kernel."""
    found = np.zeros(image.shape, complex)
    for at in np.ndindex(*kernel.shape):
        found += kernel[at] * np.roll(image, at, axis=(0, 1))
    return found


def in_space(spectrum: np.ndarray) -> np.ndarray:
    """The kernel of a filter, by the sum that defines the inverse transform."""
    rows, columns = (np.outer(np.arange(n), np.arange(n)) / n for n in spectrum.shape)
    return np.exp(2j * np.pi * rows) @ spectrum @ np.exp(2j * np.pi * columns) / spectrum.size


def average(image: np.ndarray, j: int, scales: int, size: int) -> np.ndarray:
    """The Gaussian average of width 0.8·2^(J-1) pixels of the image, at every 2^J-th of them."""
    width, (rows, columns) = 0.8 * 2 ** (scales - 1 - j), image.shape
    y, x = np.meshgrid(
        *(np.minimum(np.arange(n), n - np.arange(n)) for n in (rows, columns)), indexing="ij"
    )
    kernel = np.exp(-(y**2 + x**2) / (2 * width**2))
    step = 2 ** (scales - j)
    inner = slice(step, step + step * -(-size // 2**scales), step)
    return convolve(image, kernel / kernel.sum()).real[inner, inner]


def scatter(image: np.ndarray, bank: FilterBank) -> np.ndarray:
    """The coefficients by their definition; filters and averages act on pixels."""
    size, scales = len(image), bank.scales
    step = 2**scales
    padded = np.pad(image, (step, bank.padded[0] - size - step), mode="reflect")
    first, second = [], []
    for j in range(scales):
        for wavelet in bank.wavelets_at(0, j):
            modulus = abs(convolve(padded, in_space(wavelet)))[:: 2**j, :: 2**j]
            first.append(average(modulus, j, scales, size))
            for k in range(j + 1, scales):
                for other in bank.wavelets_at(j, k):
                    again = abs(convolve(modulus, in_space(other)))
                    again = again[:: 2 ** (k - j), :: 2 ** (k - j)]
                    second.append(average(again, k, scales, size))
    return np.array([average(padded, 0, scales, size), *first, *second])


@pytest.mark.parametrize(("size", "scales", "orientations"), [(12, 2, 4), (11, 2, 3), (10, 1, 2)])
def test_features_are_those_of_direct_convolutions(size, scales, orientations):
    image = np.random.default_rng(0).uniform(0, 1, (size, size))
    chosen = Scattering((size, size), scales, orientations, groups=None, brightest=1)
    found = chosen.transform(image[None]).reshape(chosen.output_shape)
    expected = scatter(image, FilterBank(size, size, scales, orientations))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=3e-6)


def test_wavelets_have_mean_zero_and_no_frequency_is_amplified():
    bank = FilterBank(28, 28, 2, 8)
    assert bank.wavelets.shape == (2, 8, 36, 36)
    assert np.abs(bank.wavelets[:, :, 0, 0]).max() < 1e-15
    rows, columns = (np.abs(np.fft.fft(side)) ** 2 for side in bank.averages[0])
    power = np.outer(rows, columns)
    for wavelet in bank.wavelets.reshape(-1, 36, 36):
        opposite = np.roll(wavelet[::-1, ::-1], (1, 1), axis=(0, 1))
        power += (wavelet**2 + opposite**2) / 2
    assert power.max() == pytest.approx(1)
    assert power.min() > 0.1  # what is seen of each frequency


def test_wavelets_are_gaussians_times_waves_in_their_direction():
    bank = FilterBank(28, 28, 2, 8)
    kernel = in_space(bank.wavelets[1, 2])  # turned by 45 degrees
    y, x = (np.fft.fftfreq(36, 1 / 36) for _ in range(2))
    v, u = np.meshgrid(y, x, indexing="ij")
    along, aside = (u + v) / math.sqrt(2), (v - u) / math.sqrt(2)
    width, slant = 1.6, 0.5
    shape = np.exp(-(along**2 + (slant * aside) ** 2) / (2 * width**2))
    wave = np.exp(1j * 3 * math.pi / 8 * along)
    expected = shape * (wave - (shape * wave).sum() / shape.sum())
    cosine = abs(np.vdot(expected, kernel)) / np.linalg.norm(expected) / np.linalg.norm(kernel)
    assert cosine > 1 - 1e-4


def test_features_have_at_most_the_energy_of_a_padded_image():
    rng = np.random.default_rng(1)
    chosen = Scattering((16, 16), groups=None, brightest=1)
    images = rng.normal(0, 1, (5, 16, 16))
    energy = (chosen.transform(images).astype(float) ** 2).sum(axis=1)
    padded = np.pad(images, [(0, 0), (4, 4), (4, 4)], mode="reflect")
    # a sum over every fourth pixel in both directions stands for 16 times as many
    assert (energy < (padded**2).sum(axis=(1, 2))).all()
    nothing = chosen.transform(np.zeros((1, 256)))
    assert not nothing.any()


def test_a_small_shift_moves_features_less_than_pixels():
    image = np.zeros((28, 28))  # fine texture, which a shift by one pixel changes altogether
    image[8:20, 8:20] = np.random.default_rng(2).uniform(0, 1, (12, 12))
    chosen = Scattering(groups=None, brightest=1)
    moved = np.roll(image, 1, axis=1)
    here, there = chosen.transform(np.stack([image, moved]))
    shift = np.linalg.norm(here - there) / np.linalg.norm(here)
    assert shift < 0.45 * np.linalg.norm(image - moved) / np.linalg.norm(image)
    # by a whole step of the grid it moves with the image
    shape = chosen.output_shape
    far = chosen.transform(np.roll(image, 4, axis=1)[None]).reshape(shape)
    inner = here.reshape(shape)[:, 1:-1, 1:-2]
    np.testing.assert_allclose(far[:, 1:-1, 2:-1], inner, atol=0.02 * abs(inner).max())


def test_an_image_has_the_same_bits_whatever_images_are_beside_it():
    rng = np.random.default_rng(3)
    images = rng.integers(0, 256, (2 * BLOCK + 5, 784))
    together = Scattering().transform(images)
    for at in (0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 4):
        alone = Scattering().transform(images[at : at + 1])
        assert alone.tobytes() == together[at : at + 1].tobytes()
    backwards = Scattering().transform(images[::-1])[::-1]
    assert backwards.tobytes() == together.tobytes()


def test_groups_of_channels_have_mean_zero_and_variance_one():
    images = np.random.default_rng(4).integers(0, 256, (3, 28, 28))
    found = Scattering(brightest=1).transform(images).reshape(3, 27, -1)
    assert np.abs(found.mean(axis=2)).max() < 1e-4
    assert found.std(axis=2) == pytest.approx(1, abs=1e-3)


@pytest.mark.filterwarnings("error")
def test_pixels_that_are_no_numbers_spoil_nothing_but_their_image():
    images = np.random.default_rng(5).uniform(0, 255, (4, 784))
    expected = Scattering().transform(images)
    images[1, :4] = [np.nan, np.inf, -np.inf, 1e300]
    found = Scattering().transform(images)
    assert np.isfinite(found).all()
    assert found[[0, 2, 3]].tobytes() == expected[[0, 2, 3]].tobytes()
    assert Scattering().transform(np.zeros((0, 784))).shape == (0, 3969)


def test_shapes_that_do_not_fit_are_refused_in_words():
    assert SMALL.channels == 25
    with pytest.raises(ValueError, match="12 × 12 pixels"):
        SMALL.transform(np.zeros((2, 145)))
    with pytest.raises(ValueError, match="larger than 2\\^scales"):
        Scattering((4, 28))
    with pytest.raises(ValueError, match="divide the number of channels, 81"):
        Scattering(groups=5)
