"""What one row can add to the sums of models: bounds that hold for every row, reached at the extremes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet.coding import Sensitivity
from discreet.columns import Integer, Real
from discreet.models.cluster.blocks import SIZE, _round_to_grid, block_sensitivity
from discreet.models.decomposition.ball import RADIUS, Ball
from discreet.models.decomposition.directions import PrincipalDirections
from discreet.models.naive_bayes import GaussianNB
from discreet.testing import fixed_noise

UNITS = [
    (dp.Unit(dp.ADD_REMOVE), 1),
    (dp.Unit(dp.REPLACE_ONE), 2),
    (dp.Unit(dp.ADD_REMOVE, "id", 3), 3),
    (dp.Unit(dp.REPLACE_ONE, "id", 3), 6),
]


@pytest.mark.parametrize(("unit", "changed"), UNITS, ids=str)
@pytest.mark.parametrize(("clusters", "columns"), [(1, 1), (3, 2)])
def test_changed_blocks_move_every_coordinate_all_the_way(
    unit: dp.Unit, changed: int, clusters: int, columns: int
) -> None:
    names = tuple(f"x{at}" for at in range(columns))
    schema = dp.Schema({name: dp.Real(0, 1) for name in names})
    for blocks in (2, 50):
        moved = np.full(clusters * columns, min(changed, blocks) * SIZE, object)
        found = block_sensitivity(schema, unit, names, clusters, blocks)
        assert found == Sensitivity(int(moved.sum()), int((moved**2).sum()))


def test_centres_beyond_the_box_are_rounded_into_it() -> None:
    found = _round_to_grid(np.array([[-3.0, 0.5], [1.0 + 1e-9, 7.0]]))
    assert found.tolist() == [[0, SIZE // 2], [SIZE, SIZE]]


def ball(*bounds: tuple[float, float], centre: Any = None, norm: float = 1.0) -> Ball:
    columns = tuple(Real(*pair) for pair in bounds)
    middle = [sum(pair) / 2 for pair in bounds] if centre is None else centre
    return Ball(columns, np.array(middle, float), norm)


@pytest.mark.parametrize(
    "around",
    [
        ball((0, 1), (0, 1), norm=0.1),
        ball((0, 1), (3, 3)),  # a column without width
        ball((0, 1), (0, 1), norm=1e-300),
        ball((0, 1), (0, 1), norm=5e-324),
        ball((-1e150, 1e150), (0, 1), norm=1.0),
    ],
    ids=repr,
)
def test_every_row_is_in_the_ball_whatever_its_norm(around: Ball) -> None:
    steps = 2**20
    codes = np.array(
        [[0, 0], [steps, steps], [steps // 2, 0], [steps // 2, steps // 2], [1, steps]]
    )
    with np.errstate(all="raise"):
        z = around.rows(codes).astype(object)
    assert max(int((row**2).sum()) for row in z) <= RADIUS**2
    if around.columns[1].width == 0:
        assert len(set(z[:, 1].tolist())) == 1  # a column without width tells no rows apart


def test_squares_along_directions_are_parts_of_a_rows_own() -> None:
    """A row of length 1 between two directions: rounded, both would count it whole."""
    around = ball((0, 1), (0, 1), norm=0.9)
    half = math.sqrt(0.5)
    directions = np.array([[half, half], [half, -half]])
    steps = 2**20
    for codes in ([[steps // 2 + 16, steps // 2]], [[steps // 2, steps // 2 - 20]], [[steps, 0]]):
        row = np.array(codes)
        z = around.rows(row)
        found = around.squares(row, directions)
        assert (found >= 0).all()
        assert found.sum() == (z**2).sum() <= RADIUS**2


@pytest.mark.parametrize(("unit", "changed"), UNITS, ids=str)
def test_the_sensitivity_of_squares_is_that_of_corners(unit: dp.Unit, changed: int) -> None:
    """Vectors of at least 0 whose sum is at most RADIUS² for each row of a person."""
    corners = unit.rows_per_person * RADIUS**2 * np.eye(3, dtype=object)
    moves = list(corners)
    if unit.relation is dp.REPLACE_ONE:
        moves += [one - other for one in corners for other in corners]
    found = ball((0, 1)).sensitivity(unit)
    assert found.l1 == max(int(np.abs(move).sum()) for move in moves)
    assert found.l2_squared == max(int((move**2).sum()) for move in moves)


def test_no_noise_is_refused_wherever_rows_are_private() -> None:
    """By a plan, by a fit of arrays and by a fit of a data set, before anything is charged."""
    model = GaussianNB(epsilon=math.inf, bounds=(0, 1), classes=[0, 1])
    x, y = np.full((4, 1), 0.5), [0, 1, 0, 1]
    schema = dp.Schema(x=dp.Real(0, 1), y=dp.Categorical(0, 1))
    ledger = dp.Ledger(limit=dp.PureDP(1))
    data = dp.PrivateDataset({"x": x[:, 0], "y": y}, schema, ledger=ledger)
    for act in (
        lambda: model.fit(x, y),
        lambda: GaussianNB(epsilon=math.inf).fit(data),
        lambda: model.plan(n_features=1),
    ):
        with pytest.raises(ValueError, match=r"only with unit=dp\.PUBLIC"):
            act()
    assert len(ledger.entries()) == 1


def test_a_row_at_the_centre_stays_there_however_small_the_ball_is() -> None:
    around = Ball((Integer(0, 10), Integer(0, 10)), np.array([5.0, 5.0]), 5e-324)
    with np.errstate(all="raise"):
        z = around.rows(np.array([[5, 5], [0, 10], [5, 6]])).astype(object)
    assert z[0].tolist() == [0, 0]
    assert max(int((row**2).sum()) for row in z) <= RADIUS**2


def test_directions_are_drawn_with_the_weight_that_is_charged() -> None:
    """In the plane twice the angle has von Mises' distribution, of half the gap of the eigenvalues."""
    step = PrincipalDirections(("x", "y"), ball((0, 1), (0, 1)), 1, Fraction(4), dp.Unit())
    gram = np.diag([float(RADIUS**2), 0.0])
    with fixed_noise(5):
        drawn = np.array([step._one(gram) for _ in range(1500)])
    angle = (2 * np.arctan2(drawn[:, 1], drawn[:, 0]) + math.pi) % (2 * math.pi) - math.pi
    assert float(step.factor()) * RADIUS**2 == 4
    assert stats.kstest(angle, stats.vonmises(2).cdf).pvalue > 1e-3
    assert stats.kstest(angle, stats.vonmises(4).cdf).pvalue < 1e-6
