"""Seeds of public draws: one that no generator can be made of is refused before a fit is paid for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import schema_for, table_for

import discreet as dp
from discreet.models.model_selection import PrivateSearch, ThresholdClassifier
from discreet.models.seeds import legacy_generator, random_generator
from discreet.models.tree import RandomDecisionForest
from discreet.testing import ESTIMATORS, Example

SEEDED = [e for e in ESTIMATORS if "random_state" in e.build().get_params()]
FOREST = RandomDecisionForest(n_estimators=2, random_state="x")
AROUND = [
    ThresholdClassifier(FOREST),
    PrivateSearch(FOREST, {"max_depth": [1, 2]}, runs=2),
    PrivateSearch(RandomDecisionForest(), {"random_state": [1, "x"]}, runs=2),
    PrivateSearch(ThresholdClassifier(FOREST), {"score_share": ["1/4"]}, runs=2),
]


def refuse(model: Any, data: dp.PrivateDataset) -> None:
    for act in (model.fit, model.plan):
        with pytest.raises((TypeError, ValueError), match="random_state must be"):
            act(data)
    assert data.ledger.spent().epsilon == 0


@pytest.mark.parametrize("seed", ["x", -1, 1.5, True, 2**32, [1, 2]], ids=repr)
@pytest.mark.parametrize("example", SEEDED, ids=str)
def test_what_is_no_seed_is_refused_before_the_charge(example: Example, seed: Any) -> None:
    ledger = dp.Ledger(limit=dp.ApproxDP(5, 1e-6), accept_assumed=True)
    data = dp.PrivateDataset(table_for(example, 60), schema_for(example), ledger=ledger)
    refuse(example.build(epsilon=1, delta=1e-6).set_params(random_state=seed), data)


@pytest.mark.parametrize("place", range(len(AROUND)))
def test_so_is_that_of_a_model_inside_of_another(place: int) -> None:
    schema = dp.Schema(x=dp.Real(0, 1), y=dp.Categorical(0, 1))
    table = {"x": np.linspace(0, 1, 50), "y": np.arange(50) % 2}
    data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(5)))
    refuse(AROUND[place], data)


def test_there_are_such_models() -> None:
    assert {e.path.partition(".")[0] for e in SEEDED} >= {"tree", "svm", "cluster", "publish"}


@pytest.mark.parametrize("kind", ["none", "least", "largest", "numpy", "new", "old"])
@pytest.mark.parametrize("example", SEEDED, ids=str)
def test_every_kind_of_seed_serves(example: Example, kind: str) -> None:
    seeds = {
        "none": None,
        "least": 0,
        "largest": 2**32 - 1,
        "numpy": np.int64(3),
        "new": np.random.default_rng(1),
        "old": np.random.RandomState(1),
    }
    ledger = dp.Ledger(limit=dp.ApproxDP(5, 1e-6), accept_assumed=True)
    data = dp.PrivateDataset(table_for(example, 60), schema_for(example), ledger=ledger)
    example.build(epsilon=1, delta=1e-6).set_params(random_state=seeds[kind]).fit(data)


@pytest.mark.parametrize("build", [random_generator, legacy_generator])
def test_one_seed_is_one_sequence(build: Any) -> None:
    assert build(7).normal() == build(7).normal() != build(8).normal()
    for kind in (np.random.RandomState, np.random.default_rng):
        assert build(kind(7)).normal() == build(kind(7)).normal()
