"""Attacks on risk minimisation find no more than is claimed, come near it, and catch weakened copies."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.audit.attacks import erm
from discreet.audit.registry import Case, all_attacks, run_attack
from discreet.claims import claim
from discreet.models.erm import FeatureMap, Logistic, MinimisedRisk, SmoothHinge, Softmax
from discreet.models.erm.features import ONE
from discreet.models.erm.perturbation import (
    FINAL_SHARE,
    ObjectivePerturbation,
    OutputPerturbation,
    Task,
)
from discreet.step import CodedRows

HINGE = erm.LOSSES["smooth hinge"]
MEASURES = [dp.PureDP("1/2"), dp.PureDP(4), dp.ApproxDP(1, "1/1000")]


@pytest.mark.parametrize("name", ["output-perturbation", "objective-perturbation"])
def test_nothing_exceeds_the_claim(name: str) -> None:
    assert claim(name).status == "proved"
    results = list(run_attack(all_attacks()[name], effort=0.5))
    assert len(results) > 20
    assert not [result for result in results if result.is_violated]


@pytest.mark.parametrize("unit", erm.UNITS, ids=str)
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("name", ["smooth hinge", "insensitive", "Huber square"])
def test_half_the_noise_in_the_objective_is_caught(name: str, measure: Any, unit: Any) -> None:
    make = erm.LOSSES[name]
    assert erm.exact_laws(make(), unit, measure, Fraction(50), weaken=0.5).is_violated
    assert not erm.exact_laws(make(), unit, measure, Fraction(50)).is_violated


def test_the_attack_comes_near_the_claim() -> None:
    for measure in (dp.PureDP(4), dp.ApproxDP(4, "1/1000")):
        result = erm.exact_laws(HINGE(), erm.UNITS[0], measure, Fraction(50))
        assert result.floor > 0.98 * float(4 * (1 - FINAL_SHARE))


@pytest.mark.parametrize("unit", erm.UNITS[::2], ids=str)
def test_noise_that_forgets_the_determinants_is_caught(unit: Any) -> None:
    """A row whose curvature is largest where nothing else is: the ratio of determinants shows."""
    measure, loss = dp.PureDP(1), SmoothHinge(1)
    jacobian = ObjectivePerturbation(erm.task_of(loss, unit, measure)).inner.jacobian
    whole = 1 - FINAL_SHARE
    forgetful = erm.exact_laws(loss, unit, measure, weaken=float((whole - jacobian) / whole))
    assert forgetful.is_violated
    assert not erm.exact_laws(loss, unit, measure).is_violated


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_half_the_noise_on_the_output_is_caught(measure: Any) -> None:
    plan = OutputPerturbation(erm.task_of(HINGE(), erm.UNITS[0], measure))
    weak = Case("half", erm.output_runs(plan, 2), erm.PAIR, measure, 40_000)
    assert weak.run(0.99).is_violated
    honest = Case("whole", erm.output_runs(plan), erm.PAIR, measure, 40_000)
    assert not honest.run(0.99).is_violated


def test_too_little_noise_with_three_classes_is_caught() -> None:
    """Where rows of another class push the row's probability to 0, its gradient is (1, -1, 0)."""
    measure = dp.PureDP(1)
    plan = ObjectivePerturbation(erm.task_of(Softmax(3), erm.UNITS[0], measure, 1, Fraction(2)))
    common = [(1.0, 0.0)] * 40
    pair = erm.table(common), erm.table([*common, (1.0, 1.0)])
    draws = plan.draws

    class Weak:
        def __getattr__(self, name: str) -> Any:
            return getattr(plan, name)

        def draws(self, count: int) -> Any:
            return draws(count) // 6

    weak: Any = Weak()
    assert Case("a sixth", erm.runs(weak), pair, measure, 3000).run(0.99).is_violated
    assert not Case("whole", erm.runs(plan), pair, measure, 3000).run(0.99).is_violated


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize("unit", erm.UNITS[:2], ids=str)
def test_whole_steps_with_a_marker_are_consistent(kind: Any, unit: Any) -> None:
    """The step as it runs behind the door: codes in, released weights out."""
    schema = dp.Schema(x=dp.Real(-1, 1), y=dp.Categorical(0, 1))
    features = FeatureMap((schema.base["x"],), False)
    measure = dp.PureDP(1)
    task = Task(Logistic(), 1, features.radius, features.length, measure, unit, Fraction(4))
    step = MinimisedRisk(("x", "y"), features, kind(task))
    assert step.event(schema, unit) == kind(task).event()

    def run(codes: Any) -> Any:
        rows = CodedRows(np.array(codes, np.int64).reshape(-1, 2), ("x", "y"), schema)
        return step.run(rows)[0, 0]

    marker = [0, 0] if unit.relation is dp.REPLACE_ONE else []
    pair = [[2**20, 0], *([marker] if marker else [])], [[2**20, 0], [2**20, 1]]
    assert not Case("marker", run, pair, measure, 1200).run(0.99).is_violated
    assert ONE == 2**15
