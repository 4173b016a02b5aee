"""What a release keeps when it comes back from JSON or pickle, beside its numbers."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import discreet as dp

BUDGET = dp.PureDP(2)
QUERIES = {
    "bars": dp.Mean("cost", by="ward"),
    "estimate": dp.Estimate(dp.Mean("cost", by="ward")),
    "middle": dp.Estimate(dp.Median("cost")),
}


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    columns = {"cost": random.random(300) * 900, "ward": random.choice(["A", "=C"], 300)}
    schema = dp.Schema(cost=dp.Real(0, 1000.5), ward=dp.Categorical("A", "=C"))
    return dp.PrivateDataset(columns, schema, ledger=dp.Ledger(limit=dp.PureDP(1000)))


@pytest.fixture(scope="module")
def releases(data):
    return {name: data.release(query, BUDGET) for name, query in QUERIES.items()}


@pytest.mark.parametrize("name", ["estimate", "middle"])
def test_intervals_for_the_population_come_back(name, releases):
    release = releases[name]
    back = pickle.loads(pickle.dumps(release))
    for level in (0.5, 0.95):  # a quantile is drawn for levels up to 0.95
        found, wanted = back.interval(level), release.interval(level)
        assert np.array_equal(found.lower, wanted.lower)
        assert np.array_equal(found.upper, wanted.upper)
        assert found[2:] == wanted[2:]
    with pytest.raises(ValueError, match="level must be one that was written down"):
        back.interval(0.42)
    chosen = dp.Release.from_json(release.to_json([0.42]))
    assert chosen.interval(0.42).level == 0.42
    assert pickle.loads(pickle.dumps(chosen)).to_json() == chosen.to_json()
    if name == "estimate":
        assert back.compare("A", "=C") == release.compare("A", "=C")


def test_what_a_check_along_with_an_answer_found_comes_back(data):
    release = data.release(dp.Mean("cost", by="ward"), BUDGET, check=True)
    for back in (dp.Release.from_json(release.to_json()), pickle.loads(pickle.dumps(release))):
        assert back.checked == release.checked
        assert str(back) == str(release)
        assert back.to_json() == release.to_json()
    changed = json.loads(release.to_json())
    changed["checked"]["is_made_up"] = "no"
    with pytest.raises(ValueError, match="changed or cut"):
        dp.Release.from_json(json.dumps(changed))


def test_a_release_without_an_interval_for_the_population_has_none_when_it_comes_back(releases):
    for release in (releases["bars"], dp.Release.from_json(releases["bars"].to_json())):
        with pytest.raises(ValueError, match="didn't buy"):
            release.interval()


def test_a_ledger_comes_back_from_json_as_its_statement(data, releases):
    ledger = data.ledger
    back = dp.Ledger.from_json(ledger.to_json())
    assert isinstance(back, dp.ledger.Statement)
    assert back.entries == ledger.statement().entries
    assert back.to_table() == ledger.to_table()
    assert not hasattr(back, "charge")  # a text doesn't know what was charged since
    with pytest.raises(ValueError, match="statement"):
        dp.Ledger.from_json(releases["bars"].to_json())
