"""The masks of Choi & Lee 2019 as published: the paper's steps, and public rows alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.publish.masks import LS, LSPlus, PseudoQuantum
from discreet.publish.masks.published import MAX_REAL_INTENSITY, PRINTED_THRESHOLD
from discreet.publish.wavelets import HAAR, THREE_BAND, forward, forward_blocks, inverse

MASKS = (LS(0.5), LSPlus(0.5), PseudoQuantum(0.5))
TABLE = np.random.default_rng(5).integers(0, 2, (54, 4)).astype(float)
SCHEMA = dp.Schema(a=dp.Real(0, 1), b=dp.Integer(0, 9), y=dp.Categorical("no", "yes"))


def matrix(rows: int) -> Any:
    return forward(np.eye(rows), THREE_BAND)


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: type(mask).__name__)
def test_only_rows_declared_public_are_masked(mask: Any) -> None:
    for unit in (dp.ADD_REMOVE, dp.REPLACE_ONE, dp.Unit(dp.REPLACE_ONE)):
        with pytest.raises(ValueError, match=f"not private.*use {mask.repair}"):
            mask.apply(TABLE, unit=unit)
        with pytest.raises(ValueError, match=r"unit=dp\.PUBLIC"):
            mask.draw(TABLE, 2, unit=unit)
    with pytest.raises(TypeError, match="unit"):
        mask.apply(TABLE)
    columns = {"a": [0.1, 0.9], "b": [1, 2], "y": ["no", "yes"]}
    ledger = dp.Ledger(limit=dp.PureDP(100), unit=dp.REPLACE_ONE)
    private = dp.PrivateDataset(columns, SCHEMA, ledger=ledger)
    with pytest.raises(ValueError, match="not private"):
        mask.publish(private)
    assert ledger.statement().count == 1  # nothing beside the opening
    with pytest.raises(TypeError, match="PrivateDataset"):
        mask.publish(TABLE)
    assert "None:" in type(mask).__doc__
    assert "refuted.md" in type(mask).__doc__


def test_ls_is_noise_on_the_approximation_band() -> None:
    """Steps 1 to 4 with the explicit matrix and the same random stream."""
    mask = LS(0.7, 2.0)
    transform = matrix(54)
    approximation = transform[:18] @ TABLE
    high, low = approximation.max(), approximation.min()
    bounded = 2.0 * (2 * approximation - high - low) / (high - low)
    assert bounded.min() == -2.0
    assert bounded.max() == 2.0
    x = np.random.default_rng(9).laplace(size=(1, 1, 18, 4))[0, 0] / (0.7 / (1 + math.exp(-2.0)))
    s = 1 / (1 + np.exp(-bounded))
    noise = np.where(x >= 0, (1 - s) * x, s * x)
    expected = transform.T @ np.vstack([approximation + noise, transform[18:] @ TABLE])
    found, trace = mask.draw(TABLE, 1, unit=dp.PUBLIC, random_state=9)
    np.testing.assert_allclose(found[0], expected, atol=1e-10)
    assert (trace[0, 0] == np.where(x >= 0, 1, -1)).all()
    labelled = mask.apply(TABLE, unit=dp.PUBLIC, target=3, random_state=9)
    np.testing.assert_array_equal(labelled[:, :3], found[0][:, :3])
    np.testing.assert_array_equal(labelled[:, 3], (found[0][:, 3] >= 0.5).astype(float))


def test_ls_plus_is_ls_on_all_bands_of_each_block() -> None:
    found, trace = LSPlus(1.0, 1.0).draw(TABLE, 1, unit=dp.PUBLIC, random_state=4)
    seen = forward_blocks(found[0], THREE_BAND, 9)
    true = forward_blocks(TABLE, THREE_BAND, 9)
    x = np.random.default_rng(4).laplace(size=(1, 6, 9, 4))[0] * (1 + math.exp(-1.0))
    for block in range(6):
        high, low = true[block].max(), true[block].min()
        s = 1 / (1 + np.exp(-(2 * true[block] - high - low) / (high - low)))
        noise = np.where(x[block] >= 0, 1 - s, s) * x[block]
        np.testing.assert_allclose(seen[block], true[block] + noise, atol=1e-10)
    assert trace.shape == (1, 6, 9, 4)


@pytest.mark.parametrize("intensity", [0.05, 0.1, MAX_REAL_INTENSITY, 0.2, 0.5, 2.0])
def test_pseudo_quantum_is_complex_beyond_its_bound(intensity: float) -> None:
    mask = PseudoQuantum(1.0, intensity)
    found = mask.apply(TABLE, unit=dp.PUBLIC, random_state=1)
    assert np.iscomplexobj(found) is (intensity > MAX_REAL_INTENSITY)
    assert np.isfinite(found).all()
    seen, true = forward(found, THREE_BAND), forward(TABLE, THREE_BAND)
    np.testing.assert_allclose(seen[18:], true[18:], atol=1e-12)  # details are untouched
    low, high = true[:18].min(), true[:18].max()
    angle, turned = (math.pi / 6 * (1 + (a - low) / (high - low)) for a in (true[:18], seen[:18]))
    by_cosine = (np.cos(turned) - np.cos(angle)) / intensity
    by_sine = (np.sin(turned) - np.sin(angle)) / intensity
    size = np.minimum(abs(by_cosine - 0.683), abs(by_sine - 0.683))
    assert size.max() <= (3**0.5 - 1) / 4 + 1e-3  # one of them lies between 1/2 and √3/2
    if intensity == 2.0:
        assert np.abs(found.imag).max() > 0.1


def test_the_bias_decides_how_often_the_cosine_is_taken() -> None:
    table = np.random.default_rng(0).random((3000, 3))
    true = forward(table, THREE_BAND)[:1000]
    for eta, share in ((0.0, 0.5), (0.6, 0.8), (1.0, 1.0)):
        mask = PseudoQuantum(1.0, 0.1, eta)
        seen = forward(mask.apply(table, unit=dp.PUBLIC, random_state=3), THREE_BAND)[:1000]
        assert np.mean(seen < true) == pytest.approx(share, abs=0.03)  # arccos falls, arcsin rises


def test_by_the_printed_threshold_labels_say_nothing() -> None:
    labels = np.random.default_rng(2).random(729) < 0.05
    table = np.column_stack([np.random.default_rng(3).random((729, 2)), labels]).astype(float)
    for threshold in (0.5, PRINTED_THRESHOLD):
        mask = PseudoQuantum(1.0, threshold=threshold)
        found, _ = mask.draw(table, 1, unit=dp.PUBLIC, random_state=5)
        labelled = mask.apply(table, unit=dp.PUBLIC, target=2, random_state=5)
        np.testing.assert_array_equal(labelled[:, 2], (found[0][:, 2] >= threshold).astype(float))
        told = labelled[:, 2].mean()
        assert told == 1 if threshold < 0 else told < 0.1


def test_trace_and_factor_bring_the_data_nearer() -> None:
    """Section 3.2.2: subtracting r·trace(X) from the approximation band, for the best r."""
    found, trace = LS(1.0).draw(TABLE, 1, unit=dp.PUBLIC, random_state=0)
    distances = []
    for factor in np.linspace(-1, 1, 21):
        step = np.vstack([factor * trace[0, 0], np.zeros((36, 4))])
        distances.append(np.abs(found[0] - inverse(step, THREE_BAND) - TABLE).mean())
    assert min(distances) < 0.8 * distances[10]


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: type(mask).__name__)
@pytest.mark.parametrize("rows", [0, 1, 2, 10])
def test_any_number_of_rows(mask: Any, rows: int) -> None:
    found = mask.apply(TABLE[:rows], unit=dp.PUBLIC, target=3)
    assert found.shape == (rows, 4)
    assert np.isfinite(found).all()
    equal = mask.apply(np.ones((rows, 2)), unit=dp.PUBLIC)
    assert np.isfinite(equal).all()


def test_no_noise_is_the_table() -> None:
    for mask in (LS(math.inf), LSPlus(math.inf, 2.0), PseudoQuantum(1.0, 0.0)):
        np.testing.assert_allclose(mask.apply(TABLE, unit=dp.PUBLIC), TABLE, atol=1e-12)


def test_data_sets_declared_public_are_masked_with_their_labels() -> None:
    columns = {"a": [0.1, 0.9, None] * 9, "b": range(27), "y": ["no", "yes", "?"] * 9}
    data = dp.PrivateDataset(columns, SCHEMA, unit=dp.PUBLIC)
    found = LS(math.inf).publish(data, target="y")
    np.testing.assert_allclose(found["a"], [0.1, 0.9, 0.5] * 9, atol=2e-6)
    np.testing.assert_allclose(found["b"], np.minimum(range(27), 9), atol=1e-9)
    assert found["y"].tolist() == ["no", "yes", "no"] * 9
    again = [PseudoQuantum(1.0).publish(data, target="y", random_state=1)["a"] for _ in range(2)]
    np.testing.assert_array_equal(*again)
    with pytest.raises(ValueError, match="target"):
        LS(1.0).publish(data, target="z")


def test_parameters_are_checked() -> None:
    for make, words in (
        (lambda: LS(0), "epsilon"),
        (lambda: LS(1, math.inf), "gamma"),
        (lambda: LS(math.nan), "epsilon"),
        (lambda: LSPlus(1, 1, block=8), "multiple of 3"),
        (lambda: PseudoQuantum(1, -1), "delta_intensity"),
        (lambda: PseudoQuantum(1, 0.1, 2), "eta"),
        (lambda: PseudoQuantum(1, threshold=math.nan), "threshold"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    with pytest.raises(ValueError, match="table"):
        LS(1).apply([1, 2, 3], unit=dp.PUBLIC)
    assert LS(1, bank=HAAR).apply(TABLE, unit=dp.PUBLIC).shape == TABLE.shape
