"""Synthetic tables: what is refused, in which words, and that nothing is paid for it."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp
from discreet.publish import Synthesizer, report_utility
from discreet.queries import Axis, FarMarginals

SCHEMA = dp.Schema(
    town=dp.Categorical(*(f"town {k}" for k in range(20)), unknown="town 0"),
    trade=dp.Categorical(*(f"trade {k}" for k in range(20)), unknown="trade 0"),
    ill=dp.Categorical("no", "yes", unknown="no"),
)


def people(schema: dp.Schema = SCHEMA, rows: int = 4000) -> dp.PrivateDataset:
    draw = np.random.default_rng(0)
    cells = {
        name: np.array(column.values, object)[draw.integers(0, len(column.values), rows)]
        for name, column in schema.items()
    }
    return dp.PrivateDataset(cells, schema, ledger=dp.Ledger(limit=dp.ApproxDP(200, 1e-5)))


@pytest.mark.parametrize("target", [None, "ill"])
def test_few_columns_keep_to_max_cells_too(target):
    columns = {name: SCHEMA[name] for name in ("town", "trade", target) if name is not None}
    data = people(dp.Schema(columns))
    size = 100
    made = Synthesizer(100, 1e-6, target=target, max_cells=size, iterations=20).fit(data)
    assert sum(table.size for table in made.model_.tables) <= size
    assert len(made.sample(10)["town"]) == 10
    large = Synthesizer(100, 1e-6, target=target, iterations=20).fit(data)
    assert sum(table.size for table in large.model_.tables) >= 400


def test_a_model_of_more_cells_than_can_be_counted_is_refused_at_once():
    with pytest.raises(ValueError, match="max_cells must be at most"):
        Synthesizer(1, 1e-6, max_cells=2**23)


def test_columns_with_too_many_cells_are_named():
    many = dp.Categorical(*range(3000))
    data = people(dp.Schema(a=many, b=many, c=many), rows=0)
    with pytest.raises(ValueError, match="'a' and 'b' have 9006001 cells"):
        Synthesizer(1, 1e-6).fit(data)
    assert len(data.ledger.entries()) == 1  # its opening


def test_a_report_on_other_columns_is_refused_before_it_is_paid_for():
    fitted = Synthesizer(1, 1e-6, iterations=5).fit(people())
    wider = SCHEMA.replace(ill=dp.Categorical("no", "yes", "perhaps", unknown="no"))
    same_size = SCHEMA.replace(ill=dp.Categorical("yes", "no", unknown="no"))
    for schema in (wider, same_size, dp.Schema(town=SCHEMA["town"])):
        data = people(schema)
        with pytest.raises(ValueError, match="as they were declared"):
            report_utility(fitted, data, dp.PureDP(1))
        assert len(data.ledger.entries()) == 1  # its opening
    with pytest.raises(ValueError, match="not fitted yet"):
        report_utility(Synthesizer(1, 1e-6), people(), dp.PureDP(1))


def test_no_allowance_lets_counts_decide_whether_scores_fit_64_bits():
    # with 2^63 + 1 a table without rows would have raised, and one with a row would not have
    for allowance in (2**63 + 1, 2**42 + 1, -1):
        with pytest.raises(ValueError, match="allowances must lie between"):
            FarMarginals([[Axis("ill")]], [[0, 0]], allowances=[allowance])
    query = FarMarginals([[Axis("ill")]], [[2**41, 2**41]], weights=[2**10], allowances=[2**42])
    for count in (0, 2**40):
        assert abs(int(query.scores([np.array([[count], [0]])])[0])) < 2**53


def test_noise_alone_can_not_make_allowances_too_large():
    data = people()
    made = Synthesizer(1e-10, 1e-6, rounds=1, iterations=2).fit(data)
    assert len(made.sample(5)["ill"]) == 5


def test_an_estimate_of_too_many_rows_is_not_drawn_by_default():
    made = Synthesizer(1, 1e-6, iterations=2).fit(people())
    made.total_ = 2.0**40
    with pytest.raises(ValueError, match="rows must be given"):
        made.sample()
    assert len(made.sample(3)["ill"]) == 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"workload": 5}, "workload must be a list of tuples"),
        ({"workload": ["town"]}, "workload must be a list of tuples"),
        ({"workload": {"town": 1}}, "workload must be a list of tuples"),
        ({"constraints": [3]}, "constraints must be conditions"),
        ({"constraints": 3}, "constraints must be a list"),
        ({"bins": {"age": 2.5}}, "bins.'age'. must be a whole number"),
        ({"bins": {"age": 0}}, "bins.'age'. must be at least 2"),
        ({"bins": {"age": "ab"}}, "bins.'age'. must be a whole number, or numbers to cut at"),
        ({"bins": {"age": None}}, "bins.'age'. must be a whole number"),
    ],
)
def test_what_can_not_be_used_is_refused_in_our_own_words(options, told):
    schema = dp.Schema(age=dp.Integer(0, 99), **dict(SCHEMA.items()))
    data = dp.PrivateDataset(
        {name: np.array([], object) for name in schema}, schema, unit=dp.PUBLIC
    )
    with pytest.raises((TypeError, ValueError), match=told):
        Synthesizer(1, 1e-6, **options).fit(data)


def test_a_number_of_bins_may_be_of_numpy():
    schema = dp.Schema(age=dp.Integer(0, 99), ill=SCHEMA["ill"])
    data = dp.PrivateDataset(
        {"age": np.array([40.0]), "ill": np.array(["no"], object)}, schema, unit=dp.PUBLIC
    )
    made = Synthesizer(1, 1e-6, bins={"age": np.int64(4)}, iterations=2).fit(data)
    assert made.layout_.sizes[0] == 4


def test_a_wide_target_leaves_pairs_to_choose_from():
    schema = dp.Schema(
        a=dp.Integer(0, 299),
        b=dp.Integer(0, 299),
        c=dp.Categorical(*map(str, range(100)), unknown="0"),
        d=dp.Integer(0, 3),
    )
    rows = {"a": [1], "b": [2], "c": ["3"], "d": [0]}
    data = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.ApproxDP(4, 1e-6)))
    maker = Synthesizer(4, 1e-6, target="c", bins=300)
    candidates = maker.plan(data).recipe.round_candidates()
    assert candidates[0, 1] == (0, 1)  # 90 000 cells; 9 million with the target
    assert candidates[0, 3] == (0, 2, 3)
    assert candidates[0,] == (0, 2)
