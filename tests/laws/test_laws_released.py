"""What comes out carries the noise that its event states: as much of it, on every number, fresh each time.

Every place that adds noise to sums is run a few hundred times on rows that don't change. Attacks ask what an
adversary learns; here the noise itself is measured, which is quick and sees half the noise at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import events, mechanisms
from discreet.coding import Sensitivity
from discreet.engines import open_engine
from discreet.guarantees.erm.attacks import task_of
from discreet.mechanisms import Bernstein, LaplaceDistribution
from discreet.models.decomposition.ball import Ball
from discreet.models.decomposition.clipped import ClippedProducts
from discreet.models.decomposition.directions import SquaresAlong
from discreet.models.erm.losses import Logistic
from discreet.models.erm.norm_gamma import NormGammaObjective, NormGammaOutput
from discreet.models.erm.perturbation import ObjectivePerturbation, OutputPerturbation
from discreet.models.metrics import Accuracy, ScoredRows
from discreet.publish.rows import RowPerturbation
from discreet.queries import Joint
from discreet.step import CodedRows
from discreet.testing import DISTRIBUTIONS

SCHEMA = dp.Schema(x=dp.Real(0, 1), c=dp.Categorical(0, 1), t=dp.Text())
ROWS = {
    "x": np.linspace(0, 1, 12),
    "c": np.arange(12) % 2,
    "t": np.array(["town"] * 12, object),
}
UNIT = dp.Unit()
RUNS = 250

#: One release as numbers, and the deviation that is stated for each of them.
Source = tuple[Callable[[], Any], float]


def answers(
    query: Any, budget: Any, read: Callable[[Any], Any] = lambda v: v, times: int = 1
) -> Callable[[], Any]:
    """Answer a query about the rows, each so many times."""
    prepared = query.prepare(budget, SCHEMA, UNIT, None)
    engine = open_engine(
        {name: np.tile(cells, times) for name, cells in ROWS.items()}, SCHEMA, UNIT
    )
    return lambda: read(prepared.answer(engine).value)


def laplace(scale: Any) -> float:
    return LaplaceDistribution(Fraction(scale)).expected_error()


class Always:
    """A model that says the same of every row."""

    classes_ = np.array([0, 1])

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), int)


def scored() -> Source:
    schema = dp.Schema(x=dp.Real(0, 1), c=dp.Categorical(0, 1))
    step = ScoredRows(Accuracy(), Always(), ("x",), "c", LaplaceDistribution(Fraction(40)))
    rows = CodedRows(np.array([[5, 0], [7, 1]]), ("x", "c"), schema)
    return lambda: step.run(rows), laplace(40)


def squares() -> Source:
    schema, names = dp.Schema(x=dp.Real(0, 1), y=dp.Real(0, 1)), ("x", "y")
    ball = Ball((dp.Real(0, 1),) * 2, np.full(2, 0.5), 0.5)
    step = SquaresAlong(names, ball, np.eye(2), dp.PureDP("1/10"), UNIT)
    rows = CodedRows(np.array([[2**20, 2**19]] * 3), names, schema)
    return lambda: step.run(rows), step.spread()


def products(measure: Any) -> Source:
    schema, names = dp.Schema(x=dp.Real(0, 1), y=dp.Real(0, 1)), ("x", "y")
    step = ClippedProducts(names, Ball((dp.Real(0, 1),) * 2, np.full(2, 0.5), 1.0), measure, UNIT)
    rows = CodedRows(np.array([[2**20, 2**19]] * 3), names, schema)
    return lambda: step.run(rows)[np.triu_indices(2)], step.spread()


def bernstein() -> Source:
    mechanism, moved = Bernstein(mechanisms.Laplace(1), degree=1), Sensitivity(50, 2500)
    coded = np.zeros(2, np.int64)
    # of degree 1, the coefficients are the noised values at both nodes
    return lambda: mechanism.run_coded(coded, moved, Fraction(1)).coefficients, laplace(50)


def row_perturbation(**options: Any) -> Source:
    schema = dp.Schema(x=dp.Real(0, 1), y=dp.Real(0, 1))
    channel = RowPerturbation(schema, epsilon=1, **options)
    codes = np.full((1, 2), 2**19)

    def report() -> Any:
        return np.hstack(list(channel.decode(channel.blur(codes)).values()))

    return report, channel.spread()["x"]


def distribution(chosen: mechanisms.Distribution) -> Source:
    return lambda: chosen.run(np.zeros(3, np.int64)), chosen.expected_error()


def weights(kind: Any, measure: Any = None) -> Source:
    plan = kind(task_of(Logistic(), UNIT, measure or dp.PureDP(1), width=2))
    size = plan.task.size
    stated = (
        plan.distribution.expected_error() * float(plan.grid)
        if hasattr(plan, "distribution")
        else plan.spread()
    )
    return lambda: plan.release(np.zeros(size, np.int64)), stated


def tilts(kind: Any, measure: Any = None, width: int = 2) -> Source:
    plan = kind(task_of(Logistic(), UNIT, measure or dp.PureDP(1), width=width))
    if measure is not None:
        assert isinstance(plan.inner, events.GaussianObjective)
    return lambda: plan.draws(1)[0].astype(float) * float(plan.step), plan.spread()


SOURCES: dict[str, Callable[[], Source]] = {
    **{
        repr(one): partial(distribution, one)
        for one in DISTRIBUTIONS
        if not isinstance(one, mechanisms.NoNoise)
    },
    "a histogram": lambda: (answers(dp.Count(by="c"), dp.PureDP("1/9")), laplace(9)),
    "a joint vector": lambda: (
        answers(Joint(dp.Count(), dp.Count(by="c")), dp.PureDP("1/9"), np.hstack),
        laplace(18),
    ),
    "keys": lambda: (
        # so many rows that the key is always found
        answers(dp.KeyCounts("t", delta="9/10"), dp.PureDP("1/9"), lambda v: v[:1], times=100),
        laplace(9),
    ),
    "scores": scored,
    "squares along directions": squares,
    "products in a ball": lambda: products(dp.PureDP("1/10")),
    "products in a ball, for delta": lambda: products(dp.ZCDP("1/100")),
    "a polynomial": bernstein,
    "rows": row_perturbation,
    "rows with norm-Gamma noise": lambda: row_perturbation(kind="norm-gamma"),
    "weights": lambda: weights(OutputPerturbation),
    "weights, for delta": lambda: weights(OutputPerturbation, dp.ApproxDP(1, "1/100000")),
    "weights with norm-Gamma noise": lambda: weights(NormGammaOutput),
    "what float64 leaves open": lambda: weights(ObjectivePerturbation),
    "the tilt": lambda: tilts(ObjectivePerturbation),
    "the tilt, for delta": lambda: tilts(ObjectivePerturbation, dp.ApproxDP(1, "1/100"), width=8),
    "the tilt with norm-Gamma noise": lambda: tilts(NormGammaObjective),
}


@pytest.mark.parametrize("name", list(SOURCES))
def test_released_numbers_carry_the_noise_that_is_stated(name: str) -> None:
    release, stated = SOURCES[name]()
    drawn = np.array([np.ravel(release()) for _ in range(RUNS)], float)
    ratio = float(drawn.std(axis=0).mean()) / stated
    assert 0.72 < ratio < 1.35
    assert abs(drawn.mean(axis=0) - np.median(drawn, axis=0)).max() < stated
    if drawn.shape[1] > 1:  # noise on one number says nothing about that on another
        assert abs(np.corrcoef(abs(drawn - np.median(drawn, axis=0)).T)[0, 1]) < (
            0.95 if "Gamma" in name else 0.45
        )
        assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.45
    # a draw says nothing about the next one
    assert abs(np.corrcoef(drawn[1:, 0], drawn[:-1, 0])[0, 1]) < 0.45


def test_signs_of_the_tilt_fall_both_ways() -> None:
    plan = ObjectivePerturbation(task_of(Logistic(), UNIT, dp.PureDP(1), width=2))
    assert isinstance(plan.inner, events.LaplaceObjective)
    share = float((plan.draws(400) > 0).mean())
    assert abs(share - 0.5) < 6 * math.sqrt(0.25 / 800)


@pytest.mark.parametrize("chosen", DISTRIBUTIONS, ids=repr)
def test_noise_falls_on_both_sides_of_the_same_number(chosen: mechanisms.Distribution) -> None:
    if isinstance(chosen, mechanisms.NoNoise):
        return
    drawn = np.array([chosen.run(np.zeros(1, np.int64))[0] for _ in range(80)])
    assert drawn.min() < 0 < drawn.max()
