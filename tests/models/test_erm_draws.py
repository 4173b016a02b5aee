"""Noise of risk minimisation: drawn as far as is charged, anew each time, and never beyond int64."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import events
from discreet.accounting import cost, satisfies
from discreet.columns import Real
from discreet.models.erm import FeatureMap, Logistic, ObjectivePerturbation, Task, norm_gamma
from discreet.models.erm.features import ONE
from discreet.models.erm.fourier import LARGEST, FourierMap
from discreet.models.erm.norm_gamma import NormGammaObjective, NormGammaOutput
from discreet.publish import RowPerturbation
from discreet.publish import rows as perturbed_rows
from discreet.publish.rows import as_units
from discreet.testing import fixed_noise

UNITS = [
    (dp.Unit(dp.ADD_REMOVE), 1),
    (dp.Unit(dp.REPLACE_ONE), 2),
    (dp.Unit(dp.ADD_REMOVE, "id", 3), 3),
    (dp.Unit(dp.REPLACE_ONE, "id", 3), 6),
]
MEASURES = [dp.PureDP(1), dp.ApproxDP(1, "1e-6")]


def task(
    measure: Any = MEASURES[0], unit: Any = UNITS[0][0], alpha: Any = Fraction(100), width: int = 4
) -> Task:
    return Task(Logistic(), width, ONE, math.isqrt(width) * ONE, measure, unit, alpha)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_the_objective_is_tilted_as_far_as_is_charged_and_anew_each_time(measure: Any) -> None:
    # with many weights Gaussian noise is the smaller
    plan = ObjectivePerturbation(task(measure, width=4 if measure is MEASURES[0] else 100))
    inner, last = plan.event().events
    assert inner == plan.inner
    assert last == plan.distribution.event(plan.moved)
    with fixed_noise(3):
        first, second = (plan.draws(1000).astype(float) * float(plan.step) for _ in range(2))
    if isinstance(inner, events.GaussianObjective):
        assert measure is MEASURES[1]
        assert first.std() == pytest.approx(float(inner.sigma), rel=0.05)
    else:
        assert measure is MEASURES[0]
        assert np.abs(first).mean() == pytest.approx(float(inner.scale), rel=0.05)
    for one, other in (
        (first, second),
        (np.abs(first), np.abs(second)),
        (np.sign(first), np.sign(second)),
    ):
        seen = abs(np.corrcoef(one.ravel(), other.ravel())[0, 1])
        assert seen < 0.05
    assert abs(np.sign(first).mean()) < 0.05


@pytest.mark.parametrize(("unit", "changed"), UNITS, ids=str)
def test_what_one_person_changes_is_counted_in_all_constants(unit: dp.Unit, changed: int) -> None:
    found = task(unit=unit)
    rows = unit.rows_per_person
    assert found.changed == changed
    # rows·log(1 + trace·R²/Λ): the determinants of a person's rows, each of rank one
    exact = rows * math.log1p(0.25 / 100)
    assert exact * (1 - 1e-12) <= float(found.jacobian(Fraction(100))) <= exact * (1 + 1e-9)
    share = Fraction(1, 2)
    least = found.minimum_regulariser(share)
    assert float(found.jacobian(least)) <= float(share) * (1 + 1e-9)
    assert float(found.jacobian(least)) >= 0.99 * float(share)
    plan = ObjectivePerturbation(found)
    assert satisfies(plan.event(), dp.PureDP(1))
    assert not satisfies(plan.event(), dp.PureDP("9/10"))
    assert cost(plan.inner, dp.PureDP).epsilon >= changed * 2 / plan.inner.scale


def test_a_ridge_that_the_solver_cannot_follow_is_refused_by_every_plan() -> None:
    """Also where the plan itself has raised the ridge, to balance noise and shrinkage."""
    for kind in (ObjectivePerturbation, NormGammaOutput):
        with pytest.raises(ValueError, match="alpha must be at most"):
            kind(task(alpha=Fraction(10**30)))
    for size in (2**10, 2**11, 2**12):
        short = Task(Logistic(), 4, ONE // size, 2 * ONE // size, dp.PureDP("1e-3"), UNITS[0][0])
        with pytest.raises(ValueError, match="alpha must be at most"):
            ObjectivePerturbation(short)


def test_norm_gamma_noise_that_cannot_be_drawn_in_full_is_refused() -> None:
    long = Task(
        Logistic(), 4, 2**10 * ONE, 2**11 * ONE, dp.PureDP("1e-6"), UNITS[0][0], Fraction(1)
    )
    for kind, wrong in (
        (NormGammaOutput, task(dp.PureDP("1e-30"), alpha=Fraction(1))),
        (NormGammaObjective, long),
    ):
        with pytest.raises(ValueError, match="can't be drawn in full"):
            kind(wrong)
        kind(task())


def test_norm_gamma_noise_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in e^64 draws a vector is longer than integers hold: it is cut off."""
    for module in (norm_gamma, perturbed_rows):
        monkeypatch.setattr(
            module, "norm_gamma", lambda count, size, scale: np.full((count, size), 1e30)
        )
    assert (NormGammaObjective(task()).draws(2) == 2**62).all()
    schema = dp.Schema(x=dp.Real(0, 1), y=dp.Real(0, 1))
    channel = RowPerturbation(schema, epsilon=1, kind="norm-gamma")
    assert (channel.blur(np.zeros((3, 2), np.int64)) > 2**51).all()
    with pytest.raises(ValueError, match="can't be drawn in full"):
        RowPerturbation(schema, epsilon="1e-15", kind="norm-gamma").event()


def test_frequencies_of_features_are_bounded_integers() -> None:
    inner = FeatureMap((Real(0, 1),), constant=False)
    found = FourierMap(inner, np.array([[1e30, -1e30, 1.0]]), False)
    assert np.abs(found._steps).max() == LARGEST
    assert (found._steps == np.rint(found._steps)).all()


@pytest.mark.parametrize("norm", [None, "1/2", 5])
def test_two_numbers_are_as_far_apart_as_the_noise_is_for(norm: Any) -> None:
    """One column: every code of it, coded and clipped as a report is."""
    channel = RowPerturbation(dp.Schema(x=dp.Real(0, 1)), epsilon=1, norm=norm)
    codes = np.arange(0, 2**20 + 1)[:, None]
    units = perturbed_rows.clip_rows(as_units(codes, 2**20), channel.radius)
    far = int(units.max() - units.min())
    assert channel.moved.l1 == far
    assert channel.moved.l2_squared == far**2
