"""What a search over settings costs, against simulation and the theorem."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pytest
from test_model_selection import SCHEMA, TWENTY, fitted, noisy_threshold, searching

import discreet as dp
from discreet import accounting, events, testing
from discreet.accounting.counts import PAIR
from discreet.audit.exact import exact, hockey_stick
from discreet.guarantees.model_selection.attacks import (
    best_distribution,
    exact_searches,
    generating,
    revealing,
    searched,
    told_runs,
)
from discreet.measures import ORDERS, Renyi
from discreet.models.linear_model import LogisticRegression
from discreet.models.model_selection import PrivateSearch
from discreet.models.model_selection.budget import mean_runs
from discreet.models.naive_bayes import GaussianNB


def test_the_distribution_of_the_best_against_a_plain_simulation() -> None:
    """The sum that the attack compares is the distribution of what the door does."""
    run = searched(True, 0.25, 0.5, (3, 1))
    distribution = best_distribution(run, 1.0, 0.25)
    draw = np.random.default_rng(0)
    counts = np.zeros(len(distribution))
    trials = 20_000
    for runs in draw.geometric(0.25, trials):
        some = draw.choice(len(distribution), runs, p=run[0] / run[0].sum())
        counts[some[np.argmax(run[1][some])]] += 1
    assert distribution.sum() == pytest.approx(1)
    assert np.abs(counts / trials - distribution).sum() < 0.06
    other = best_distribution(run, 1.0, 0.6)
    assert np.abs(counts / trials - other).sum() > 0.12


def test_generating_functions_are_those_of_the_distribution() -> None:
    for shape in (0.0, 0.5, 1.0, 3.0):
        k = np.arange(1, 4000)
        logs = k * math.log1p(-0.02)
        logs[1:] += np.cumsum(np.log((k[1:] - 1 + shape) / k[1:]))
        mass = np.exp(logs - np.logaddexp.reduce(logs))
        for x in (0.3, 0.9, 0.999):
            assert generating(shape, 0.02, x) == pytest.approx(float((mass * x**k).sum()), rel=1e-9)


def test_searches_cost_at_most_what_the_theorem_says() -> None:
    results = list(exact_searches())
    assert len(results) == 32
    assert not [result.title for result in results if result.is_violated]
    pure = [r.floor / r.claimed for r in results if "PureDP" in r.title]
    assert max(pure) > 0.6  # the bound is not far away


@pytest.mark.parametrize("shape", [0, 1])
def test_telling_the_number_of_runs_costs_more(shape: int) -> None:
    """The theorem is about the best outcome alone."""
    fit, score, gamma = 0.25, 0.5, 0.05
    runs = [searched(present, fit, score, (3, 1)) for present in (False, True)]
    claim = dp.PureDP((2 + shape) * Fraction(3, 4))
    alone = exact(*(best_distribution(run, shape, gamma) for run in runs), claim)
    told = exact(*(told_runs(run, shape, gamma) for run in runs), claim)
    assert not alone.is_violated
    assert told.is_violated
    assert told.floor > 2 * alone.floor


@pytest.mark.parametrize("shape", [0, 1])
def test_telling_all_scores_costs_more(shape: int) -> None:
    """K scores are K releases: with ten of them the loss is ten times that of one."""
    noised = [searched(present, 0.25, 0.5, (3, 1)) for present in (False, True)]
    one = max(float(np.log(a / b).max()) for a, b in ((noised[0][0], noised[1][0]),))
    most = [run**10 for run, _ in noised]
    claim = dp.PureDP((2 + shape) * Fraction(3, 4))
    assert one * 10 > claim.epsilon
    assert exact(*most, claim).is_violated


@pytest.mark.parametrize("shape", ["0", "1/2", "1", "3"])
def test_a_delta_grows_with_the_number_of_runs(shape: str) -> None:
    gamma, delta = Fraction(1, 20), Fraction(1, 1000)
    run = events.External(dp.ApproxDP("1/2", delta), "a run")
    pair = PAIR.total(events.RepeatAndSelect(run, shape, gamma))
    mean = mean_runs(Fraction(shape), gamma)
    assert pair.epsilon == (2 + Fraction(shape)) / 2
    assert float(pair.delta) == pytest.approx(mean / 1000, rel=1e-9)
    distributions = [
        best_distribution(revealing(p, 0.5, 1e-3), float(Fraction(shape)), 0.05)
        for p in (False, True)
    ]
    found = max(
        hockey_stick(*pair_, float(pair.epsilon)) for pair_ in (distributions, distributions[::-1])
    )
    assert found <= pair.delta
    assert found > 0.8 * pair.delta  # δ alone would be false by this factor
    assert found > 3 * delta


def test_one_of_several_events_costs_the_dearest() -> None:
    """In each measure; by Rényi curves that cross, order by order."""
    small, large = events.Gaussian(3), events.Gaussian(2)
    cost = accounting.cost
    for kind in (dp.ZCDP, dp.GaussianDP):
        assert cost(events.OneOf([small, large]), kind) == cost(large, kind)
    assert cost(events.OneOf([small, small]), dp.ApproxDP, delta="1e-6") == cost(
        small, dp.ApproxDP, delta="1e-6"
    )
    laplace = events.DiscreteLaplace(2)
    assert cost(events.OneOf([laplace, events.Exponential("1/3")]), dp.PureDP) == dp.PureDP("1/2")
    weak = events.Gaussian(4)
    curves = [cost(event, Renyi).curve for event in (weak, laplace)]
    assert len({curves[0][order] > curves[1][order] for order in curves[0]}) == 2  # they cross
    both = cost(events.OneOf([weak, laplace]), Renyi).curve
    for order, value in both.items():
        assert value == pytest.approx(max(curve[order] for curve in curves), rel=1e-12)
    pairs = [events.External(dp.ApproxDP(e, d), "x") for e, d in (("1/2", 1e-3), ("1/4", 1e-2))]
    assert PAIR.total(events.OneOf(pairs)) == dp.ApproxDP("1/2", 1e-2)
    with pytest.raises(accounting.NoBound):
        cost(events.OneOf([laplace, large]), dp.PureDP)


def theorem(curve: dict[float, float], shape: Fraction, gamma: Fraction, order: float) -> Any:
    """Papernot & Steinke 2022, Theorem 2, in forty digits, for one order and the best λ̂ on a list."""
    eta, g = (mpmath.mpf(x.numerator) / x.denominator for x in (shape, gamma))
    mean = (1 - g) / (g * mpmath.log(1 / g)) if eta == 0 else eta * (1 - g) / (g * (1 - g**eta))
    extra = min(
        (1 + eta) * ((1 - mpmath.mpf(1) / hat) * value + mpmath.log(1 / g) / hat)
        for hat, value in curve.items()
        if hat < math.inf
    )
    return curve[order] + extra + mpmath.log(mean) / (order - 1)


@pytest.mark.parametrize("shape", [Fraction(0), Fraction(1)])
def test_twenty_settings_cost_what_the_theorem_says(shape: Fraction) -> None:
    """The charge, recomputed from the paper: pure, and by Rényi curves."""
    search = searching(TWENTY, epsilon=1, shape=shape)
    event = search.plan().event
    assert isinstance(event, events.RepeatAndSelect)
    runs = event.event.events  # type: ignore[attr-defined]
    assert len(runs) == 20
    worst = max(accounting.cost(run, dp.PureDP).epsilon for run in runs)
    assert (2 + shape) * worst <= 1
    assert (2 + shape) * worst > Fraction(99, 100)
    with mpmath.workdps(40):
        functional = PrivateSearch(
            LogisticRegression(method="functional"),
            [{}, {"estimator": GaussianNB()}],
            epsilon=1,
            delta=1e-6,
            schema=SCHEMA,
            shape=shape,
        )
        event = functional.plan().event
        runs = event.event.events  # type: ignore[attr-defined]
        curves = [dict(accounting.cost(run, Renyi).curve) for run in runs]
        largest = {order: max(c[order] for c in curves) for order in ORDERS}
        charged = accounting.cost(event, Renyi).curve
        for order in (2.0, 8.0, 32.0):
            bound = theorem(largest, event.shape, event.gamma, order)
            assert charged[order] <= bound * (1 + mpmath.mpf("1e-9"))


def test_the_charge_is_the_budget_however_many_runs() -> None:
    for runs in (2, 9):
        for delta in (0, 1e-6):
            limit = dp.ApproxDP(1, delta) if delta else dp.PureDP(1)
            ledger = dp.Ledger(limit=limit)
            search = searching(epsilon=1, delta=delta, runs=runs, ledger=ledger)
            with testing.fixed_noise(1):
                search.fit(pd.DataFrame(noisy_threshold(60)))
            charges = [entry for entry in ledger.entries() if entry.kind == "charge"]
            assert len(charges) == 1
            assert accounting.satisfies(charges[0].event, limit)
            assert search.budget_.expected_runs == pytest.approx(runs, rel=1e-6)
            with pytest.raises(dp.BudgetExceeded):
                search.fit(pd.DataFrame(noisy_threshold(60)))


def test_what_it_would_cost_otherwise() -> None:
    search = fitted(settings=TWENTY, epsilon=1, runs=4)
    assert search.budget_.total == dp.PureDP(1)
    assert search.budget_.one_run.epsilon <= Fraction(1, 3)  # type: ignore[attr-defined]
    assert search.budget_.every_setting.epsilon > 6  # type: ignore[attr-defined]
    assert search.budget_.every_setting == search.budget_.one_run.times(20)
    assert search.budget_.settings == 20
    parts = search.budget_.fit, search.budget_.score
    assert sum(part.epsilon for part in parts) == Fraction(1, 3)  # type: ignore[attr-defined]
