"""Synthetic tables: how numbers are spread inside groups of cells, and what a large budget changes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import discreet as dp
from discreet import models, testing
from discreet.publish import Synthesizer
from discreet.publish.synthetic.estimation import Measured
from discreet.publish.synthetic.inside import split_by_target
from discreet.publish.synthetic.layout import FINE, Layout

SCHEMA = dp.Schema(
    age=dp.Integer(0, 99),
    town=dp.Categorical("A", "B", unknown="A"),
    pay=dp.Real(0, 5000),
    ill=dp.Categorical("no", "yes", unknown="no"),
)


def people(rows: int = 6000) -> dict:
    """The ill have even ages, the others odd ones: neighbours, which groups of cells don't tell apart."""
    draw = np.random.default_rng(1)
    ill = draw.random(rows) < 0.4
    return {
        "age": draw.integers(0, 50, rows) * 2 + ~ill,
        "town": draw.choice(["A", "B"], rows).astype(object),
        "pay": draw.random(rows) * 5000,
        "ill": np.where(ill, "yes", "no").astype(object),
    }


def behind_a_door(rows: int) -> dp.PrivateDataset:
    ledger = dp.Ledger(limit=dp.ApproxDP(20, 1e-6))
    return dp.PrivateDataset(people(rows), SCHEMA, ledger=ledger)


def fit(target="ill", rows=6000) -> Synthesizer:
    return Synthesizer(20, 1e-6, target=target, iterations=100).fit(behind_a_door(rows))


def test_a_large_budget_has_finer_cells_and_smaller_rounds():
    data = behind_a_door(10)
    small, large = (Synthesizer(epsilon, 1e-6).plan(data).recipe for epsilon in (1, 4))
    assert [stage.count for stage in small.stages] == [3, 6, 6]
    assert [stage.count for stage in large.stages] == [3, 3, 3, 3, 3]
    assert small.layout.sizes[0] == 16
    assert large.layout.sizes[0] == 100  # every year
    # a marginal of a round has the same share of either budget
    shares = [
        recipe.stages[-1].measure.budget.rho / recipe.first.budget.rho / recipe.stages[-1].count
        for recipe in (small, large)
    ]
    assert shares[0] == shares[1]


def test_inside_a_group_numbers_follow_the_target():
    fitted = fit()
    made = fitted.sample(6000, random_state=0)
    is_ill, is_even = made["ill"] == "yes", made["age"] % 2 == 0
    assert is_even[is_ill].mean() > 0.9  # half of them without the target
    assert is_even[~is_ill].mean() < 0.1
    without = fit(target=None).sample(6000, random_state=0)
    assert (without["age"] % 2 == 0)[without["ill"] == "yes"].mean() < 0.8


def test_marginals_are_those_of_the_rows_that_are_drawn():
    fitted = fit()
    made = fitted.sample(300_000, random_state=0)
    is_ill = (made["ill"] == "yes").astype(int)
    drawn = np.histogram2d(made["age"], is_ill, [np.arange(101), np.arange(3)])[0] / 300_000
    assert abs(fitted.marginal("age", "ill") - drawn).sum() < 0.02
    assert abs(fitted.marginal("ill", "age") - drawn.T).sum() < 0.02
    towns = (made["town"] == "B").astype(int)
    drawn = np.histogram2d(made["age"], towns, [np.arange(101), np.arange(3)])[0] / 300_000
    assert abs(fitted.marginal("age", "town") - drawn).sum() < 0.02


def test_what_noise_explains_does_not_follow_the_target():
    shares = np.full(4, 0.25)
    even = np.array([[100.0, 100, 100, 100], [10, 10, 10, 10]])
    noise = np.array([[5.0, -5, 5, -5], [-5, 5, -5, 5]])
    part = Measured((0, 1), (even + noise).T, np.asarray(6.0))
    assert np.allclose(split_by_target(part, 0, (0, 0, 0, 0), (0, 1), shares), 0.25)
    # the same numbers, measured well
    part = Measured((0, 1), (even + noise).T, np.asarray(0.01))
    found = split_by_target(part, 0, (0, 0, 0, 0), (0, 1), shares)
    assert np.allclose(found[1], [0.125, 0.375, 0.125, 0.375], atol=1e-4)
    # target before column, groups of cells, and one group of the target's values
    part = Measured((1, 2), even + noise, np.asarray(0.01))
    found = split_by_target(part, 2, (0, 0, 1, 1), (0, 0), shares)
    assert np.allclose(found, 0.25)
    assert np.allclose(split_by_target(part, 2, (0, 1, 2, 3), (0, 1), shares), 0.25)


def test_numbers_below_zero_leave_shares_as_they_are():
    part = Measured((0, 1), np.full((3, 2), -7.0), np.asarray(1.0))
    found = split_by_target(part, 0, (0, 0, 0), (0, 1), np.array([0.5, 0.5, 0.0]))
    assert np.allclose(found.sum(axis=1), 1)
    assert (found >= 0).all()


@pytest.mark.parametrize(("bins", "is_fine"), [(FINE, False), (FINE + 10, True)])
def test_a_fine_cell_stands_for_one_number(bins, is_fine):
    schema = dp.Schema(x=dp.Real(-1, 1), n=dp.Integer(1, 1000))
    layout = Layout.from_schema(schema, ["x", "n"], bins)
    cells = np.full((500, 2), 3)
    made = layout.decode(cells, np.random.default_rng(0))
    assert (len(set(made["x"].tolist())) == 1) == is_fine
    assert (len(set(made["n"].tolist())) == 1) == is_fine
    edges = np.linspace(-1, 1, bins + 1)
    assert ((made["x"] >= edges[3]) & (made["x"] <= edges[4])).all()


def test_a_file_keeps_how_numbers_follow_the_target():
    with testing.fixed_noise(2):
        model = fit(rows=300)
    assert model._fitted.shares[0].ndim == 2
    text = models.to_json(model)
    again = models.from_json(text)
    here, there = (one.sample(60, random_state=3) for one in (model, again))
    assert all((here[name] == there[name]).all() for name in here)
    assert json.loads(text) == json.loads(models.to_json(again))
