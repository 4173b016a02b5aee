"""Search over settings: what it may tell, what it finds."""

from __future__ import annotations

import math
import pickle
import random
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from examples import learned
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV

import discreet as dp
from discreet import accounting, dataset, events, testing
from discreet.engines.arrays import Arrays
from discreet.engines.frames import Frames
from discreet.models.boosting import AdditiveBoostingClassifier
from discreet.models.linear_model import LogisticRegression, Ridge
from discreet.models.metrics import LogLoss
from discreet.models.model_selection import PrivateSearch
from discreet.models.model_selection.budget import gamma_of, mean_runs
from discreet.models.model_selection.search import hash_share
from discreet.models.svm import LinearSVC, LinearSVR
from discreet.noise import entropy
from discreet.progress import is_wanted
from discreet.selection import Selection

SCHEMA = dp.Schema(a=dp.Real(0, 1), b=dp.Real(0, 1), y=dp.Categorical(0, 1))
TWENTY = {"alpha": [1, 10, 100, 1000, 10_000], "norm": [0.5, 1.0, 1.5, 2.5]}


def noisy_threshold(n: int = 1500, seed: int = 0) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    a, b = draw.random(n), draw.random(n)
    return {"a": a, "b": b, "y": (a + 0.2 * draw.normal(size=n) > 0.4).astype(int)}


def searching(settings: Any = None, **options: Any) -> PrivateSearch:
    settings = {"alpha": [1, 1e6]} if settings is None else settings
    return PrivateSearch(LogisticRegression(), settings, schema=SCHEMA, **options)


def fitted(n: int = 1500, settings: Any = None, **options: Any) -> PrivateSearch:
    return searching(settings, **options).fit(pd.DataFrame(noisy_threshold(n)))


# --- splits, units, settings


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_parts_of_a_split_do_not_add_up(delta: float) -> None:
    together = fitted(300, delta=delta)
    apart = fitted(300, delta=delta, validation=0.25)
    assert apart.budget_.fit.epsilon > together.budget_.fit.epsilon  # type: ignore[attr-defined]
    run = apart.privacy_.event.event  # type: ignore[attr-defined]
    assert all(isinstance(part, events.Parallel) for part in run.events)
    unit = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=2)
    frame = pd.DataFrame(noisy_threshold(300))
    ids = searching(delta=delta, validation=0.25, unit=unit)
    ids.fit(frame, groups=np.arange(300) // 3)
    run = ids.privacy_.event.event  # type: ignore[attr-defined]
    assert all(isinstance(part, events.Compose) for part in run.events)
    with pytest.raises(ValueError, match=r"validation: under dp\.REPLACE_ONE"):
        searching(validation=0.25, unit=dp.REPLACE_ONE).fit(frame)


def test_every_setting_once_without_noise() -> None:
    """On public rows with an infinite budget it is a plain search."""
    frame = pd.DataFrame(noisy_threshold(600))
    settings = [{"alpha": 1e7}, {"alpha": 1}, {"alpha": 1e5}]
    search = searching(settings, unit=dp.PUBLIC, epsilon=math.inf).fit(frame)
    scores = []
    for setting in settings:
        model = LogisticRegression(epsilon=math.inf, unit=dp.PUBLIC, schema=SCHEMA, **setting)
        scores.append(model.fit(frame).score(frame[["a", "b"]], frame["y"]))
    assert search.best_params_ == settings[int(np.argmax(scores))] == {"alpha": 1}
    assert search.best_score_ == pytest.approx(max(scores), abs=2e-3)
    assert search.privacy_.event == events.Compose()


def test_rows_that_validate_do_not_train() -> None:
    """Without noise: the model of one part, scored on the other."""
    cells = noisy_threshold(800)
    search = searching([{"alpha": 1}], unit=dp.PUBLIC, epsilon=math.inf, validation=0.3)
    search.fit(pd.DataFrame(cells))
    inside = Arrays(cells).chunk().holds(hash_share(SCHEMA, Fraction(3, 10)))
    assert 0.25 < inside.mean() < 0.35
    frame = pd.DataFrame(cells)
    alone = LogisticRegression(alpha=1, unit=dp.PUBLIC, epsilon=math.inf, schema=SCHEMA)
    alone.fit(frame[~inside])
    assert np.array_equal(alone.coef_, search.best_estimator_.coef_)
    right = alone.predict(frame[inside][["a", "b"]]) == frame[inside]["y"]
    assert search.best_score_ == pytest.approx(right.mean(), abs=1e-12)


@pytest.mark.parametrize("unit", [dp.Unit(), dp.Unit(dp.ADD_REMOVE, "who", 2)], ids=str)
def test_parts_are_the_same_on_every_engine(unit: dp.Unit) -> None:
    import duckdb

    frame = pd.DataFrame({**noisy_threshold(100), "who": np.arange(100) // 4})
    found = []
    for source in ({name: frame[name].to_numpy() for name in frame}, frame, duckdb.from_df(frame)):
        ledger = dp.Ledger(limit=dp.PureDP(1), unit=unit)
        data = dp.PrivateDataset(source, SCHEMA, ledger=ledger)
        search = PrivateSearch(LogisticRegression(), {"alpha": [1, 50]}, validation=0.3, runs=1.5)
        with testing.fixed_noise(7):
            found.append(learned(search.fit(data).best_estimator_))
    assert found[0] == found[1] == found[2]


def test_the_order_of_columns_is_that_of_the_frame() -> None:
    frame = pd.DataFrame(noisy_threshold(500))[["b", "y", "a"]]
    search = searching([{"alpha": 1}], epsilon=50).fit(frame, target="y")
    assert list(search.feature_names_in_) == ["b", "a"]
    assert search.score(frame[["b", "a"]], frame["y"]) > 0.8
    with pytest.raises(ValueError, match="feature names should match"):
        search.predict(frame[["a", "b"]])


def test_it_finds_the_better_setting() -> None:
    """Unless that is never drawn, which has a chance of 0.03 with a mean of 30 runs."""
    with testing.fixed_noise(4):
        found = [fitted(400, epsilon=8, runs=30).best_params_["alpha"] for _ in range(6)]
        weights = fitted(300, epsilon=8, weights=[1, 10**6], runs=1.2).best_params_["alpha"]
    assert found.count(1) >= 5
    assert weights == 1e6


def test_the_best_model_carries_the_price_of_the_search() -> None:
    search = fitted(epsilon=1, delta=1e-6)
    assert search.best_estimator_.privacy_ == search.privacy_
    assert search.privacy_.measure == dp.ApproxDP(1, 1e-6)
    assert search.privacy_.claims[0] == "private-search"
    assert "objective-perturbation" in search.privacy_.claims
    again = pickle.loads(pickle.dumps(search))
    frame = pd.DataFrame(noisy_threshold(30))[["a", "b"]]
    assert np.array_equal(again.predict(frame), search.best_estimator_.predict(frame))
    assert np.array_equal(search.predict_proba(frame), again.best_estimator_.predict_proba(frame))
    kept = {name for name in vars(search) if name.endswith("_") or name.startswith("_")}
    assert kept == {
        "best_estimator_", "best_params_", "best_score_", "budget_", "classes_", "columns_",
        "feature_names_in_", "n_features_in_", "privacy_",
    }  # nothing about the other runs  # fmt: skip


def test_runs_leave_no_trace_of_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither warnings nor the state of a global generator tell how many there were."""
    honest, runs = LogisticRegression._train, []

    def loud(model: Any, *rest: Any) -> None:
        warnings.warn("a run", stacklevel=1)
        runs.append((np.random.random(), random.random(), is_wanted()))
        honest(model, *rest)

    monkeypatch.setattr(LogisticRegression, "_train", loud)
    monkeypatch.setenv("DISCREET_PROGRESS", "1")
    before = np.random.get_state()[1].tobytes(), random.getstate()
    with warnings.catch_warnings(record=True) as seen, testing.fixed_noise(3):
        warnings.simplefilter("always")
        fitted(100, runs=9)
    assert len(runs) > 2
    assert seen == []
    assert (np.random.get_state()[1].tobytes(), random.getstate()) == before
    assert not any(shown for *_, shown in runs)
    assert is_wanted()
    with pytest.raises(UserWarning, match="a run"):  # a single fit may warn
        LogisticRegression(schema=SCHEMA).fit(pd.DataFrame(noisy_threshold(20)))


def test_methods_are_those_of_the_estimator() -> None:
    assert hasattr(searching(), "predict_proba")
    svm = PrivateSearch(LinearSVC(), {"alpha": [1, 100]}, schema=SCHEMA)
    assert not hasattr(svm, "predict_proba")
    assert is_classifier(svm)
    frame = pd.DataFrame(noisy_threshold(300))
    assert svm.fit(frame).decision_function(frame[["a", "b"]]).shape == (300,)
    with pytest.raises(ValueError, match="needs probabilities"):
        svm.set_params(scoring="log_loss").fit(frame)
    assert hasattr(searching(), "predict_log_proba")
    assert fitted(200).predict_log_proba(frame[["a", "b"]]).shape == (300, 2)


def test_numbers_are_searched_too() -> None:
    draw = np.random.default_rng(1)
    x = draw.random((500, 2))
    y = x @ [1.0, 0.5]
    settings = [{"alpha": 0.1}, {"estimator": LinearSVR(), "alpha": 10}]
    ridge = Ridge(bounds=(0, 1), target_bounds=(0, 2))
    for scoring in (None, "mean_absolute_error"):
        with testing.fixed_noise(2):
            search = PrivateSearch(ridge, settings, epsilon=20, scoring=scoring).fit(x, y)
        assert is_regressor(search)
        assert search.score(x, y) > 0.5
        assert 0 <= search.best_score_ < 0.2
        assert search.predict(x[:5]).shape == (5,)
    with pytest.raises(ValueError, match="needs a target"):
        PrivateSearch(ridge, settings, scoring="accuracy").fit(x, y)


@pytest.mark.parametrize("scoring", ["log_loss", "auc", LogLoss(0.01)])
@pytest.mark.parametrize("validation", [None, 0.3])
def test_scores_of_every_kind(scoring: Any, validation: Any) -> None:
    with testing.fixed_noise(6):
        search = fitted(3000, epsilon=10, scoring=scoring, validation=validation)
    assert 0 < search.best_score_ < (1 if scoring == "auc" else 1.5)
    noise = search.plan(rows=3000).noise["best_score_"]
    assert 0 < noise < 0.1


@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("validation", [None, 0.5])
def test_few_rows_and_one_class(rows: int, validation: Any) -> None:
    for unit in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        if validation and unit is dp.REPLACE_ONE:
            continue
        cells = noisy_threshold(rows)
        cells["y"] = np.zeros(rows, int)
        search = searching(validation=validation, unit=unit).fit(pd.DataFrame(cells))
        assert set(search.predict(pd.DataFrame(noisy_threshold(5))[["a", "b"]])) <= {0, 1}
        assert 0 <= search.best_score_ <= 1


def test_bad_arguments_are_named() -> None:
    frame = pd.DataFrame(noisy_threshold(50))
    logistic = LogisticRegression()
    cases: list[tuple[Any, str]] = [
        (PrivateSearch(None, {}, schema=SCHEMA), "estimator must be"),
        (PrivateSearch("ridge", {}, schema=SCHEMA), "estimator must be"),
        (PrivateSearch(LogisticRegression(schema=SCHEMA), schema=SCHEMA), "give it to the search"),
        (searching([]), "at least one"),
        (searching("alpha"), "settings must be"),
        (searching([1]), "settings must be"),
        (searching({"epsilon": [1, 2]}), "parameter of the search"),
        (searching({"beta": [1]}), "Invalid parameter"),
        (searching([{"estimator": Ridge()}]), "all must learn classes"),
        (searching(runs=1), "runs must be"),
        (searching(shape=-1), "shape"),
        (searching(weights=[1]), "weights must be 2"),
        (searching(weights=[1, 0]), "weights must be 2"),
        (searching(score_share=1), "score_share"),
        (searching(validation=1), "validation must be"),
        (searching(scoring="f2"), "metric must be one of"),
        (PrivateSearch(logistic, {"alpha": [1]}), "bounds must be declared"),
    ]
    for search, message in cases:
        with pytest.raises((TypeError, ValueError), match=message):
            search.fit(frame, target="y") if search.schema else search.fit(frame[["a"]], frame["y"])


def test_the_mean_number_of_runs() -> None:
    for shape in (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(4)):
        for runs in (1.01, 2, 20, 5000):
            gamma = gamma_of(shape, runs)
            assert mean_runs(shape, gamma) == pytest.approx(runs, rel=1e-4)
            assert mean_runs(shape, gamma) <= runs * (1 + 1e-12)


def test_a_search_in_a_search() -> None:
    """The inner one's plan is an event like any other."""
    inner = PrivateSearch(LogisticRegression(), {"alpha": [1, 10]}, runs=1.5)
    outer = PrivateSearch(inner, {"shape": [0, 1]}, epsilon=9, schema=SCHEMA, runs=1.5)
    outer.fit(pd.DataFrame(noisy_threshold(300)))
    assert accounting.satisfies(outer.privacy_.event, dp.PureDP(9))
    assert outer.best_estimator_.best_params_["alpha"] in (1, 10)


def test_plans_are_made_of_public_facts() -> None:
    """The same whatever the rows, and what the door then takes."""
    plans = {repr(searching(delta=1e-6).plan(rows=n).event) for n in (10, 10_000)}
    assert len(plans) == 1
    selection = Selection(((events.Compose(),),), (1,), Fraction(1), Fraction(1, 2))
    assert selection.event(dp.Unit()) == events.RepeatAndSelect(
        events.Compose(events.Compose()), 1, "1/2"
    )


# --- scikit-learn's own search


def test_each_fit_of_scikit_learns_search_is_paid() -> None:
    """Settings × folds, and one more for the refit; its scores are exact and not covered."""
    cells = noisy_threshold(120)
    x, y = np.column_stack([cells["a"], cells["b"]]), cells["y"]
    ledger = dp.Ledger(limit=dp.PureDP(7))
    base = LogisticRegression(
        epsilon=1, bounds=(0, 1), classes=[0, 1], ledger=ledger, unit=dp.ADD_REMOVE
    )
    GridSearchCV(base, {"alpha": [1, 10, 100]}, cv=2, error_score="raise").fit(x, y)
    charges = [entry for entry in ledger.entries() if entry.kind == "charge"]
    assert len(charges) == 3 * 2 + 1
    assert ledger.remaining() == dp.PureDP(0)
    with pytest.raises(dp.BudgetExceeded):
        base.fit(x, y)


def test_a_search_reads_the_codes_of_its_rows_once_and_finds_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Boosting asks many times: inside a search its codes are kept, as they are outside of one."""
    reads: list[str] = []
    for name in ("rows", "totals", "joint_totals"):
        ask = getattr(Frames, name)

        def counted(self: Frames, *asked: Any, ask: Any = ask, name: str = name) -> Any:
            reads.append(name)
            return ask(self, *asked)

        monkeypatch.setattr(Frames, name, counted)
    frame = pd.DataFrame(noisy_threshold(300))

    def search() -> PrivateSearch:
        model = AdditiveBoostingClassifier()
        with entropy.fixed(3):
            return PrivateSearch(model, {"rounds": [2, 3]}, schema=SCHEMA, runs=4).fit(frame)

    kept = search()
    assert "totals" not in reads
    assert "joint_totals" not in reads
    few = len(reads)
    reads.clear()
    monkeypatch.setattr(dataset, "with_cache", lambda engine, rounds: engine)
    alone = search()
    assert len(reads) > 3 * few
    assert kept.best_score_ == alone.best_score_
    x = frame[["a", "b"]]
    assert np.array_equal(kept.predict_proba(x), alone.predict_proba(x))
