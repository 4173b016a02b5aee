"""The benchmark page says what the figures say, has all models, and its tables keep to their schemas."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import discreet as dp
from discreet.testing.estimators import ESTIMATORS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import comparing  # noqa: E402
import contest  # noqa: E402
import metrics  # noqa: E402
import ours  # noqa: E402
import page  # noqa: E402
import real_tables as tables  # noqa: E402
import recommendations  # noqa: E402
import rendering  # noqa: E402

TABLES = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(not table.is_here(), reason="the data set is not here"),
    )
    for name, table in tables.TABLES.items()
]
SMALL = [param for param in TABLES if param.values[0] != "kdd"]


def test_the_page_is_what_the_figures_give() -> None:
    assert (page.DOCS / "benchmarks.md").read_text(encoding="utf-8") == rendering.page(page.read())


def test_the_page_shows_its_drawings() -> None:
    text = (page.DOCS / "benchmarks.md").read_text(encoding="utf-8")
    drawn = sorted(path.name for path in (page.DOCS / "figures").glob("*.svg"))
    assert [name for name in ("adult.svg", "tables.svg") if f"figures/{name})" in text] == [
        name for name in drawn if name in ("adult.svg", "tables.svg")
    ]
    assert "adult.svg" in drawn


def test_every_estimator_is_measured_or_named_with_a_reason() -> None:
    measured = {(one.path, one.parameters.get("method")) for one in ours.CONTESTANTS}
    known = {path for path, _ in measured} | set(ours.NOT_MEASURED)
    assert {example.path for example in ESTIMATORS} == known
    for example in ESTIMATORS:
        method = example.parameters.get("method")
        if method is not None and example.path not in ours.NOT_MEASURED:
            assert (example.path, method) in measured
    text = (page.DOCS / "benchmarks.md").read_text(encoding="utf-8")
    lines = {line["model"] for line in page.read()["lines"] if line["library"] == "discreet"}
    assert lines == {one.model for one in ours.CONTESTANTS}
    assert all(f"`{path}`: " in text for path in ours.NOT_MEASURED)


def test_every_peer_has_a_rival_among_ours() -> None:
    names = {(one.model, one.task, one.view) for one in ours.ENTRIES}
    for library in ("diffprivlib", "OpenDP", "interpret"):
        theirs = list(contest.contestants(library))
        assert theirs
        for one in theirs:
            assert (one.rival, one.task, one.view) in names


@pytest.mark.parametrize("name", list(tables.TABLES))
def test_our_schema_and_that_of_the_others_are_one(name: str) -> None:
    table = tables.TABLES[name]
    schema = dp.Schema.read(table.schema_path)
    assert list(schema.base) == list(table.columns)
    for column, facts in table.columns.items():
        declared = schema.base[column]
        if isinstance(facts, tables.Number):
            assert isinstance(declared, dp.Real)
            assert (float(declared.lower), float(declared.upper)) == (facts.lower, facts.upper)
        else:
            assert isinstance(declared, dp.Categorical)
            assert declared.values == facts.values
    assert set(table.numbers + table.categories) == set(table.columns) - {table.label}


@pytest.mark.parametrize("name", TABLES)
def test_no_cell_is_outside_the_declared_categories(name: str) -> None:
    assert tables.outside(name) == {}
    split = tables.load(name)
    for column in split.table.numbers:
        facts = split.table.columns[column]
        assert isinstance(facts, tables.Number)
        assert split.train[column].between(facts.lower, facts.upper).all()
    assert 0 < split.truth("test").mean() < 1


@pytest.mark.parametrize("name", TABLES)
def test_the_rows_that_recommendations_speak_of_are_those_of_the_training_part(name: str) -> None:
    assert recommendations.ROWS[name] == len(tables.load(name).train)


def test_a_value_that_is_not_declared_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    if not tables.TABLES["heart"].is_here():
        pytest.skip("the data set is not here")
    fewer = dict(tables.TABLES["heart"].columns, sex=tables.Values(("0",)))
    narrowed = copy.copy(tables.TABLES["heart"])
    narrowed.__dict__["columns"] = fewer
    monkeypatch.setitem(tables.TABLES, "heart", narrowed)
    assert list(tables.outside("heart")) == ["sex"]


@pytest.mark.parametrize("name", SMALL)
def test_splits_belong_to_seeds(name: str) -> None:
    one, again, other = (tables.load(name, seed) for seed in (1, 1, 2))
    published = len(one.table.files) == 2
    assert one.test.equals(again.test)
    assert one.test.equals(other.test) == published
    if not published:
        both = len(one.train) + len(one.test)
        assert len(one.test) == round(tables.TEST_SHARE * both)


def test_scores_of_known_predictions() -> None:
    if not tables.TABLES["pima"].is_here():
        pytest.skip("the data set is not here")
    split = tables.load("pima")
    truth = split.truth("test")

    class Oracle:
        classes_ = (0, 1)

        def __init__(self, wrong: int) -> None:
            self.found = np.where(np.arange(len(truth)) < wrong, 1 - truth, truth)

        def predict(self, X: object) -> np.ndarray:
            return self.found

        def predict_proba(self, X: object) -> np.ndarray:
            return np.stack([1 - self.found, self.found], axis=1)

    inputs = contest.Inputs((), truth=truth)
    right = contest.scores("classes", Oracle(0), inputs, split)
    assert right == {"auc": 1.0, "accuracy": 1.0, "log_loss": pytest.approx(1e-6, rel=1e-3)}
    wrong = contest.scores("classes", Oracle(23), inputs, split)
    assert wrong["accuracy"] == pytest.approx(1 - 23 / len(truth))
    assert wrong["auc"] < 1
    assert wrong["log_loss"] == pytest.approx(23 / len(truth) * -np.log(1e-6), rel=1e-3)

    class Silent:
        classes_ = (0, 1)
        predict = Oracle(0).predict
        decision_function = Oracle(0).predict

    assert contest.scores("classes", Silent(), inputs, split) == {"auc": 1.0, "accuracy": 1.0}


@pytest.mark.parametrize("levels", [2, 7, 10**9])
def test_the_area_is_scikit_learns(levels: int) -> None:
    drawn = np.random.default_rng(3)
    truth, order = drawn.integers(0, 2, 200), drawn.integers(0, levels, 200) / 7
    assert metrics.area(truth, order) == pytest.approx(roc_auc_score(truth, order), abs=1e-12)


def test_a_decision_function_speaks_of_the_last_class() -> None:
    if not tables.TABLES["credit"].is_here():
        pytest.skip("the data set is not here")
    split = tables.load("credit")
    truth = split.truth("test")

    class Sorted:
        classes_ = ("+", "-")

        def predict(self, X: object) -> np.ndarray:
            return np.where(truth, "+", "-")

        def decision_function(self, X: object) -> np.ndarray:
            return 0.5 - truth  # below 0 for the first

    inputs = contest.Inputs((), truth=truth, positive="+")
    assert contest.scores("classes", Sorted(), inputs, split) == {"auc": 1.0, "accuracy": 1.0}


def line(library: str, mean: float, error: float, **more: object) -> dict[str, object]:
    """A line of made-up figures."""
    return {
        "table": "adult",
        "task": "classes",
        "library": library,
        "model": "GaussianNB",
        "columns": "numbers",
        "delta": 0.0,
        "epsilons": [1.0],
        "auc": [[mean, error]],
        "accuracy": [[mean, error]],
        "seconds": [0.1],
        "failed": [None],
        "spent": 1.0,
        "date": "2026-01-01",
        **more,
    }


@pytest.mark.parametrize(
    ("our", "error", "told"), [(0.80, 0.001, True), (0.80, 0.02, False), (0.84, 0.001, False)]
)
def test_a_clear_loss_is_told_and_no_other(our: float, error: float, told: bool) -> None:
    lines = [line("discreet", our, error), line("diffprivlib", 0.82, 0.001)]
    duels = comparing.like_with_like(lines)
    assert len(duels) == 2  # two metrics
    assert (rendering.lost(duels, "none") != ["none", ""]) == told
    assert (rendering.lost(comparing.best_with_best(lines), "none") != ["none", ""]) == told


def test_less_inertia_is_better() -> None:
    facts = {"task": "clusters", "model": "KMeans"}
    lines = [
        line("discreet", 0, 0, inertia=[[0.2, 0.001]], **facts),
        line("diffprivlib", 0, 0, inertia=[[0.3, 0.001]], **facts),
    ]
    (duel,) = comparing.like_with_like(lines)
    assert comparing.is_better(duel)
    assert comparing.clear(duel)


def test_less_log_loss_is_better() -> None:
    lines = [
        line("discreet", 0.8, 0.001, log_loss=[[0.5, 0.001]]),
        line("diffprivlib", 0.8, 0.001, log_loss=[[0.4, 0.001]]),
        line("scikit-learn", 0.5, 0.0, model="larger class", delta=None, log_loss=[[0.45, 0]]),
    ]
    (duel,) = (duel for duel in comparing.like_with_like(lines) if duel.metric == "log_loss")
    assert comparing.clear(duel)
    assert not comparing.is_better(duel)
    shown = "\n".join(rendering.scoreboard(lines, "classes", "log_loss"))
    assert "| diffprivlib `GaussianNB` | numbers | **0.400 ± 0.001** |" in shown
    assert "| `GaussianNB` | numbers | 0.500 ± 0.001 † |" in shown


def test_a_line_without_probabilities_has_no_row_of_log_loss() -> None:
    lines = [
        line("discreet", 0.8, 0.001, log_loss=[[0.5, 0.001]]),
        line("discreet", 0.8, 0.001, model="LinearSVC", log_loss=[None]),
        line("discreet", 0.8, 0.001, model="SVC", log_loss=[None], failed=["slow"]),
        line("discreet", 0.8, 0.001, model="MixedNB"),
    ]
    shown = "\n".join(rendering.scoreboard(lines, "classes", "log_loss"))
    assert "`LinearSVC`" not in shown
    assert "`MixedNB`" not in shown  # measured before there was log loss
    assert "| `SVC` | numbers | – |" in shown


def test_models_below_the_floor_are_told() -> None:
    floor = line("scikit-learn", 0.76, 0.0, model="larger class", delta=None, epsilons=[])
    lines = [floor, line("discreet", 0.70, 0.01)]
    assert comparing.worse_than_floor(lines) == {
        ("adult", "`GaussianNB`, numbers", "accuracy"): [1.0]
    }
    assert comparing.worse_than_floor([floor, line("discreet", 0.75, 0.01)]) == {}
