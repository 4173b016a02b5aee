"""Weakened copies of a step of private training are caught, and the step itself is not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet import accounting, noise
from discreet.deep import grid
from discreet.deep.grid import (
    RADIUS,
    CodedDense,
    CodedOuter,
    CodedRows,
    sum_clipped,
    sum_columns,
)
from discreet.deep.plans import (
    PoissonSampler,
    TrainingPlan,
    check_unit,
    rows_each,
)
from discreet.events import Gaussian, Poisson, Repeat
from discreet.guarantees.deep.attacks import case, forms
from discreet.guarantees.deep.attacks_canaries import (
    CANARIES,
    CLAIM,
    one_run,
    plan_of,
    sum_of_step,
    white_box,
)
from discreet.measures import ApproxDP
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

HUGE = forms(1e30)["product"]


def test_the_step_itself_is_not_caught_and_the_attack_comes_near():
    found = case("as it is", HUGE).run(0.99)
    assert not found.is_violated
    assert found.floor > 0.8 * found.claimed


def test_clipping_that_is_disabled_is_caught(monkeypatch):
    def no_clip(squares, bound, rule):
        return np.full(squares.shape, 1.5 / np.sqrt(squares.sum())), np.ones(1, bool)

    monkeypatch.setattr(grid, "clip_factors", no_clip)
    assert case("half as much again", HUGE).run(0.99).is_violated


def test_half_the_noise_is_caught(monkeypatch):
    drawn = noise.rounded_gaussian
    monkeypatch.setattr(
        noise, "rounded_gaussian", lambda sigma, size: drawn(Fraction(sigma) / 2, size)
    )
    assert case("half", HUGE).run(0.99).is_violated


def test_a_layer_whose_norm_is_forgotten_is_caught(monkeypatch):
    def forget(squares, bound, rule):
        return clip(squares[:1], bound, rule)[0].repeat(len(squares), axis=0), np.ones(1, bool)

    clip = grid.clip_factors
    monkeypatch.setattr(grid, "clip_factors", forget)
    layers = ((CodedDense(np.full((1, 4), 1.0)),), (CodedDense(np.full((1, 4), 3.0)),))
    assert case("forgotten", layers).run(0.99).is_violated


def test_everybody_in_every_batch_is_not_a_sample(monkeypatch):
    monkeypatch.setattr(PoissonSampler, "draw", lambda self, persons: np.arange(persons))
    weak = case("no sample", HUGE, chance=Fraction(1, 5), sigma=Fraction(1))
    assert weak.run(0.99).is_violated


def test_rows_that_are_clipped_each_are_not_a_person():
    """Three rows of one person, each clipped to the bound that is charged for the person."""
    person = CodedDense(np.full((1, 4), 1e9))
    right = case("the sum is clipped", ((person,),))
    assert not right.run(0.99).is_violated
    rows = CodedDense(np.full((3, 4), 1e9))
    [[sums]] = sum_clipped([[rows]], 1.0, "flat", np.ones(3, bool))
    plan = TrainingPlan(PoissonSampler(Fraction(1)), 1, RADIUS // 2)

    def weak(there, trials):
        values = np.tile(sums * there, (trials, 1))
        return plan.add_noise(values.ravel()).reshape(values.shape) / float(RADIUS)

    attacked = type(right)(
        "each row is clipped", weak, (False, True), right.claim, 60_000,
        {"score": lambda told: told.sum(axis=1), "rounding": 1e-6},
    )  # fmt: skip
    assert attacked.run(0.99).is_violated


def test_rows_that_are_drawn_each_are_not_a_sample_of_persons():
    """Three rows of one person, each drawn by a coin of its own: the person is in more often."""
    plan = TrainingPlan(PoissonSampler(Fraction(1, 10)), 1, RADIUS // 3)
    [[one]] = sum_clipped([[CodedDense(np.full((1, 1), 1e9))]], 1.0, "flat", np.ones(1, bool))
    person = ((CodedDense(np.full((1, 1), 1e9)),),)
    # a tenth of the batches has the person; of three coins each, more than a quarter
    claim = ApproxDP(Fraction(1, 100), Fraction(12, 100))
    assert accounting.satisfies(plan.event, claim)
    right = replace(
        case("persons", person, chance=Fraction(1, 10), sigma=Fraction(1, 3)), claim=claim
    )
    assert not right.run(0.99).is_violated

    def weak(there, trials):
        drawn = np.zeros((trials, 3), bool)
        if there:
            drawn.ravel()[plan.sampler.draw(3 * trials)] = True
        values = drawn.any(axis=1)[:, None] * one
        return plan.add_noise(values.ravel()).reshape(values.shape) / float(RADIUS)

    attacked = type(right)("rows", weak, (False, True), claim, 20_000, dict(right.options))
    assert attacked.run(0.99).is_violated


# --- canaries in whole trainings ---


def test_a_canary_whose_share_of_all_sums_is_seen_shows_much_of_the_claim_and_no_more():
    found = white_box("as it is", plan_of()).run(0.99)
    assert not found.is_violated
    assert 1 <= found.floor <= 4


def test_half_the_noise_of_a_training_is_caught(monkeypatch):
    plan = plan_of()
    claim = accounting.epsilon_at(plan.event, Fraction(1, 100))
    assert not white_box("as it is", plan, claim).run(0.99).is_violated
    drawn = noise.rounded_gaussian
    monkeypatch.setattr(
        noise, "rounded_gaussian", lambda sigma, size: drawn(Fraction(sigma) / 2, size)
    )
    assert white_box("half", plan, claim).run(0.99).is_violated


def test_a_training_without_clipping_is_caught(monkeypatch):
    plan = plan_of()
    monkeypatch.setattr(
        grid, "clip_factors", lambda squares, *_: (np.ones(squares.shape), np.ones(1, bool))
    )
    assert white_box("whatever length", plan, scale=4.0).run(0.99).is_violated


def test_everybody_once_in_an_epoch_is_not_a_sample_by_coins():
    """Batches of a fixed size, shuffled: everybody is in one of ten. By coins a third is in none."""
    plan = TrainingPlan(PoissonSampler(Fraction(1, 10)), 10, RADIUS // 4)
    claim = ApproxDP(Fraction(1, 100), Fraction(66, 100))
    right = white_box("coins", plan, claim, 4000)
    assert not right.run(0.99).is_violated

    def weak(there, trials):
        told = np.zeros((trials, 10), np.int64)
        if there:
            told[np.arange(trials), np.random.default_rng().integers(0, 10, trials)] = RADIUS
        return plan.add_noise(told.ravel()).reshape(told.shape) / float(RADIUS)

    attacked = type(right)("shuffled", weak, (False, True), claim, 4000, dict(right.options))
    assert attacked.run(0.99).is_violated


def test_canaries_in_one_run_stay_below_the_claim():
    found = one_run(plan_of())
    assert not found.refutes(CLAIM)
    assert 0.1 < found.epsilon < 4


def test_one_run_without_clipping_is_refuted():
    found = one_run(plan_of(), add_up=lambda drawn, count: 9 * sum_of_step(drawn, count))
    assert found.refutes(CLAIM)


def test_one_run_without_samples_is_refuted(monkeypatch):
    plan = plan_of(ApproxDP(1, Fraction(1, 100_000)), 4, Fraction(1, 100))
    assert not one_run(plan).refutes(ApproxDP(1, Fraction(1, 100_000)))
    monkeypatch.setattr(PoissonSampler, "draw", lambda self, persons: np.arange(persons))
    assert one_run(plan, CANARIES).refutes(ApproxDP(1, Fraction(1, 100_000)))


# --- what a plan says ---


def test_a_plan_costs_as_many_steps_as_it_has():
    plan = TrainingPlan(PoissonSampler(Fraction(1, 7)), 12, 3 * RADIUS)
    step = Poisson(Fraction(1, 7), Gaussian(3 * RADIUS, RADIUS**2))
    assert plan.event == Repeat(step, 12)
    assert plan.several(5) == Repeat(step, 5)


def test_batches_are_drawn_by_independent_coins_each_time_anew():
    sampler = PoissonSampler(Fraction(1, 10))
    draws = [sampler.draw(1000) for _ in range(2000)]
    sizes = np.array([len(draw) for draw in draws])
    assert sizes.mean() == pytest.approx(100, abs=1.5)
    assert sizes.var() == pytest.approx(90, rel=0.15)  # a batch of fixed size has none
    assert len({tuple(draw) for draw in draws}) == 2000


def test_each_step_has_noise_of_its_own():
    plan = TrainingPlan(PoissonSampler(Fraction(1)), 2, RADIUS)
    one, other = plan.draw_noise(1000), plan.draw_noise(1000)
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.2


def test_only_units_that_samples_protect_are_taken():
    persons = Unit(ADD_REMOVE, id_column="person", max_rows=4)
    assert rows_each(persons) == 4
    check_unit(persons, True)
    check_unit(Unit(ADD_REMOVE), False)
    with pytest.raises(ValueError, match="ADD_REMOVE"):
        check_unit(Unit(REPLACE_ONE), False)
    with pytest.raises(ValueError, match="belong together"):
        check_unit(persons, False)


# --- the norm of one person's integers, whatever the arrays hold ---

ANYTHING = st.floats(width=32, allow_nan=True, allow_infinity=True)
WIDE = st.floats(allow_nan=True, allow_infinity=True)


def norm_of(parts, bound, rule):
    sums = sum_clipped(parts, bound, rule, np.ones(1, bool))
    return sum(int(v) ** 2 for each in sums for part in each for v in part)


@given(
    arrays(np.float32, (1, 6), elements=ANYTHING),
    arrays(np.float64, (1, 5), elements=WIDE),
    arrays(np.float64, (1, 3), elements=WIDE),
    arrays(np.float64, (1, 2, 3), elements=WIDE),
    st.sampled_from([1e-30, 1e-3, 1.0, 1e30]),
    st.sampled_from(["flat", "per-layer", "automatic"]),
)
def test_no_person_is_longer_than_the_radius(dense, left, right, few, bound, rule):
    parts = [
        [CodedDense(dense)],
        [CodedOuter(left, right)],
        [CodedRows(np.array([[1, 3]]), few, 4), CodedDense(dense[:, :2])],
    ]
    assert norm_of(parts, bound, rule) <= RADIUS**2


@given(
    arrays(np.float64, (7, 2), elements=WIDE),
    arrays(np.float64, (5, 2), elements=WIDE),
    st.sampled_from([1e-30, 1e-3, 1.0, 1e30]),
    st.sampled_from(["flat", "automatic"]),
)
def test_no_column_of_a_chain_is_longer_than_the_radius(inputs, outputs, bound, rule):
    """Two layers, of 4 and 3 inputs and 3 and 2 outputs; each of two persons, with the other absent."""
    for place in range(2):
        there = np.arange(2) == place
        given = np.concatenate([inputs, outputs])
        sums = sum_columns(given, [(4, 3), (3, 2)], bound, rule, there)
        assert [each.shape for each in sums] == [(3, 4), (2, 3)]
        assert sum(int(v) ** 2 for each in sums for v in each.ravel()) <= RADIUS**2


@pytest.mark.parametrize(
    ("inside", "outside"),
    [(1e150, 1e-170), (1e-170, 1e150), (0.0, 0.0), (0.0, 1e150), (1e150, 0.0), (1e-170, 1e-170)],
)
@pytest.mark.parametrize("rule", ["flat", "per-layer", "automatic"])
def test_a_person_whose_squares_vanish_is_no_longer_than_the_radius(inside, outside, rule):
    """A product may be far longer than the norm though the squares of one factor are 0 as floats."""
    parts = [[CodedOuter(np.full((1, 2), inside), np.full((1, 2), outside))]]
    assert norm_of(parts, 1e-30, rule) <= RADIUS**2
    assert norm_of([[CodedDense(np.full((1, 2), inside))]], 1e-30, rule) <= RADIUS**2
    if rule != "per-layer":
        columns = np.array([[inside]] * 2 + [[outside]] * 2)
        [sums] = sum_columns(columns, [(2, 2)], 1e-30, rule, np.ones(1, bool))
        assert sum(int(v) ** 2 for v in sums.ravel()) <= RADIUS**2


@pytest.mark.parametrize("first", [7, 1000])  # squares of long columns are added up in another way
def test_columns_of_a_chain_are_the_products_of_its_layers(first):
    draw = np.random.default_rng(3)
    widths, persons = [(first, 5), (5, 2)], 40
    inputs, outputs = draw.standard_normal((first + 5, persons)), draw.standard_normal((7, persons))
    inputs[3, 8] = np.nan
    present = np.arange(persons) < 37
    for rule, bound in (("flat", 0.7), ("automatic", 0.7), ("flat", 50.0)):
        sums = sum_columns(np.concatenate([inputs, outputs]), widths, bound, rule, present)
        parts = [
            [CodedOuter(inputs[:first].T, outputs[:5].T)],
            [CodedOuter(inputs[first:].T, outputs[5:].T)],
        ]  # fmt: skip
        slow = sum_clipped(parts, bound, rule, present)
        for one, [other] in zip(sums, slow, strict=True):
            assert np.abs(one.ravel() - other).max() <= 2e-5 * RADIUS
            assert np.abs(other).max() > 0.01 * RADIUS


@pytest.mark.parametrize("inside", [9, 900])
def test_a_column_is_the_same_integers_at_every_place_and_with_any_others(inside):
    draw = np.random.default_rng(4)
    given = draw.standard_normal((inside + 5, 33)) * 1e3
    moved = np.roll(given, 7, axis=1)
    alone = np.arange(33) == 2
    [one] = sum_columns(given.copy(), [(inside, 5)], 1.0, "flat", alone)
    [other] = sum_columns(moved, [(inside, 5)], 1.0, "flat", np.roll(alone, 7))
    assert np.array_equal(one, other)
    everyone = np.ones(33, bool)
    parts = [
        sum_columns(given[:, at].copy(), [(inside, 5)], 1.0, "flat", everyone[at])
        for at in (slice(0, 16), slice(16, 33))
    ]
    [whole] = sum_columns(given.copy(), [(inside, 5)], 1.0, "flat", everyone)
    assert np.array_equal(whole, parts[0][0] + parts[1][0])


@pytest.mark.parametrize("rule", ["flat", "per-layer", "automatic"])
def test_a_clipped_person_comes_near_the_radius(rule):
    parts = [[CodedOuter(np.full((1, 50), 3e9), np.full((1, 20), -2.0))]]
    assert norm_of(parts, 0.1, rule) > (0.98 * RADIUS) ** 2


def test_integers_are_near_the_clipped_gradient():
    draw = np.random.default_rng(1)
    left, right = draw.standard_normal((20, 700)), draw.standard_normal((20, 30))
    full = np.einsum("ij,ik->ikj", left, right).reshape(20, -1)
    clipped = full / np.maximum(np.linalg.norm(full, axis=1), 100.0)[:, None]
    for part in (CodedOuter(left, right), CodedDense(full)):
        [[sums]] = sum_clipped([[part]], 100.0, "flat", np.ones(20, bool))
        assert np.abs(sums / RADIUS - clipped.sum(axis=0)).max() < 1e-4 * np.abs(clipped).max() * 20


def test_who_is_absent_or_not_finite_adds_nothing():
    rows = np.ones((3, 4))
    rows[1, 2] = np.nan
    [[sums]] = sum_clipped([[CodedDense(rows)]], 1.0, "flat", np.array([True, True, False]))
    [[one]] = sum_clipped([[CodedDense(rows[:1])]], 1.0, "flat", np.ones(1, bool))
    assert np.array_equal(sums, one)
