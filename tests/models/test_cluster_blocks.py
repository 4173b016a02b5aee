"""k-means by sample and aggregate: one person changes few blocks, and a block little."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.coding import Sensitivity
from discreet.mechanisms import LaplaceDistribution, NoNoise
from discreet.models.cluster import KMeans
from discreet.models.cluster.blocks import SIZE, BlockCentres, block_sensitivity, dealt
from discreet.step import CodedRows
from discreet.testing import fixed_noise

SCHEMA = dp.Schema(x=dp.Real(0, 1), y=dp.Real(0, 1))
STARTS = np.array([[[0.1, 0.1], [0.9, 0.9]], [[0.1, 0.9], [0.9, 0.1]]])
BLOCKS = 5


def by_block(codes: Any, blocks: int = BLOCKS) -> list[tuple[Any, ...]]:
    """What stands in each block, as sorted rows."""
    ordered = codes[np.lexsort(codes.T[::-1])]
    block = dealt(ordered, blocks)
    return [tuple(map(tuple, ordered[block == b].tolist())) for b in range(blocks)]


def by_position(codes: Any, blocks: int = BLOCKS) -> list[tuple[Any, ...]]:
    """A rule that is wrong where rows can come and go."""
    block = np.arange(len(codes)) % blocks
    return [tuple(sorted(map(tuple, codes[block == b].tolist()))) for b in range(blocks)]


def tables(seed: int) -> Any:
    draw = np.random.default_rng(seed)
    return draw.integers(0, 3, (int(draw.integers(1, 40)), 2)) * 500_000


def changed(rule: Any, codes: Any, other: Any) -> int:
    return sum(a != b for a, b in zip(rule(codes), rule(other), strict=True))


def test_a_row_less_changes_one_block() -> None:
    positions = []
    for seed in range(60):
        codes = tables(seed)
        gone = seed % len(codes)
        fewer = np.delete(codes, gone, axis=0)
        assert changed(by_block, codes, fewer) == 1
        positions.append(changed(by_position, codes, np.delete(codes, 0, axis=0)))
        replaced = codes.copy()
        replaced[gone] = [77, 88]
        assert changed(by_block, codes, replaced) <= 2
    assert max(positions) > 1


def test_blocks_do_not_depend_on_the_order_and_spread_equal_rows() -> None:
    codes = tables(7)
    shuffled = codes[np.random.default_rng(0).permutation(len(codes))]
    assert by_block(codes) == by_block(shuffled)
    sizes = np.bincount(dealt(np.zeros((5000, 2), np.int64), 10), minlength=10)
    assert sizes.min() > 300
    assert dealt(np.zeros((0, 2), np.int64), 10).shape == (0,)


def exact_sum(codes: Any) -> Any:
    step = BlockCentres(("x", "y"), STARTS, BLOCKS, NoNoise())
    return step.run(CodedRows(codes, ("x", "y"), SCHEMA)) * (SIZE * BLOCKS)


def test_sums_move_by_at_most_the_sensitivity() -> None:
    units = {relation: dp.Unit(relation) for relation in (dp.ADD_REMOVE, dp.REPLACE_ONE)}
    found = {
        relation: block_sensitivity(SCHEMA, unit, ("x", "y"), 2, BLOCKS)
        for relation, unit in units.items()
    }
    assert found[dp.ADD_REMOVE] == Sensitivity(4 * SIZE, 4 * SIZE**2)
    assert found[dp.REPLACE_ONE] == Sensitivity(8 * SIZE, 16 * SIZE**2)
    for seed in range(25):
        codes = tables(seed)[:12]
        fewer, replaced = codes[1:], codes.copy()
        replaced[0] = [SIZE, 0]
        for relation, other in ((dp.ADD_REMOVE, fewer), (dp.REPLACE_ONE, replaced)):
            move = exact_sum(codes) - exact_sum(other)
            assert abs(move).sum() <= found[relation].l1 + 1e-3
            assert (move**2).sum() <= found[relation].l2_squared + 1e3


def test_sensitivity_counts_persons_and_blocks() -> None:
    unit = dp.Unit(dp.ADD_REMOVE, "who", 3)
    assert block_sensitivity(SCHEMA, unit, ("x",), 2, 100).l1 == 3 * 2 * SIZE
    assert (
        block_sensitivity(SCHEMA, unit, ("x",), 2, 2).l1 == 2 * 2 * SIZE
    )  # no more than all blocks
    still = dp.Schema(x=dp.Real(0, 1), c=dp.Real(5, 5))
    assert block_sensitivity(still, dp.Unit(), ("x", "c"), 2, 9).l1 == 2 * SIZE


def test_one_row_moves_an_empty_block_all_the_way() -> None:
    """The bound is met: a start in one corner, a row in the other."""
    step = BlockCentres(("x", "y"), np.zeros((1, 1, 2)), BLOCKS, NoNoise())
    none, one = np.zeros((0, 2), np.int64), np.full((1, 2), SIZE)
    move = [step.run(CodedRows(rows, ("x", "y"), SCHEMA)) for rows in (none, one)]
    assert abs(move[1] - move[0]).sum() * SIZE * BLOCKS == 2 * SIZE


def test_centres_of_blocks_are_matched() -> None:
    """Each block finds the two clusters, however it numbers them: the average stays apart."""
    draw = np.random.default_rng(0)
    x = np.array([[0.2, 0.8], [0.8, 0.2]])[draw.integers(0, 2, 4000)] + draw.normal(
        0, 0.02, (4000, 2)
    )
    model = KMeans(
        2, method="sample_aggregate", blocks=40, unit=dp.PUBLIC, epsilon=np.inf, bounds=(0, 1)
    ).fit(x)
    found = model.cluster_centers_[model.cluster_centers_[:, 0].argsort()]
    assert found == pytest.approx(np.array([[0.2, 0.8], [0.8, 0.2]]), abs=0.01)


def test_the_order_of_rows_does_not_matter() -> None:
    draw = np.random.default_rng(0)
    x = draw.random((500, 2))
    options: dict[str, Any] = {"method": "sample_aggregate", "bounds": (0, 1)}
    with fixed_noise(2):
        one = KMeans(3, **options).fit(x)
    with fixed_noise(2):
        other = KMeans(3, **options).fit(x[draw.permutation(500)])
    assert (one.cluster_centers_ == other.cluster_centers_).all()


def test_more_budget_needs_fewer_blocks() -> None:
    def blocks(**options: Any) -> int:
        model = KMeans(2, method="sample_aggregate", schema=SCHEMA, **options)
        return model.plan().queries[0].blocks  # type: ignore[no-any-return]

    assert blocks(epsilon=1) == 114  # √2·4 coordinates/ε, over a twentieth
    assert blocks(epsilon=1, unit=dp.REPLACE_ONE) == 227
    assert blocks(epsilon=1e4) == 8
    assert blocks(epsilon=1e-4) == 4096
    assert blocks(blocks=33) == 33
    plan = KMeans(2, method="sample_aggregate", schema=SCHEMA, blocks=50).plan()
    assert plan.noise["cluster_centers_"] == pytest.approx(
        np.full((2, 2), np.sqrt(2) * 4 / 50), rel=1e-3
    )


def test_the_released_average_has_the_noise_that_is_charged() -> None:
    """Rows in the middle of the box, so that the noise is rarely cut at its ends."""
    distribution = LaplaceDistribution(Fraction(BLOCKS * SIZE, 20))
    starts = np.full((1, 1, 2), 0.5)
    step = BlockCentres(("x", "y"), starts, BLOCKS, distribution)
    rows = CodedRows(np.full((3, 2), SIZE // 2), ("x", "y"), SCHEMA)
    drawn = np.array([step.run(rows).ravel() for _ in range(300)])
    stated = distribution.expected_error() / (SIZE * BLOCKS)
    assert 0.75 < drawn.std(axis=0).mean() / stated < 1.25
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.4
    assert len(np.unique(drawn)) > 500
