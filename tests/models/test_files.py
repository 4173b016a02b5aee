"""Model files: what is read answers bit for bit as what was written, and nothing private is in between."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examples import features, learned, schema_for, table_for
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression
from sklearn.preprocessing import Normalizer

import discreet as dp
from discreet import models
from discreet.ledger import LedgerError
from discreet.models.files.kinds import LEFT_OUT, SHARED, estimator_kinds, learned_of
from discreet.models.files.trial import METHODS
from discreet.models.linear_model import LinearRegression, LogisticRegression
from discreet.models.m_estimation import HistogramMEstimator
from discreet.models.metrics.kinds import AUC
from discreet.models.model_selection import PrivateSearch
from discreet.models.naive_bayes import GaussianNB, MixedNB
from discreet.models.pipeline import Pipeline
from discreet.models.preprocessing import StandardScaler
from discreet.models.tree import DecisionTreeClassifier, RandomDecisionForest
from discreet.publish import MaskedData, Synthesizer
from discreet.publish.synthetic.stored import STORED
from discreet.testing import ESTIMATORS, Example, fixed_noise
from discreet.testing.estimators import estimator_classes

ROWS = 97  # no other number in these models is 97


def fit(example: Example, *, named: bool = False, rows: int = ROWS, **parameters: Any) -> Any:
    table = table_for(example, rows)
    model = example.build(schema=schema_for(example), epsilon=4, **parameters)
    with fixed_noise(1):
        if named:
            return model.fit(table)
        return model.fit(features(table), table.get("y"))


def all_answers(model: Any, X: Any) -> dict[str, bytes]:
    """Everything that a model says of rows, bit for bit."""
    found = {}
    for name in METHODS:
        if hasattr(model, name):
            answer = np.asarray(getattr(model, name)(X))
            found[name] = f"{answer.dtype} {answer.shape}".encode() + answer.tobytes()
    assert found
    return found


@pytest.mark.parametrize("example", ESTIMATORS, ids=str)
def test_a_model_that_was_read_answers_the_same_bit_for_bit(
    example: Example, tmp_path: Path
) -> None:
    path = tmp_path / "model.json"
    others = table_for(example, 40, seed=5)
    others.pop("y", None)
    for named, rows in ((False, features(others)), (True, others)):
        model = fit(example, named=named)
        before = all_answers(model, rows)
        models.save(model, path)
        again = models.load(path)
        assert type(again) is type(model)
        assert all_answers(again, rows) == before == all_answers(model, rows)
        if named:
            pandas = pytest.importorskip("pandas")
            assert all_answers(again, pandas.DataFrame(rows)) == before
        known = learned(model)
        known.pop("labels_", None)
        read = learned(again)
        for key in ("best_estimator_", "estimator_", "budget_"):
            known.pop(key, None), read.pop(key, None)
        assert read == known
        assert again.privacy_.certificate == model.privacy_.certificate
        assert models.to_json(again) == models.to_json(model)
        assert vars(clone(again)).keys() == vars(clone(model)).keys()


@pytest.mark.parametrize("example", ESTIMATORS, ids=str)
def test_a_model_of_no_rows_is_kept_too(example: Example) -> None:
    model = fit(example, rows=0)
    others = features(table_for(example, 20, seed=5))
    assert all_answers(models.from_json(models.to_json(model)), others) == all_answers(
        model, others
    )


def test_every_estimator_can_be_kept() -> None:
    assert {kind.__name__: kind for kind in estimator_classes()} == dict(estimator_kinds())
    for kind in estimator_classes():
        assert learned_of(kind), kind
    assert {str(example.kind) for example in ESTIMATORS} == {
        str(kind) for kind in estimator_classes()
    }


def unlisted(model: Any) -> set[str]:
    """Attributes of a fitted model that nobody declared public, or left out for a reason."""
    own = set(vars(model)) - set(model.get_params(deep=False))
    return own - set(learned_of(type(model))) - SHARED - set(LEFT_OUT)


@pytest.mark.parametrize("example", ESTIMATORS, ids=str)
def test_no_attribute_is_forgotten(example: Example) -> None:
    model = fit(example, unit=dp.PUBLIC)
    assert unlisted(model) == set()
    model._rows_of_the_fit = features(table_for(example, ROWS))
    assert unlisted(model) == {"_rows_of_the_fit"}  # what a new attribute would do here


def walk(data: Any) -> list[Any]:
    """All that stands in a document: mappings, lists, texts and numbers."""
    found = [data]
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        found += walk(part)
    return found


@pytest.mark.parametrize("example", ESTIMATORS, ids=str)
def test_a_file_holds_what_is_listed_and_no_row(example: Example) -> None:
    ledger = dp.Ledger(limit=dp.PureDP(8), accept_assumed=example.accept_assumed)
    model = fit(example, ledger=ledger)
    model._rows_of_the_fit = features(table_for(example, ROWS))
    model.rows_of_the_fit_ = ["a secret row"]
    text = models.to_json(model)
    data = json.loads(text)
    assert set(data) == {
        "format", "version", "model", "parameters", "columns", "named", "classes", "learned", "checked",
        "certificate", "sha256",
    }  # fmt: skip
    assert set(data["parameters"]) == set(model.get_params(deep=False))
    assert set(data["learned"]) <= set(learned_of(type(model)))
    cells = {repr(cell) for cell in features(table_for(example, ROWS)).ravel().tolist()}
    numbers = {
        repr(part) for part in walk(data) if isinstance(part, float) and part not in (0, 1, 2)
    }
    assert not numbers & cells
    assert not any(len(part) == ROWS for part in walk(data) if isinstance(part, list))
    (entry,) = (one for one in ledger.entries() if one.kind == "charge")
    assert entry.token
    assert entry.who
    for secret in (
        entry.token,
        entry.who,
        str(Path(ledger.url.split("///")[1]).name),
        "secret row",
    ):
        assert secret not in text


def test_tables_of_all_kinds_are_kept() -> None:
    """Dates, wide bounds, text, booleans, three classes and one."""
    draw, rows = np.random.default_rng(0), 200
    table = {
        "day": np.datetime64("2024-01-01") + draw.integers(0, 300, rows),
        "income": draw.random(rows) * 90_000,
        "town": draw.choice(["Å", "B", "elsewhere"], rows),
        "smokes": draw.random(rows) < 0.3,
    }
    columns = {
        "day": dp.Date("2024-01-01", "2024-12-31"),
        "income": dp.Real(0, 100_000),
        "town": dp.Categorical("Å", "B", "C", unknown="C"),
        "smokes": dp.Categorical(False, True),
    }
    for labels in (["a", "b", "ç"], [0.5, 1], [True, False], [7]):
        schema = dp.Schema({**columns, "y": dp.Categorical(*labels)})
        y = np.array(labels)[draw.integers(0, len(labels), rows)]
        for model in (MixedNB(schema=schema), LogisticRegression(schema=schema)):
            model.set_params(epsilon=5).fit({**table, "y": y})
            again = models.from_json(models.to_json(model))
            assert all_answers(again, table) == all_answers(model, table)
            assert again.classes_.dtype == model.classes_.dtype
            assert again.schema == schema


def test_parameters_of_all_kinds_are_kept() -> None:
    draw = np.random.default_rng(0)
    X = draw.random((80, 2))
    y = (X[:, 0] > 0.5).astype(int)
    plain = LogisticRegression(
        bounds=([0, 0], np.array([1.0, 1.0])), classes=np.array(["no", "yes"])
    )
    plain.set_params(epsilon="0.5", unit=dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=2))
    plain.fit(X, np.array(["no", "yes"])[y], groups=np.arange(80))
    again = models.from_json(models.to_json(plain))
    assert again.epsilon == "0.5"
    assert again.unit == plain.unit
    assert again.classes.tolist() == ["no", "yes"]
    assert again.bounds[1].tolist() == [1, 1]
    forest = RandomDecisionForest(bounds=(0, 1), classes=range(2), random_state=draw).fit(X, y)
    again = models.from_json(models.to_json(forest))
    assert again.random_state is None
    assert again.classes == [0, 1]
    assert all_answers(again, X) == all_answers(forest, X)
    pair = RandomDecisionForest(bounds=(0, 1), classes=[0, 1], unit=dp.PUBLIC).fit(X, y)
    assert models.from_json(models.to_json(pair)).unit is dp.PUBLIC
    searched = PrivateSearch(
        GaussianNB(bounds=(0, 1), classes=[0, 1]),
        [{"classes": [0, 1]}, {"estimator": DecisionTreeClassifier(bounds=(0, 1), classes=[0, 1])}],
        scoring=AUC(8),
        epsilon=4,
    ).fit(X, y)
    again = models.from_json(models.to_json(searched))
    assert all_answers(again, X) == all_answers(searched, X)
    assert again.scoring.bins == 8
    assert type(again.settings[1]["estimator"]) is DecisionTreeClassifier
    assert repr(again.budget_) == repr(searched.budget_)
    assert again.best_estimator_.privacy_ == again.privacy_


def test_what_is_more_than_predictions_is_kept() -> None:
    draw = np.random.default_rng(0)
    X = draw.random((400, 2))
    line = LinearRegression(bounds=(0, 1), target_bounds=(0, 4), epsilon=50).fit(X, X @ [1, 2])
    again = models.from_json(models.to_json(line))
    assert (again.coefficient_intervals() == line.coefficient_intervals()).all()
    y = (X[:, 0] > 0.5).astype(int)
    cells = HistogramMEstimator(bounds=(0, 1), classes=[0, 1], bins=3).fit(X, y)
    again = models.from_json(models.to_json(cells))
    other = PlainLogisticRegression(C=0.01)
    assert all_answers(again.refit(other), X) == all_answers(cells.refit(other), X)
    masked = MaskedData(bounds=(0, 1), classes=[0, 1], samples=40, start=(X[:3], y[:3])).fit(X, y)
    again = models.from_json(models.to_json(masked))
    for found, kept in zip(again.sample(30, 4), masked.sample(30, 4), strict=True):
        assert (found == kept).all()
    checked = GaussianNB(bounds=(0, 1), classes=[0, 1], epsilon=20).fit(X, y, check=True)
    again = models.from_json(models.to_json(checked))
    assert again.checked_.to_plain() == checked.checked_.to_plain()


def test_a_pipeline_keeps_the_certificate_of_every_step(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    X = draw.random((100, 3))
    y = (X[:, 0] > 0.5).astype(int)
    ledger = dp.Ledger(limit=dp.PureDP(3))
    steps = [
        ("scale", StandardScaler(bounds=(0, 1), ledger=ledger)),
        ("skip", "passthrough"),
        ("norm", Normalizer("l1")),
        ("model", LogisticRegression(classes=[0, 1], ledger=ledger)),
    ]
    model = Pipeline(steps).fit(X, y)
    models.save(model, tmp_path / "steps.json")
    again = models.load(tmp_path / "steps.json", ledger=ledger)
    assert all_answers(again, X) == all_answers(model, X)
    for name in ("scale", "model"):
        assert again[name].privacy_.certificate == model[name].privacy_.certificate
    with pytest.raises(ValueError, match="ledger must be given"):
        clone(again).fit(X, y)


def synthesizer(**parameters: Any) -> Synthesizer:
    draw = np.random.default_rng(0)
    schema = dp.Schema(
        smokes=dp.Categorical("no", "yes"),
        age=dp.Integer(18, 90),
        income=dp.Real(0, 5000),
        day=dp.Date("2024-01-01", "2024-12-31"),
    )
    rows = {
        "smokes": draw.choice(["no", "yes", "?"], ROWS),
        "age": draw.integers(18, 90, ROWS),
        "income": draw.random(ROWS) * 5000,
        "day": np.datetime64("2024-01-01") + draw.integers(0, 300, ROWS),
    }
    data = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.ApproxDP(1, 1e-6)))
    with fixed_noise(2):
        return Synthesizer(epsilon=1, delta=1e-6, iterations=50, **parameters).fit(data)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"workload": [("smokes", "age")], "bins": {"age": 4, "income": [10, 100]}},
     {"target": "smokes", "constraints": ["age >= 20"], "rounds": 1}],
)  # fmt: skip
def test_a_synthesizer_draws_the_same_rows_again(parameters: dict[str, Any]) -> None:
    model = synthesizer(**parameters)
    again = models.from_json(models.to_json(model))
    before, after = (one.sample(60, random_state=3) for one in (model, again))
    assert all((before[name] == after[name]).all() for name in before)
    assert (again.marginal("age", "smokes") == model.marginal("age", "smokes")).all()
    assert again.measured_ == model.measured_
    assert again.total_ == model.total_
    assert again.privacy_.certificate == model.privacy_.certificate
    assert set(vars(model)) == STORED


def test_a_model_is_not_taken_for_a_fit_of_other_people(tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).random((60, 2)), np.arange(60) % 2
    ledger = dp.Ledger(limit=dp.PureDP(2))
    model = GaussianNB(bounds=(0, 1), classes=[0, 1], ledger=ledger).fit(
        {"a": X[:, 0], "b": X[:, 1]}, y
    )
    path = tmp_path / "model.json"
    models.save(model, path)
    again = models.load(path, ledger=ledger)
    with pytest.raises(models.ModelFileError, match="not charged to this ledger"):
        models.load(path, ledger=dp.Ledger(limit=dp.PureDP(2)))
    # a ledger of equal charges has other hashes
    other = dp.Ledger(limit=dp.PureDP(2))
    clone(model).set_params(ledger=other).fit({"a": X[:, 0], "b": X[:, 1]}, y)
    with pytest.raises(models.ModelFileError, match="fit of other data"):
        models.load(path, ledger=other)
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict({"a": X[:, 0], "c": X[:, 1]})
    with pytest.raises(LedgerError, match="give the ledger"):
        clone(again).fit({"a": X[:, 0], "b": X[:, 1]}, y)
    spent = ledger.spent()
    clone(again).set_params(ledger=ledger).fit({"a": X[:, 0], "b": X[:, 1]}, y)
    assert ledger.spent().epsilon == spent.epsilon + 1
    public = (
        clone(model).set_params(ledger=None, unit=dp.PUBLIC).fit({"a": X[:, 0], "b": X[:, 1]}, y)
    )
    models.save(public, path)
    with pytest.raises(models.ModelFileError, match="declared public"):
        models.load(path, ledger=ledger)
    with pytest.raises(TypeError, match="ledger must be"):
        models.load(path, ledger="budget.db")


def test_what_cannot_be_kept_is_refused_in_a_sentence(tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).random((60, 2)), np.arange(60) % 2
    with pytest.raises(ValueError, match="call fit first"):
        models.to_json(GaussianNB())
    with pytest.raises(ValueError, match="call fit first"):
        models.to_json(Pipeline([("model", GaussianNB())]))
    cells = HistogramMEstimator(RandomForestClassifier(2), bounds=(0, 1), classes=[0, 1], bins=2)
    cells.fit(X, y)
    with pytest.raises(
        models.ModelFileError, match=r"refit\(LogisticRegression\(\)\) costs nothing"
    ):
        models.save(cells, tmp_path / "model.json")
    assert not list(tmp_path.iterdir())
    model = GaussianNB(bounds=(0, 1), classes=[0, 1]).fit(X, y)
    model.bounds = object()
    with pytest.raises(models.ModelFileError, match="parameter bounds of GaussianNB"):
        models.to_json(model)
    with pytest.raises(ValueError, match="call fit first"):
        models.to_json(PlainLogisticRegression().fit(X, y))
    for path, words in (
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "model.json", "make it first"),
    ):
        with pytest.raises(models.ModelFileError, match=words):
            models.save(model.set_params(bounds=(0, 1)), path)


def test_a_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.random.default_rng(0).random((60, 2)), np.arange(60) % 2
    model = GaussianNB(bounds=(0, 1), classes=[0, 1]).fit(X, y)
    path = tmp_path / "model.json"
    models.save(model, path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(models.ModelFileError, match=r"No space left on device.*give a path"):
        models.save(clone(model).fit(X, 1 - y), path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["model.json"]
