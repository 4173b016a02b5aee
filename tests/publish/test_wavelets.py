"""The M-band transform: the explicit matrix and PyWavelets agree, and it inverts at any length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.publish import wavelets as wv

BANKS = (
    wv.HAAR,
    wv.DAUBECHIES_4,
    wv.THREE_BAND,
    wv.FOUR_BAND,
    wv.FOUR_BAND_REGULAR,
    wv.haar(3),
    wv.haar(5),
)
NAMES = [bank.name for bank in BANKS]


def level_matrix(bank: wv.FilterBank, size: int) -> Any:
    """Row b·size/M + k holds filter b at the columns (Mk + t) mod size: slow and obvious."""
    matrix = np.zeros((size, size))
    for band, taps in enumerate(bank.taps):
        for k in range(size // bank.bands):
            for t, tap in enumerate(taps):
                matrix[band * size // bank.bands + k, (bank.bands * k + t) % size] += tap
    return matrix


def whole_matrix(bank: wv.FilterBank, size: int, levels: int) -> Any:
    found = np.eye(size)
    for level in range(levels):
        part = size // bank.bands**level
        step = np.eye(size)
        step[:part, :part] = level_matrix(bank, part)
        found = step @ found
    return found


@pytest.mark.parametrize("bank", BANKS, ids=NAMES)
@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("times", [1, 2, 5])
def test_the_filters_are_the_explicit_matrix(bank: Any, levels: int, times: int) -> None:
    size = times * bank.bands**levels  # as short as one coefficient: filters fold
    matrix = whole_matrix(bank, size, levels)
    assert np.abs(matrix @ matrix.T - np.eye(size)).max() < 1e-12
    x = np.random.default_rng(size).normal(size=size)
    np.testing.assert_allclose(wv.forward(x, bank, levels), matrix @ x, atol=1e-12)
    np.testing.assert_allclose(wv.inverse(x, bank, levels), matrix.T @ x, atol=1e-12)
    integer = wv.IntegerTransform(bank, size, levels)
    rounded = np.rint(matrix * integer.one)
    assert np.abs(integer.matrix.toarray() - rounded).max() <= 1
    assert np.abs(integer.matrix.toarray() / integer.one - matrix).max() < 2.0**-29


@pytest.mark.parametrize("bank", BANKS, ids=NAMES)
@pytest.mark.parametrize("length", [0, 1, 2, 7, 10, 31])
@pytest.mark.parametrize("levels", [1, 2])
def test_any_length_comes_back_along_any_axis(bank: Any, length: int, levels: int) -> None:
    x = np.random.default_rng(length).normal(size=(3, length, 2))
    seen = wv.forward(x, bank, levels, axis=1, fill=7.0)
    assert seen.shape == (3, wv.padded_length(length, bank, levels), 2)
    back = wv.inverse(seen, bank, levels, axis=1, length=length)
    np.testing.assert_allclose(back, x, atol=1e-12)
    for i in range(3):
        for j in range(2):
            alone = wv.forward(x[i, :, j], bank, levels, fill=7.0)
            np.testing.assert_allclose(seen[i, :, j], alone, atol=1e-12)


@pytest.mark.parametrize(("bank", "name"), [(wv.HAAR, "haar"), (wv.DAUBECHIES_4, "db2")])
def test_pywavelets_agrees_where_there_are_two_bands(bank: Any, name: str) -> None:
    """Its period begins three values later and one coefficient earlier for four taps."""
    pywt = pytest.importorskip("pywt")
    x = np.random.default_rng(2).normal(size=64)
    roll = {"haar": (0, 0), "db2": (-3, 1)}[name]
    theirs = pywt.dwt(np.roll(x, roll[0]), name, mode="periodization")
    ours = wv.bands(wv.forward(x, bank), bank)
    for mine, other in zip((ours.approximation, ours.details[0][0]), theirs, strict=True):
        shifted = np.roll(other, roll[1])
        sign = np.sign(mine @ shifted)
        np.testing.assert_allclose(mine, sign * shifted, atol=1e-12)


def test_identities_are_checked_one_by_one() -> None:
    good = np.array(wv.THREE_BAND.taps)
    assert wv.FilterBank(good, 2) == wv.FilterBank(wv.THREE_BAND.taps, 2)
    with pytest.raises(ValueError, match="norm 1"):
        wv.FilterBank(good * 1.001)
    with pytest.raises(ValueError, match="sum to √3"):
        wv.FilterBank(good * [[-1], [1], [1]])
    with pytest.raises(ValueError, match="orthogonal to each other"):
        wv.FilterBank(good[[0, 1, 1]])
    with pytest.raises(ValueError, match=r"i\^2"):
        wv.FilterBank(good, 3)
    mean, contrast = np.full(4, 2**-1.5), np.array([1, -1, 1, -1]) * 2**-1.5
    overlapping = [mean + contrast, np.array([1, 1, -1, -1]) / 2]
    with pytest.raises(ValueError, match="shifted by 2"):  # what (1) to (3) alone let pass
        wv.FilterBank(overlapping)
    with pytest.raises(ValueError, match=r"i\^1"):
        wv.FilterBank(wv.HAAR.taps, 2)
    for odd in ([[1.0]], [[1.0, 0.0]], [[math.nan] * 2] * 2, "ab"):
        with pytest.raises((ValueError, TypeError)):
            wv.FilterBank(odd)  # type: ignore[arg-type]


def test_bands_are_views() -> None:
    x = np.random.default_rng(0).normal(size=(27, 2))
    seen = wv.forward(x, wv.THREE_BAND, 2)
    views = wv.bands(seen, wv.THREE_BAND, 2)
    assert views.approximation.shape == (3, 2)
    assert [len(band) for level in views.details for band in level] == [9, 9, 3, 3]
    first = wv.bands(wv.forward(x, wv.THREE_BAND), wv.THREE_BAND)
    for mine, other in zip(views.details[0], first.details[0], strict=True):
        np.testing.assert_array_equal(mine, other)
    for level in views.details:
        for band in level:
            band[...] = 0
    smooth = wv.inverse(seen, wv.THREE_BAND, 2)
    assert 0 < np.linalg.norm(smooth) < np.linalg.norm(x)
    constant = wv.forward(np.ones(27), wv.THREE_BAND, 2)
    assert np.abs(constant[3:]).max() < 1e-12  # details don't see a constant


def test_blocks_are_transformed_alone() -> None:
    x = np.random.default_rng(1).normal(size=(20, 3))
    seen = wv.forward_blocks(x, wv.THREE_BAND, 9, fill=0.5)
    assert seen.shape == (3, 9, 3)
    np.testing.assert_allclose(seen[1], wv.forward(x[9:18], wv.THREE_BAND), atol=1e-13)
    back = wv.inverse_blocks(seen, wv.THREE_BAND)
    np.testing.assert_allclose(back[:20], x, atol=1e-12)
    np.testing.assert_allclose(back[20:], 0.5, atol=1e-12)
    np.testing.assert_allclose(wv.inverse_blocks(seen, wv.THREE_BAND, length=20), x, atol=1e-12)
    with pytest.raises(ValueError, match="block must be a multiple of 3"):
        wv.forward_blocks(x, wv.THREE_BAND, 8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_types_stay(dtype: Any) -> None:
    x = np.random.default_rng(3).normal(size=81).astype(dtype)
    seen = wv.forward(x, wv.THREE_BAND, 3)
    assert seen.dtype == dtype
    assert wv.inverse(seen, wv.THREE_BAND, 3).dtype == dtype
    size = 1e-5 if np.dtype(dtype).itemsize // (1 + (np.dtype(dtype).kind == "c")) == 4 else 1e-13
    assert np.abs(wv.inverse(seen, wv.THREE_BAND, 3) - x).max() < size
    assert wv.forward(np.arange(9), wv.THREE_BAND).dtype == np.float64


def test_wrong_arguments_say_what_to_do() -> None:
    for call, error, words in (
        (lambda: wv.forward(["a"], wv.HAAR), TypeError, "must be numbers"),
        (lambda: wv.forward([1.0], "haar"), TypeError, "must be a FilterBank"),
        (lambda: wv.forward([1.0], wv.HAAR, 0), ValueError, "levels"),
        (lambda: wv.inverse([1.0] * 3, wv.HAAR), ValueError, "multiple of 2"),
        (lambda: wv.inverse([1.0] * 4, wv.HAAR, length=5), ValueError, "at most 4"),
        (lambda: wv.bands(np.ones(3), wv.HAAR), ValueError, "forward"),
        (lambda: wv.IntegerTransform(wv.HAAR, 3), ValueError, "multiple of 2"),
        (lambda: wv.IntegerTransform(wv.HAAR, 4, bits=41), ValueError, "at most 40"),
    ):
        with pytest.raises(error, match=words):
            call()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("bank", "length", "levels", "spread"),
    [  # computed with another program, from the taps in 50 digits
        (wv.THREE_BAND, 9, 1, 2.2011206),
        (wv.THREE_BAND, 27, 2, 2.8233),
        (wv.THREE_BAND, 81, 4, 3.3202),
        (wv.THREE_BAND, 729, 6, 3.6482),
        (wv.HAAR, 8, 1, 1.41421),
        (wv.DAUBECHIES_4, 8, 1, 1.67303),
        (wv.FOUR_BAND, 8, 1, 2.0),
        (wv.FOUR_BAND_REGULAR, 16, 1, 2.64054),
    ],
)
def test_how_far_one_row_moves_all_coefficients(bank, length, levels, spread) -> None:  # type: ignore[no-untyped-def]
    found = wv.IntegerTransform(bank, length, levels)
    assert found.spread() / found.one == pytest.approx(spread, abs=5e-6 if levels == 1 else 5e-5)
    dense = whole_matrix(bank, length, levels)
    assert found.spread() / found.one == pytest.approx(np.abs(dense).sum(axis=0).max(), abs=1e-7)
    assert found.energy() / found.one**2 == pytest.approx(1, abs=1e-7)


def test_integers_of_the_paper_bank() -> None:
    found = wv.IntegerTransform(wv.THREE_BAND, 9)
    assert found.spread() == 2363435235
    assert found.spread(slice(0, 3)) / found.one == pytest.approx(0.8692223, abs=5e-8)
    assert found.energy() == max(
        sum(int(entry) ** 2 for entry in column) for column in found.dense.T
    )
    gram = (found.dense @ found.dense.T) / found.one**2
    assert np.abs(gram - np.eye(9)).max() < 1e-9


@pytest.mark.parametrize(
    ("length", "levels", "largest"), [(9, 1, 2**12), (9, 1, 2**30), (243, 3, 2**20)]
)
def test_integer_coefficients_are_exact(length: int, levels: int, largest: int) -> None:
    """In float64 where sums stay below 2^53, in int64 above, with a sparse matrix for long blocks."""
    transform = wv.IntegerTransform(wv.THREE_BAND, length, levels)
    draw = np.random.default_rng(length)
    blocks = draw.integers(-largest, largest, (4, 3, length), endpoint=True)
    blocks[0] = largest * np.sign(draw.normal(size=(3, length)))
    blocks[1, 0] = largest * np.sign(transform.matrix.toarray()[0])
    seen = transform.apply(blocks, largest)
    exact = blocks.astype(object) @ transform.matrix.toarray().astype(object).T
    assert (seen == exact).all()
    assert np.abs(seen).max() <= transform.reach(largest)
    back = transform.invert(seen)
    assert np.abs(back - blocks).max() < 1e-7 * largest
    cut = np.clip(blocks * 3, -largest, largest)
    assert (transform.apply(blocks * 3, largest) == transform.apply(cut, largest)).all()


def test_weights_multiply_bands() -> None:
    for bank, length, levels in ((wv.THREE_BAND, 9, 2), (wv.HAAR, 16, 3), (wv.THREE_BAND, 243, 2)):
        plain = wv.IntegerTransform(bank, length, levels)
        weights = tuple(1 / (2 + k) for k in range(1 + levels * (bank.bands - 1)))
        weighted = wv.IntegerTransform(bank, length, levels, weights=weights)
        factors = weighted.factors / plain.factors
        expected = plain.matrix.toarray() * factors[:, None]
        assert np.abs(weighted.matrix.toarray() - expected).max() <= 1
        sizes = [length // bank.bands**levels] * bank.bands
        for level in range(levels - 1, 0, -1):
            sizes += [length // bank.bands**level] * (bank.bands - 1)
        np.testing.assert_allclose(factors, np.repeat(weights, sizes))
        widest = np.abs(plain.matrix.toarray()).sum(axis=1) / plain.one
        np.testing.assert_allclose(np.repeat(weighted.ranges(), sizes), widest, atol=1e-7)
        x = np.random.default_rng(1).integers(-(2**12), 2**12, (5, length))
        np.testing.assert_allclose(weighted.invert(weighted.apply(x, 2**12)), x, atol=1e-3)
    assert wv.IntegerTransform(wv.THREE_BAND, 9).most_changed() == 6
    for wrong in ((1.0,), (1.0, 0.0, 1.0), (1.0, 2.0, 1.0)):
        with pytest.raises(ValueError, match="weights must be 3"):
            wv.IntegerTransform(wv.THREE_BAND, 9, weights=wrong)


def test_what_would_overflow_is_refused_from_the_bound_alone() -> None:
    transform = wv.IntegerTransform(wv.THREE_BAND, 9)
    with pytest.raises(ValueError, match="fewer bits"):
        transform.apply(np.zeros((0, 9), np.int64), 2**33)


def test_long_signals_have_no_dense_matrix() -> None:
    transform = wv.IntegerTransform(wv.THREE_BAND, 3**9, 4)
    assert transform.matrix.nnz < 80 * 3**9
    with pytest.raises(ValueError, match="dense"):
        _ = transform.dense
