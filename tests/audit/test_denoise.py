"""What masks without noise on their detail bands give away: the whole table, cell by cell."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.audit.denoise import (
    denoise_by_signs,
    read_back,
    read_back_pairs,
    smallest_difference,
)
from discreet.publish.imaging import ImageMask
from discreet.publish.masks import (
    LS,
    AngleEmbedding,
    LSPlus,
    PseudoQuantum,
    WaveletApproximation,
    WaveletLaplace,
)
from discreet.publish.wavelets import HAAR, THREE_BAND, FilterBank, forward, inverse

PUBLISHED = {"LS": LS, "pseudo-quantum": PseudoQuantum}


def mask_of(table: np.ndarray, epsilon: float = 0.5, kind: Any = LS) -> np.ndarray:
    return kind(epsilon).apply(table, unit=dp.PUBLIC)


def draw_table(share: float, rows: int = 2187, columns: int = 9) -> np.ndarray:
    return (np.random.default_rng(2019).random((rows, columns)) < share).astype(np.float64)


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_list_of_64_windows_reads_zeros_and_ones_back(name: str, share: float) -> None:
    table = draw_table(share)
    masked = mask_of(table, kind=PUBLISHED[name])
    assert np.abs(masked - table).mean() > 0.1  # the mask does hide the cells from the eye
    assert (read_back_pairs(masked) == table).mean() >= 0.99


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("count", [2, 5, 9, 17, 47])
def test_more_categories_are_read_back_from_what_can_follow_what(name: str, count: int) -> None:
    table = np.random.default_rng(count).integers(0, count, (243, 2)).astype(np.float64)
    found = read_back(mask_of(table, kind=PUBLISHED[name]), range(count))
    assert found.share_recovered(table) == 1
    assert found.explanations.tolist() == [1, 1]


def test_each_column_may_have_values_of_its_own() -> None:
    draw = np.random.default_rng(3)
    codes = [(10.0, 20.0, 35.0), (0.0, 1.0), (-1.5, 0.25, 2.0, 7.0)]
    table = np.column_stack([draw.choice(own, 81) for own in codes])
    found = read_back(mask_of(table, 1), codes)
    assert found.share_recovered(table) == 1


def test_a_missing_end_of_the_scale_leaves_shifts_and_the_mean_of_the_mask_decides() -> None:
    table = np.random.default_rng(4).integers(2, 8, (243, 2)).astype(np.float64)
    found = read_back(mask_of(table, 4), range(11))
    assert found.explanations.tolist() == [6, 6]  # by -2, -1, ..., 3
    assert found.share_recovered(table) == 1


def test_a_mask_that_was_rounded_is_still_read_back() -> None:
    table = np.random.default_rng(5).integers(0, 7, (81, 2)).astype(np.float64)
    rounded = mask_of(table, 0.5).round(3)
    assert not read_back(rounded, range(7)).explanations.any()
    found = read_back(rounded, range(7), tolerance=0.003)
    assert found.share_recovered(table) == 1


def test_constant_columns_take_the_likely_value() -> None:
    table = np.zeros((27, 2))
    table[:, 1] = 1.0
    masked = forward(table, THREE_BAND)
    masked[:9] += 0.1
    masked = inverse(masked, THREE_BAND)
    assert (read_back_pairs(masked) == table).all()
    assert (read_back_pairs(masked, likely=0.0) == 0).all()
    assert read_back(masked, (0, 1)).explanations.tolist() == [2, 2]


def test_what_is_read_back_agrees_with_trying_all_tables() -> None:
    """Nine rows of three values: 19 683 columns, each compared with the bands of the mask."""
    grids = np.indices((3,) * 9).reshape(9, -1).astype(np.float64)
    details = forward(grids, THREE_BAND)[3:]
    draw = np.random.default_rng(6)
    for _ in range(20):
        column = draw.integers(0, 3, (9, 1)).astype(np.float64)
        masked = mask_of(column, 1)
        same = np.abs(details - forward(masked, THREE_BAND)[3:]).max(axis=0) < 1e-6
        found = read_back(masked, range(3))
        assert found.explanations[0] == same.sum()
        assert (found.table[:, 0] == grids[:, same].T).all(axis=1).any()


def test_noise_on_all_bands_is_not_read_back() -> None:
    """Single cells: whoever guesses is right with a chance of at most e^ε/(1 + e^ε)."""
    table = draw_table(0.5)
    epsilon = 0.5
    mask = ImageMask(table.shape, epsilon=epsilon, protects="pixel", bank=THREE_BAND)
    masked = mask.randomize(table)
    bound = 1 / (1 + math.exp(-epsilon)) + 4 * 0.5 / math.sqrt(table.size)
    assert (read_back_pairs(masked) == table).mean() <= bound
    found = read_back(masked, (0, 1))
    assert not found.explanations.any()
    assert found.share_recovered(table) <= bound
    loud = ImageMask(table.shape, epsilon=2000, protects="pixel", bank=THREE_BAND)
    assert (read_back_pairs(loud.randomize(table)) == table).mean() > 0.99  # it would see


REPAIRED = {
    "LS+*": WaveletLaplace,
    "LS*": WaveletApproximation,
    "PQ*": AngleEmbedding,
    "PQ* embedded": partial(AngleEmbedding, variant="embedding"),
}


def repaired_blocks(table: np.ndarray, kind: Any, epsilon: float) -> np.ndarray:
    """Each block of nine rows as columns of its own, which is how these masks transform them."""
    names = [f"x{place}" for place in range(table.shape[1])]
    schema = dp.Schema({name: dp.Real(0, 1) for name in names})
    data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    told = kind(epsilon, order="position").publish(data)
    return in_blocks(np.column_stack([told[name] for name in names]))


def in_blocks(table: np.ndarray) -> np.ndarray:
    return table.reshape(-1, 9, table.shape[1]).transpose(1, 0, 2).reshape(9, -1)


@pytest.mark.parametrize("name", REPAIRED)
def test_repaired_masks_are_read_back_no_better_than_their_epsilon_allows(name: str) -> None:
    """A cell is one of nine that share ε = 0.5: a guess is right with a chance of at most 0.514."""
    table = draw_table(0.5)
    masked = repaired_blocks(table, REPAIRED[name], 0.5)
    bound = 1 / (1 + math.exp(-0.5 / 9)) + 4 * 0.5 / math.sqrt(table.size)
    assert (read_back_pairs(masked) == in_blocks(table)).mean() <= bound
    found = read_back(masked, (0, 1))
    assert found.share_recovered(in_blocks(table)) <= bound
    published = in_blocks(mask_of(table))
    assert np.abs(published - in_blocks(table)).mean() > 0.5  # which looks no better to the eye


def test_the_reader_would_see_the_blocks_if_there_were_little_noise() -> None:
    table = draw_table(0.5)
    masked = repaired_blocks(table, WaveletLaplace, 20_000)
    assert (read_back_pairs(masked) == in_blocks(table)).mean() > 0.99


def test_the_papers_denoising_needs_the_signs_and_is_far_from_what_can_be_read_back() -> None:
    """H falls as 1/ε, as printed (0.4208 at ε = 0.5, 0.2121 at ε = 1); guessed signs help nothing."""
    table = draw_table(0.05)
    draw = np.random.default_rng(7)
    h = {}
    for epsilon in (0.5, 1.0):
        found, trace = LS(epsilon).draw(table, 1, unit=dp.PUBLIC, random_state=draw)
        masked = found[0]
        signs = trace[0, 0]
        guessed = draw.choice([-1.0, 1.0], signs.shape)
        plain = np.abs(masked - table).mean()
        h[epsilon] = smallest_difference(table, masked, signs)
        assert h[epsilon] < 0.8 * plain
        assert 0.98 * plain < smallest_difference(table, masked, guessed) <= plain
        assert (read_back_pairs(masked) == table).all()
    assert h[0.5] / h[1.0] == pytest.approx(2, rel=0.1)


def test_true_signs_of_noise_of_one_size_undo_it() -> None:
    table, signs = draw_table(0.3, 27, 2), np.sign(draw_table(0.5, 9, 2) - 0.5)
    noisy = forward(table, THREE_BAND)
    noisy[:9] += 0.7 * signs
    masked = inverse(noisy, THREE_BAND)
    assert np.abs(denoise_by_signs(masked, signs, 0.7) - table).max() < 1e-12
    assert smallest_difference(table, masked, signs) < 1e-12


def test_other_banks_are_read_back_too() -> None:
    """Haar's details of two bits are their difference: equal pairs stay open, and say so."""
    column = np.array([[0.0], [1.0], [1.0], [0.0]])
    found = read_back(column + 0.2, (0, 1), bank=HAAR)
    assert found.explanations.tolist() == [1]
    assert found.share_recovered(column) == 1
    equal = read_back(np.zeros((4, 1)), (0, 1), bank=HAAR)
    assert equal.explanations.tolist() == [4]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: read_back(np.zeros((9, 2)), range(1000)), "at most 128"),
        (lambda: read_back(np.zeros((9, 2)), [(0, 1)] * 3), "one for each of the 2 columns"),
        (lambda: read_back(np.zeros((9, 2)), (0, math.inf)), "finite"),
        (lambda: read_back(np.zeros((10, 2)), (0, 1)), "multiple of 3"),
        (lambda: read_back(np.zeros((3, 2)), (0, 1)), "at least 6"),
        (lambda: read_back_pairs(np.zeros((9, 2)), (1, 0)), "smaller one first"),
        (lambda: denoise_by_signs(np.zeros((9, 2)), np.ones((9, 2)), 1), "approximation band"),
        (
            lambda: read_back(
                np.zeros((8, 2)),
                (0, 1),
                bank=FilterBank([[*HAAR.taps[0], *[0.0] * 4], [*HAAR.taps[1], *[0.0] * 4]]),
            ),
            "two taps for each band",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_ls_plus_has_noise_on_all_bands_and_is_not_read_back_exactly() -> None:
    block = draw_table(0.5, 9, 9)
    masked = mask_of(block, 0.5, LSPlus)
    assert not read_back(masked, (0, 1)).explanations.any()
    with pytest.raises(TypeError, match="table of numbers"):
        read_back([["a"]], (0, 1))
