"""Attacks on risk minimisation come near the claim, catch weakened copies, and run the code of real fits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.audit.registry import Case
from discreet.guarantees.erm import attacks as erm
from discreet.guarantees.erm.attacks_batches import runs, table
from discreet.models.erm import FeatureMap, Logistic, MinimisedRisk, SmoothHinge
from discreet.models.erm.perturbation import FINAL_SHARE, ObjectivePerturbation, OutputPerturbation
from discreet.models.erm.task import Task
from discreet.models.linear_model import LogisticRegression
from discreet.step import CodedRows
from discreet.testing import fixed_noise

HINGE = erm.LOSSES["smooth hinge"]
MEASURES = [dp.PureDP("1/2"), dp.PureDP(4), dp.ApproxDP(1, "1/1000")]
STRONG = erm.STRONG_REGULARISER


@pytest.mark.parametrize("unit", erm.UNITS, ids=str)
@pytest.mark.parametrize("name", erm.LOSSES)
def test_half_the_noise_shows_in_the_density(name: str, unit: Any) -> None:
    make, measure = erm.LOSSES[name], dp.PureDP(1)
    assert erm.densities(make(), unit, measure, STRONG, weaken=0.5).is_violated
    honest = erm.densities(make(), unit, measure, STRONG)
    assert not honest.is_violated
    assert honest.floor > 0.8 * honest.claimed


@pytest.mark.parametrize("unit", erm.UNITS, ids=str)
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("name", ["smooth hinge", "insensitive", "Huber square"])
def test_half_the_noise_in_the_objective_is_caught(name: str, measure: Any, unit: Any) -> None:
    make = erm.LOSSES[name]
    assert erm.exact_distributions(make(), unit, measure, STRONG, weaken=0.5).is_violated
    assert not erm.exact_distributions(make(), unit, measure, STRONG).is_violated


RUNS = [
    ("logistic", 0, dp.PureDP(1)),
    ("logistic", 1, dp.PureDP(4)),
    ("logistic", 1, dp.ApproxDP(4, "1/100")),
    ("logistic", 2, dp.PureDP(4)),
    ("smooth hinge", 0, dp.PureDP(1)),
    ("Huber square", 1, dp.PureDP(4)),
    ("insensitive", 0, dp.PureDP(1)),
    ("insensitive", 2, dp.PureDP(4)),
    ("softmax", 0, dp.PureDP(4)),
]


@pytest.mark.parametrize(("name", "unit", "measure"), RUNS, ids=str)
def test_half_the_noise_shows_in_runs(name: str, unit: int, measure: Any) -> None:
    trials = 8000
    weak = erm.steep_case(name, erm.UNITS[unit], measure, trials, weaken=2)
    honest = erm.steep_case(name, erm.UNITS[unit], measure, trials)
    with fixed_noise(1):
        assert weak.run(0.99).is_violated
        assert not honest.run(0.99).is_violated


def test_the_attack_comes_near_the_claim() -> None:
    for measure in (dp.PureDP(4), dp.ApproxDP(4, "1/1000")):
        result = erm.exact_distributions(HINGE(), erm.UNITS[0], measure, STRONG)
        assert result.floor > 0.98 * float(4 * (1 - FINAL_SHARE))


@pytest.mark.parametrize("unit", erm.UNITS[::2], ids=str)
def test_noise_that_forgets_the_determinants_is_caught(unit: Any) -> None:
    """A row whose curvature is largest where nothing else is: the ratio of determinants shows."""
    measure, loss = dp.PureDP(1), SmoothHinge(1)
    jacobian = ObjectivePerturbation(erm.task_of(loss, unit, measure)).inner.jacobian
    whole = 1 - FINAL_SHARE
    forgetful = erm.exact_distributions(
        loss, unit, measure, weaken=float((whole - jacobian) / whole)
    )
    assert forgetful.is_violated
    assert not erm.exact_distributions(loss, unit, measure).is_violated


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_half_the_noise_on_the_output_is_caught(measure: Any) -> None:
    options = ("output", "smooth hinge", erm.UNITS[0], measure, 40_000)
    with fixed_noise(2):
        assert erm.case(*options, weaken=2).run(0.99).is_violated
        assert not erm.case(*options).run(0.99).is_violated


@pytest.mark.parametrize("name", erm.LOSSES)
def test_half_the_noise_on_any_minimiser_is_caught(name: str) -> None:
    options = (name, erm.UNITS[1], dp.PureDP(4), 25_000)
    with fixed_noise(6):
        assert erm.steep_case(*options, weaken=2, method="output").run(0.99).is_violated
        assert not erm.steep_case(*options, method="output").run(0.99).is_violated


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_noise_on_a_grid_alone_is_caught(name: str) -> None:
    """b on its grid, and the minimiser told as it is: neighbours have no answer in common."""
    loss = erm.LOSSES[name]()
    plan = ObjectivePerturbation(erm.task_of(loss, erm.UNITS[0], dp.PureDP(1)))
    # a coarse grid makes it plain in few runs; a fine one only needs more of them
    plan._step = Fraction(1, 2)
    pair = erm.tiny_pair(loss, erm.UNITS[0])
    with fixed_noise(3):
        bare = Case("grid", runs(plan, final=False), pair, dp.PureDP(1), 4000)
        assert bare.run(0.99).is_violated
        honest = ObjectivePerturbation(erm.task_of(loss, erm.UNITS[0], dp.PureDP(1)))
        assert not Case("whole", runs(honest), pair, dp.PureDP(1), 4000).run(0.99).is_violated


def step_of(kind: Any, unit: Any, name: str) -> tuple[MinimisedRisk, Any]:
    loss = erm.LOSSES[name]()
    target: Any = dp.Real(-1, 1)
    if loss.has_zero:
        target = dp.Categorical(*range(max(2, loss.outputs)))
    schema = dp.Schema(x=dp.Real(-1, 1), y=target)
    features = FeatureMap((schema.base["x"],), False, 1)
    task = Task(loss, 1, features.radius, features.length, dp.PureDP(1), unit, Fraction(4))
    return MinimisedRisk(
        ("x", "y"), (schema.base["x"], schema.base["y"]), features, kind(task)
    ), schema


@pytest.mark.parametrize("unit", erm.UNITS[:2], ids=str)
@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize("name", erm.LOSSES)
def test_batches_are_the_step_for_equal_noise(name: str, kind: Any, unit: Any) -> None:
    step, schema = step_of(kind, unit, name)
    plan = step._perturbation
    high = max(2, plan.task.loss.outputs) - 1
    codes = [[2**20, 0], [2**20, high if plan.task.loss.has_zero else 2**20]]
    coded = CodedRows(np.array(codes, np.int64), ("x", "y"), schema)
    rows = erm.tiny_pair(plan.task.loss, unit)[0]
    run, same = runs(plan), 0
    for seed in range(25):
        with fixed_noise(seed):
            real = step.run(coded).ravel()
        with fixed_noise(seed):
            batch = run(rows, 1)[0]
        # both are within the solver's tolerance of the minimum, whose distance the noise hides
        assert np.abs(real - batch).sum() <= plan.moved.l1 * float(plan.grid)
        same += bool((real == batch).all())
    assert same >= 15


@pytest.mark.slow
def test_no_loss_method_or_unit_exceeds_its_claim() -> None:
    """100 000 runs for each; ``python benchmarks/audit_erm.py`` prints the table."""
    results = [case.run(1 - 1e-4) for case in erm.whole_grid(100_000)]
    assert results
    for result in results:
        assert not result.is_violated, result


@pytest.mark.slow
@pytest.mark.parametrize("method", ["objective", "output"])
def test_whole_fits_with_a_marker_are_consistent(method: str) -> None:
    """``fit`` as users call it: the marker is the one row of its class."""
    x, y = np.array([[1.0], [1.0], [0.5]]), np.array([0, 0, 1])

    def fit(rows: int) -> Any:
        model = LogisticRegression(
            epsilon=2, bounds=(-1, 1), classes=[0, 1], method=method, alpha=4, fit_intercept=False
        )
        return model.fit(x[:rows], y[:rows]).coef_[0, 0]

    assert not Case("marker", fit, (2, 3), dp.PureDP(2), 1500).run(0.99).is_violated


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize("unit", erm.UNITS[:2], ids=str)
def test_whole_steps_with_a_marker_are_consistent(kind: Any, unit: Any) -> None:
    """The step as it runs behind the door: codes in, released weights out."""
    step, schema = step_of(kind, unit, "logistic")
    assert step.event(schema, unit) == step._perturbation.event()
    assert isinstance(step._perturbation.task.loss, Logistic)

    def run(codes: Any) -> Any:
        rows = CodedRows(np.array(codes, np.int64).reshape(-1, 2), ("x", "y"), schema)
        return step.run(rows)[0, 0]

    marker = [0, 0] if unit.relation is dp.REPLACE_ONE else []
    pair = [[2**20, 0], *([marker] if marker else [])], [[2**20, 0], [2**20, 1]]
    assert not Case("marker", run, pair, dp.PureDP(1), 600).run(0.99).is_violated
    assert len(table([])) == 0
