"""Blurred rows: the whole row is covered, the noise is what it says, and n is never told."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet import testing
from discreet.accounting import satisfies
from discreet.publish import RowPerturbation, perturb
from discreet.publish.perturb import PerturbedRows
from discreet.publish.rows import ONE
from discreet.step import CodedRows
from small_tables import draw_table

SCHEMA = dp.Schema(
    a=dp.Real(0, 10),
    b=dp.Integer(-5, 5),
    g=dp.Categorical("x", "y", "z"),
    same=dp.Real(3, 3),
    only=dp.Categorical("one"),
    ill=dp.Categorical(0, 1),
)
COLUMNS = {
    "a": (0, 10),
    "b": range(-5, 6),
    "g": ["x", "y", "z"],
    "same": 3.0,
    "only": "one",
    "ill": range(2),
}


@pytest.mark.parametrize("epsilon", ["1/10000", "1/10", 1, 7, 1000])
@pytest.mark.parametrize("delta", [0, "1/1000000"])
@pytest.mark.parametrize("target", [None, "ill"])
def test_the_shares_make_up_the_budget(epsilon: Any, delta: Any, target: Any) -> None:
    channel = RowPerturbation(SCHEMA, epsilon=epsilon, delta=delta, target=target)
    assert sum(channel.shares.values()) == Fraction(epsilon)
    assert satisfies(channel.event(), channel.measure)
    assert not satisfies(channel.event(), dp.PureDP(Fraction(epsilon) * 9 / 10))
    assert set(channel.shares) == {"", "g", "ill"}
    if target is None:
        assert channel.shares[""] == 2 * channel.shares["ill"] == 2 * channel.shares["g"]


def test_the_label_gets_its_share() -> None:
    for epsilon, share in ((0.01, 0.5), (2, 0.4648), (50, 0.0898)):
        channel = RowPerturbation(SCHEMA, epsilon=epsilon, target="ill")
        assert float(channel.shares["ill"]) / epsilon == pytest.approx(share, abs=1e-3)
    told = RowPerturbation(SCHEMA, epsilon=2, target="ill", label_share="1/4")
    assert told.shares["ill"] == Fraction(1, 2)
    alone = RowPerturbation(dp.Schema(ill=dp.Categorical(0, 1)), epsilon=2, target="ill")
    assert alone.shares == {"ill": 2}


def test_no_two_rows_are_farther_apart_than_the_noise_is_for() -> None:
    draw = np.random.default_rng(1)
    for width, norm in ((1, None), (3, None), (8, 1), (8, 5)):
        schema = dp.Schema({f"x{j}": dp.Real(-1, 1) for j in range(width)})
        channel = RowPerturbation(schema, epsilon=1, norm=norm)
        seen: list[Any] = []

        class Spy:
            def run(self, z: Any, seen: list[Any] = seen) -> Any:
                seen.append(z)
                return z

        object.__setattr__(channel, "distribution", Spy())
        rows = np.sign(draw.normal(size=(4000, width))) * draw.choice([1, 1, 0.3], (4000, width))
        channel.randomize(np.concatenate([rows, -np.ones((1, width)), np.ones((1, width))]))
        z = seen[0]
        far = np.abs(z[:2000] - z[2000:4000]).sum(axis=1).max()
        corners = int(np.abs(z[-1] - z[-2]).sum())
        assert max(far, corners) <= channel.moved.l1
        assert corners > 0.99 * channel.moved.l1 - width
        assert ((z[-1] - z[-2]) ** 2).sum() <= channel.moved.l2_squared
        assert (z**2).sum(axis=1).max() <= channel.radius**2


@pytest.mark.parametrize(("kind", "delta"), [("grid", 0), ("grid", 1e-2), ("norm-gamma", 0)])
def test_noise_has_the_spread_it_says(kind: Any, delta: float) -> None:
    schema = dp.Schema({f"x{j}": dp.Real(0, 4) for j in range(5)})
    channel = RowPerturbation(schema, epsilon=3, delta=delta, kind=kind)
    with testing.fixed_noise(3):
        told = channel.randomize(np.full((20_000, 5), 2.0))
    for name, size in channel.spread().items():
        assert abs(told[name].mean() - 2.0) < 5 * size / math.sqrt(20_000)
        assert told[name].std() == pytest.approx(size, rel=0.03)
        assert told[name].std() != pytest.approx(1.1 * size, rel=0.03)


def test_norm_gamma_radii_and_directions() -> None:
    schema = dp.Schema({f"x{j}": dp.Real(-1, 1) for j in range(4)})
    channel = RowPerturbation(schema, epsilon=2, kind="norm-gamma")
    with testing.fixed_noise(4):
        told = np.column_stack(list(channel.randomize(np.zeros((8000, 4))).values()))
    radius = np.linalg.norm(told, axis=1)
    scale = 2 * channel.radius / ONE / 2
    assert stats.kstest(radius, stats.gamma(4, scale=scale).cdf).pvalue > 1e-3
    assert stats.kstest(radius, stats.gamma(3, scale=scale).cdf).pvalue < 1e-6
    assert stats.kstest(radius, stats.expon(scale=4 * scale).cdf).pvalue < 1e-6  # as it is printed
    angle = told[:, 0] / radius
    assert abs(angle.mean()) < 0.02
    assert np.mean(angle**2) == pytest.approx(1 / 4, abs=0.01)


def test_categories_lie_as_often_as_they_should() -> None:
    channel = RowPerturbation(SCHEMA, epsilon=3, target="ill")
    truth = draw_table(20_000, **COLUMNS)
    with testing.fixed_noise(6):
        told = channel.randomize(truth)
    for name in ("g", "ill"):
        lie = float(channel.response(name).lie)
        assert np.mean(told[name] != truth[name]) == pytest.approx(lie, abs=0.015)
        assert lie > 0.05
    assert set(told["same"]) == {3.0}
    assert set(told["only"]) == {"one"}


def test_cells_of_any_kind_are_told_alike() -> None:
    channel = RowPerturbation(SCHEMA, epsilon=1)
    odd = {
        "a": [None, math.nan, "text", math.inf, 1e300, {"a": 1}],
        "b": [None, 2.5, -math.inf, "7", [], 10**30],
        "g": [None, "q", 3, math.nan, b"x", "x"],
        "same": [None] * 6,
        "only": [None] * 6,
        "ill": [2, None, "1", math.nan, 0.5, 1],
    }
    told = channel.randomize(odd)
    for name in odd:
        assert len(told[name]) == 6
    assert np.isfinite(told["a"]).all()
    assert set(told["g"]) <= set("xyz")
    assert set(told["ill"].tolist()) <= {0, 1}
    none = channel.randomize({name: np.array([]) for name in SCHEMA.base})
    assert all(len(column) == 0 for column in none.values())


def dataset(rows: int, unit: Any, limit: Any = None, **options: Any) -> Any:
    ledger = dp.Ledger(limit=limit or dp.PureDP(1), unit=unit, **options)
    return dp.PrivateDataset(draw_table(rows, **COLUMNS), SCHEMA, ledger=ledger)


def test_a_table_is_charged_and_published() -> None:
    data = dataset(300, dp.Unit(dp.REPLACE_ONE))
    told = perturb(data, epsilon=1, target="ill")
    assert list(told) == list(SCHEMA.base)
    assert {len(column) for column in told.values()} == {300}
    entry = data.ledger.entries()[-1]
    assert entry.booked == dp.PureDP(1)
    assert entry.event == RowPerturbation(SCHEMA, epsilon=1, target="ill").event()
    with pytest.raises(dp.BudgetExceeded):
        perturb(data, epsilon=1)


@pytest.mark.parametrize(
    "unit",
    [
        dp.Unit(dp.ADD_REMOVE),
        dp.Unit(dp.REPLACE_ONE, id_column="b", max_rows=2),
        dp.Unit(dp.ADD_REMOVE, id_column="b", max_rows=1),
    ],
    ids=str,
)
def test_rows_are_refused_where_their_number_is_private(unit: Any) -> None:
    data = dataset(30, unit)
    with pytest.raises(ValueError, match=r"rows can be published under dp.REPLACE_ONE only"):
        perturb(data, epsilon=1)
    assert [entry.kind for entry in data.ledger.entries()].count("charge") == 0


def test_as_many_rows_as_declared_whatever_there_is() -> None:
    for there, declared in ((5, 9), (9, 5), (0, 4)):
        ledger = dp.Ledger(limit=dp.PureDP(1), unit=dp.Unit(dp.REPLACE_ONE))
        data = dp.PrivateDataset(draw_table(there, **COLUMNS), SCHEMA, ledger=ledger, rows=declared)
        told = perturb(data, epsilon=1)
        assert {len(column) for column in told.values()} == {declared}


def test_of_too_many_rows_any_may_be_left_out() -> None:
    """Not the engine's last ones: its order may depend on cells."""
    schema = dp.Schema(g=dp.Categorical("first", "last"))
    unit, found = dp.Unit(dp.REPLACE_ONE), set()
    with testing.fixed_noise(5):
        for _ in range(20):
            ledger = dp.Ledger(limit=dp.PureDP(50), unit=unit)
            data = dp.PrivateDataset({"g": ["first", "last"]}, schema, ledger=ledger, rows=1)
            found |= set(perturb(data, epsilon=50)["g"])
    assert found == {"first", "last"}


def test_rows_come_in_a_random_order_but_whole() -> None:
    schema = dp.Schema(x=dp.Real(0, 1), g=dp.Categorical(*range(4)))
    channel = RowPerturbation(schema, epsilon=10**6, norm=1)
    codes = np.column_stack([np.arange(4) * 2**20 // 3, np.arange(4)])
    step = PerturbedRows(channel, 4)
    firsts = []
    for _ in range(60):
        told = step.run(CodedRows(codes, ("x", "g"), schema))
        assert np.allclose(told["x"], told["g"] / 3, atol=0.01)
        firsts.append(int(told["g"][0]))
    assert set(firsts) == {0, 1, 2, 3}


def test_norm_gamma_is_assumed() -> None:
    unit = dp.Unit(dp.REPLACE_ONE)
    with pytest.raises(ValueError, match="assumed"):
        perturb(dataset(9, unit), epsilon=1, kind="norm-gamma")
    told = perturb(dataset(9, unit, accept_assumed=True), epsilon=1, kind="norm-gamma")
    assert len(told["a"]) == 9


def test_a_step_is_for_its_own_schema() -> None:
    step = PerturbedRows(RowPerturbation(SCHEMA, epsilon=1), 9)
    wider = SCHEMA.replace(a=dp.Real(0, 1000))
    with pytest.raises(ValueError, match="made for other columns"):
        step.event(wider, dp.Unit(dp.REPLACE_ONE))


def test_public_rows_are_free() -> None:
    data = dp.PrivateDataset(draw_table(9, **COLUMNS), SCHEMA, unit=dp.PUBLIC)
    assert len(perturb(data, epsilon=1)["a"]) == 9


def test_public_mistakes_raise() -> None:
    for options, words in (
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": 1, "delta": 1}, "delta must be"),
        ({"epsilon": 1, "norm": 0}, "norm must be"),
        ({"epsilon": 1, "label_share": 1}, "label_share must lie"),
        ({"epsilon": 1, "target": "a"}, "target must be a column of categories"),
        ({"epsilon": 1, "kind": "laplace"}, "kind must be"),
        ({"epsilon": 1, "kind": "norm-gamma", "delta": "1/10"}, "delta must be 0"),
    ):
        with pytest.raises(ValueError, match=words):
            RowPerturbation(SCHEMA, **options)
    with pytest.raises(ValueError, match=r"must be dp.Real, dp.Integer or dp.Categorical"):
        RowPerturbation(dp.Schema(name=dp.Text()), epsilon=1)
    channel = RowPerturbation(SCHEMA, epsilon=1)
    with pytest.raises(ValueError, match="must have the column"):
        channel.randomize({"a": [1.0]})
    with pytest.raises(ValueError, match="must have 6 columns"):
        channel.randomize(np.zeros((3, 5)))
    with pytest.raises(TypeError, match=r"must be a dp.PrivateDataset"):
        perturb(draw_table(3, **COLUMNS), epsilon=1)  # type: ignore[arg-type]
