"""What is published is noised anew each time, as far as is charged, in an order that tells nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import testing
from discreet.coding import Sensitivity
from discreet.publish import RowPerturbation
from discreet.publish.imaging import ImageMask
from discreet.publish.imaging.images import MaskedImages
from discreet.publish.imaging.mask import LEVELS
from discreet.publish.masks import (
    AngleEmbedding,
    ClampedSigmoid,
    WaveletApproximation,
    WaveletGaussian,
    WaveletLaplace,
)
from discreet.publish.masks.angles import (
    FLOAT_ERROR,
    SLOPE,
    EmbeddedRelease,
    angle_transform,
    largest_angle,
)
from discreet.publish.masks.clamped_sigmoid import STEPS, SigmoidTable
from discreet.publish.masks.plan import MaskedRows
from discreet.publish.perturb import PerturbedRows
from discreet.publish.rows import ONE
from discreet.publish.wavelets import (
    DAUBECHIES_4,
    FOUR_BAND,
    HAAR,
    THREE_BAND,
    IntegerTransform,
)
from discreet.step import CodedRows

SCHEMA = dp.Schema(a=dp.Real(0, 10), g=dp.Categorical("x", "y", "z"), ill=dp.Categorical(0, 1))
MASKS: tuple[Any, ...] = (
    WaveletLaplace(4, target="ill"),
    WaveletGaussian(4, target="ill", delta="1/100000"),
    WaveletApproximation(4, target="ill"),
    AngleEmbedding(4, target="ill"),
    AngleEmbedding(4, target="ill", variant="embedding", eta=1),
    ClampedSigmoid(40, target="ill"),
    RowPerturbation(SCHEMA, epsilon=4, target="ill"),
    RowPerturbation(SCHEMA, epsilon=4, target="ill", kind="norm-gamma"),
)


def blur(mask: Any, codes: Any) -> dict[str, Any]:
    """One release of rows, given by their codes."""
    if isinstance(mask, RowPerturbation):
        return mask.decode(mask.blur(codes))
    plan = mask.plan(SCHEMA)
    return plan.decode(*plan.blur(codes))


@pytest.mark.parametrize("mask", MASKS, ids=repr)
def test_rows_that_are_masked_twice_are_noised_twice(mask: Any) -> None:
    codes = np.tile([2**19, 0, 0], (900, 1))
    first, second = blur(mask, codes), blur(mask, codes)
    told = ["a"] if isinstance(mask, ClampedSigmoid) else SCHEMA.base  # whose ε leaves no lies
    for name in told:
        assert (first[name] != second[name]).any(), name
        assert len(set(first[name].tolist())) > 1, name  # nor is one draw taken for all rows


@pytest.mark.parametrize("mask", [MASKS[0], MASKS[6]], ids=repr)
def test_categories_lie_as_often_as_is_charged(mask: Any) -> None:
    """An unknown category, code -1, counts as the first one."""
    channel = mask if isinstance(mask, RowPerturbation) else mask.plan(SCHEMA).channel
    count = 9 * 2000
    with testing.fixed_noise(8):
        told = blur(mask, np.tile([2**19, -1, 1], (count, 1)))
    for name, truth in (("g", "x"), ("ill", 1)):
        lie = float(channel.response(name).lie)
        seen = (told[name] != truth).mean()
        assert abs(seen - lie) < 5 * math.sqrt(lie / count), name
        assert lie > 0.02
    others = (told["g"] == "y").mean(), (told["g"] == "z").mean()
    assert others[0] == pytest.approx(others[1], rel=0.2)  # a lie is any other category


@pytest.mark.parametrize("eta", [0, 1])
def test_embedded_angles_have_the_noise_that_is_charged(eta: int) -> None:
    """With η = 1 all are sines; with η = 0 half are cosines, whose noise has the same scale."""
    release = AngleEmbedding(6000, variant="embedding", eta=eta).plan(dp.Schema(x=dp.Real(0, 1)))
    release = release.release
    blocks = np.zeros((1, 2000, 9), np.int64)
    with testing.fixed_noise(2):
        told = release.run(blocks)[0]
    radian = 2 * ONE * release.transform.one
    turned = math.pi / 4 + (told @ release.transform.dense.T) / radian
    noise = (np.sin(turned) - math.sqrt(0.5)) * release.transform.one
    scale = release.distribution.event(release.sensitivity).scale
    assert float(scale) < 0.02 * release.transform.one  # so that hardly any is cut off
    assert np.abs(noise).mean() == pytest.approx(float(scale), rel=0.05)


@pytest.mark.parametrize("columns", [1, 2, 7])
def test_the_embedding_pays_for_slopes_and_for_every_rounded_coefficient(columns: int) -> None:
    """Sines and cosines of angles that move by K_θ in all; each that depends on the row is rounded."""
    release = (
        AngleEmbedding(30, variant="embedding")
        .plan(dp.Schema({f"x{j}": dp.Real(0, 1) for j in range(columns)}))
        .release
    )
    matrix = release.transform.dense.astype(object)
    far = max(sum(abs(entry) for entry in column) for column in matrix.T)
    many = max(sum(entry != 0 for entry in column) for column in matrix.T)
    assert Fraction(3, 4) < SLOPE**2
    least = columns * (SLOPE * far + many * (1 + 2 * FLOAT_ERROR * release.transform.one))
    assert release.sensitivity.l1 > least - 1
    assert release.sensitivity.l2_squared == release.sensitivity.l1**2


@pytest.mark.parametrize("bank", [None, HAAR, THREE_BAND])
def test_images_that_are_masked_twice_are_noised_twice(bank: Any) -> None:
    mask = ImageMask((6, 4), epsilon=1, protects="pixel", bank=bank)
    levels = np.zeros((3, 6, 4), np.int64)
    first, second = mask.blur(levels), mask.blur(levels)
    assert (first != second).mean() > 0.9
    assert (first[0] != first[1]).mean() > 0.9


@pytest.mark.parametrize("bank", [None, HAAR, THREE_BAND])
def test_pixels_beyond_their_bounds_count_as_the_bounds(bank: Any) -> None:
    mask = ImageMask((6, 4), epsilon=10**6, protects="pixel", bank=bank)
    for level, seen in ((5 * LEVELS, 1.0), (-5 * LEVELS, 0.0)):
        told = mask.decode(mask.blur(np.full((1, 6, 4), level)))
        assert np.abs(told - seen).max() < 1e-3


def test_no_images_are_farther_apart_than_the_noise_is_for() -> None:
    """One pixel, and without wavelets any rectangle, from black to white: the distance is reached."""
    plain = ImageMask((6, 4), epsilon=1, protects="pixel")
    for rows, columns in ((1, 1), (2, 3), (6, 4)):
        moved = plain.sensitivity((rows, columns))
        assert moved.l1 == rows * columns * LEVELS
        assert moved.l2_squared == rows * columns * LEVELS**2
    for bank, height in ((HAAR, 6), (THREE_BAND, 9)):
        mask = ImageMask((height, 4), epsilon=1, protects="pixel", bank=bank)
        matrix = IntegerTransform(bank, height, bits=16).dense.astype(object)
        for columns in (1, 3):
            moved = mask.sensitivity((1, columns))
            assert moved.l1 == columns * LEVELS * max(sum(map(abs, c)) for c in matrix.T)
            lengths = [sum(entry**2 for entry in column) for column in matrix.T]
            assert moved.l2_squared >= columns * LEVELS**2 * max(lengths)


# the order of rows: which were there, which were left out and which were filled in

ROWS = dp.Schema(x=dp.Real(0, 1))


def perturbed(declared: int | None, codes: Any) -> Any:
    channel = RowPerturbation(ROWS, epsilon=10**6, norm=1)
    return PerturbedRows(channel, declared).run(CodedRows(codes, ("x",), ROWS))["x"]


def masked(declared: int | None, codes: Any) -> Any:
    plan = WaveletLaplace(10**6).plan(ROWS)
    return MaskedRows(plan, declared).run(CodedRows(codes, ("x",), ROWS))["x"]


def imaged(declared: int | None, codes: Any) -> Any:
    mask = ImageMask((1, 1), epsilon=10**6, protects="image")
    return MaskedImages(mask, ROWS, declared).run(CodedRows(codes, ("x",), ROWS))


def orders(publish: Callable[..., Any], declared: int | None, quarters: list[int]) -> set[Any]:
    """In which orders rows of 0, 1/4, 3/4 and 1 come out, 20 times; what was filled in is 1/2."""
    codes = np.array(quarters)[:, None] * 2**18
    found = set()
    for _ in range(20):
        told = np.rint(4 * np.ravel(publish(declared, codes))).astype(int)
        found.add(tuple(told.tolist()))
    return found


@pytest.mark.parametrize("publish", [perturbed, masked, imaged])
def test_rows_come_in_any_order(publish: Callable[..., Any]) -> None:
    found = orders(publish, None, [0, 1, 3, 4])
    assert len(found) > 5
    assert {tuple(sorted(each)) for each in found} == {(0, 1, 3, 4)}


@pytest.mark.parametrize("publish", [perturbed, masked, imaged])
def test_no_place_tells_which_rows_were_filled_in(publish: Callable[..., Any]) -> None:
    found = orders(publish, 6, [0, 1, 4])
    assert {tuple(sorted(each)) for each in found} == {(0, 1, 2, 2, 2, 4)}
    assert len({tuple(at for at, value in enumerate(each) if value == 2) for each in found}) > 5


@pytest.mark.parametrize("publish", [perturbed, masked, imaged])
def test_any_rows_may_be_left_out(publish: Callable[..., Any]) -> None:
    found = orders(publish, 2, [0, 1, 3, 4])
    assert len({frozenset(each) for each in found}) > 2


# what noise is added to, at the extremes


def test_angles_stay_within_their_range_whatever_the_rows_are() -> None:
    """Cosines and sines are no steeper than √3/2 there; rounded taps alone would reach beyond."""
    beyond = 0
    for bank, length in ((THREE_BAND, 9), (HAAR, 4), (FOUR_BAND, 16), (DAUBECHIES_4, 6)):
        for bits in range(8, 13):
            transform = angle_transform(bank, length, 1, bits)
            signs = np.sign(transform.dense)
            blocks = np.concatenate([signs, -signs]).astype(np.int64)[None] * ONE
            beyond += transform.reach(ONE) > largest_angle(bits)
            noise: Any = Watched()
            release = EmbeddedRelease(transform, Sensitivity(1, 1), noise, Fraction(1, 2))
            release.run(blocks)
            assert noise.seen.min() >= math.floor(transform.one / 2)
            assert noise.seen.max() <= round(math.sqrt(3) / 2 * transform.one)
    assert beyond > 0


class Watched:
    """No noise: what it would be added to is kept."""

    seen: Any

    def run(self, totals: Any) -> Any:
        self.seen = np.array(totals)
        return totals


@pytest.mark.parametrize("block", [3, 9])
def test_steps_of_the_clamped_sigmoid_stay_in_its_table(block: int) -> None:
    release = ClampedSigmoid(60, block=block, gamma=1).plan(ROWS).release
    signs = np.sign(release.transform.dense)
    blocks = np.concatenate([signs, -signs]).astype(np.int64)[None] * 3 * ONE
    seen: list[Any] = []

    def draw(steps: Any) -> Any:
        seen.append(np.array(steps))
        return steps

    object.__setattr__(release.table, "draw", draw)
    release.run(blocks)
    assert seen[0].min() >= 0
    assert seen[0].max() <= STEPS


@pytest.mark.parametrize("rate", [0.5, 5.0])
def test_every_output_of_the_clamped_sigmoid_has_a_chance(rate: float) -> None:
    """However steep the noise is: an output without one would lose everything."""
    table = SigmoidTable(Fraction(1, 2), rate)
    assert (table.counts > 0).all()
    assert all(sum(row.tolist()) == 2**62 for row in table.counts)
    exact = np.abs(np.diff(np.log(table.counts.astype(np.longdouble)), axis=0)).max()
    assert float(exact) * (1 - 1e-12) <= float(table.loss) < math.inf


def test_integer_transforms_reach_no_farther_than_they_say() -> None:
    for bank, length in ((HAAR, 8), (THREE_BAND, 9)):
        transform = IntegerTransform(bank, length)
        extreme = (np.sign(transform.dense) * 7).astype(np.int64)
        found = np.abs(transform.apply(extreme, 7)).max()
        assert found == transform.reach(7)
        assert (transform.apply(3 * extreme, 7) == transform.apply(extreme, 7)).all()


def test_no_block_of_rows_moves_farther_than_is_charged() -> None:
    """From the matrix that is applied: every cell of one row from end to end."""
    for columns in (1, 3):
        schema = dp.Schema({f"x{j}": dp.Real(0, 1) for j in range(columns)})
        for mask in (WaveletLaplace(30), WaveletGaussian(30, delta=1e-5)):
            release = mask.plan(schema).release
            matrix = release.transform.dense.astype(object)
            far = columns * 2 * ONE * max(sum(map(abs, column)) for column in matrix.T)
            squared = max(sum(entry**2 for entry in column) for column in matrix.T)
            assert release.sensitivity.l1 == far
            assert release.sensitivity.l2_squared == columns * (2 * ONE) ** 2 * squared
