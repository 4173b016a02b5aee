"""Former names work, warn, and say what to write."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import discreet as dp
from discreet.coding import Sensitivity
from discreet.models.metrics import private_score

NAMES = [
    ("mechanisms", "Law", "Distribution"),
    ("mechanisms", "LaplaceLaw", "LaplaceDistribution"),
    ("mechanisms", "GaussianLaw", "GaussianDistribution"),
    ("mechanisms", "DiscreteGaussianLaw", "DiscreteGaussianDistribution"),
    ("mechanisms", "StaircaseNoise", "StaircaseDistribution"),
    ("testing", "LAWS", "DISTRIBUTIONS"),
    ("audit", "registered", "list_attacks"),
]


@pytest.mark.parametrize(("module", "old", "new"), NAMES)
def test_former_names_are_the_new_things(module: str, old: str, new: str) -> None:
    home = importlib.import_module(f"discreet.{module}")
    with pytest.warns(DeprecationWarning, match=f"discreet.{module}.{old} is now .*{new}"):
        assert getattr(home, old) is getattr(home, new)
    assert old not in home.__all__
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = home.nothing


def test_former_methods_do_what_the_new_ones_do() -> None:
    laplace, moved = dp.mechanisms.Laplace(2), Sensitivity(1, 1)
    with pytest.warns(DeprecationWarning, match=r"Laplace.law is now Laplace.distribution"):
        assert laplace.law(moved) == laplace.distribution(moved)
    for kind, old, new in [
        (dp.models.m_estimation.HistogramMEstimator, "refitted", "refit"),
        (dp.publish.rows.RowPerturbation, "blurred", "blur"),
        (dp.publish.rows.RowPerturbation, "decoded", "decode"),
    ]:
        assert f"`{new}`" in getattr(kind, old).__doc__


def test_a_budget_under_its_former_keyword_is_charged_once() -> None:
    ledger = dp.Ledger(limit=dp.PureDP(1))
    data = dp.PrivateDataset({"x": np.arange(3)}, dp.Schema(x=dp.Integer(0, 9)), ledger=ledger)
    with pytest.warns(DeprecationWarning, match=r"release\(how=...\) is now release\(budget=...\)"):
        data.release(dp.Count(), how=dp.PureDP(0.5))
    assert ledger.spent() == dp.PureDP(0.5)
    with pytest.warns(DeprecationWarning, match="plan"):
        assert data.plan(dp.Count(), how=dp.PureDP(0.5)).event is not None
    with pytest.raises(TypeError, match="budget"):
        data.release(dp.Count())
    assert "budget" in private_score.__wrapped__.__annotations__


def test_the_attack_on_log_odds_takes_its_former_keyword() -> None:
    with (
        pytest.warns(DeprecationWarning, match=r"lira\(least=...\) is now lira\(minimum=...\)"),
        pytest.raises(ValueError, match="minimum must be between"),
    ):
        dp.audit.membership.lira(None, least=0.5)
