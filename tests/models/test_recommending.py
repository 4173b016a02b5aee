"""Which model first: from public facts and figures alone, and better than chance on tables it hasn't seen."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.models import ModelChoices, recommend, recommending

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NUMBERS = {f"x{i}": dp.Real(0, 1) for i in range(6)}
MIXED = NUMBERS | {f"c{i}": dp.Categorical(*"abc") for i in range(6)}
CLASSES, NUMBER = dp.Categorical(0, 1), dp.Real(0, 1)


def names(found: ModelChoices) -> list[str]:
    return [choice.model for choice in found.choices]


@pytest.mark.parametrize("features", [NUMBERS, MIXED], ids=["numbers", "mixed"])
@pytest.mark.parametrize("target", [CLASSES, NUMBER], ids=["classes", "number"])
@pytest.mark.parametrize("measure", [dp.PureDP(1), dp.ApproxDP(1, 1e-6)], ids=["pure", "delta"])
def test_every_recommended_model_can_be_planned_for_the_schema(
    features: Any, target: Any, measure: dp.Measure
) -> None:
    schema = dp.Schema(features, y=target)
    found = recommend(schema, rows=5000, measure=measure)
    assert len(found.choices) >= 5
    kept = [choice.kept for choice in found.choices]
    assert kept == sorted(kept, reverse=True)
    assert all(-1 <= value <= 1.01 for value in kept)
    for path in names(found):
        module, _, name = path.partition(".")
        kind = getattr(importlib.import_module(f"discreet.models.{module}"), name)
        delta = getattr(measure, "delta", 0)
        model = kind(epsilon=measure.epsilon, delta=delta, schema=schema)  # type: ignore[attr-defined]
        if not (path.startswith("svm.") and target is NUMBER and features is MIXED):
            assert model.plan().measure is not None


def test_no_row_is_needed_and_a_larger_budget_promises_more() -> None:
    schema = dp.Schema(MIXED, y=CLASSES)
    best = [
        recommend(schema, rows=rows, measure=dp.PureDP(epsilon)).choices[0].kept
        for rows, epsilon in ((300, 0.1), (300, 1), (30_000, 1), (300_000, 10))
    ]
    assert best == sorted(best)
    assert best[-1] > best[0] + 0.2


def test_rows_per_person_and_replacement_count_as_a_smaller_budget() -> None:
    schema = dp.Schema(MIXED, y=CLASSES)
    unit = dp.Unit(dp.REPLACE_ONE, id_column="who", max_rows=5)
    shared = recommend(schema, rows=3000, measure=dp.PureDP(1), unit=unit)
    assert shared == recommend(schema, rows=3000, measure=dp.PureDP("1/10"))
    assert shared != recommend(schema, rows=3000, measure=dp.PureDP(1))


def test_models_that_would_leave_columns_out_are_not_recommended() -> None:
    mixed = names(recommend(dp.Schema(MIXED, y=CLASSES), rows=1000, measure=dp.PureDP(1)))
    assert "naive_bayes.MixedNB" in mixed
    assert not {"naive_bayes.GaussianNB", "naive_bayes.CategoricalNB"} & set(mixed)
    plain = names(recommend(dp.Schema(NUMBERS, y=CLASSES), rows=1000, measure=dp.PureDP(1)))
    assert "naive_bayes.GaussianNB" in plain


def test_a_table_like_none_is_said_to_be_one() -> None:
    schema = dp.Schema(NUMBERS, y=CLASSES)
    assert recommend(schema, rows=10_000, measure=dp.PureDP(1)).is_near
    far = recommend(schema, rows=10**12, measure=dp.PureDP(10))
    assert not far.is_near
    assert "No measured table" in str(far)
    assert "No measured table" not in str(recommend(schema, rows=10_000, measure=dp.PureDP(1)))


def test_the_first_choice_for_a_table_that_was_left_out_is_near_the_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each table in turn as if it were new, at ε = 0.1, 1 and 10 without a δ."""
    every = recommending._load_figures()
    lost, chance = [], []
    for table in sorted({record["table"] for record in every}):
        known = tuple(record for record in every if record["table"] != table)
        monkeypatch.setattr(recommending, "_load_figures", lambda known=known: known)
        new = [
            r
            for r in every
            if r["table"] == table and r["task"] == "classes" and not r["has_delta"]
        ]
        widest = max(new, key=lambda record: record["numbers"] + record["categories"])
        columns: dict[str, Any] = {f"x{i}": dp.Real(0, 1) for i in range(widest["numbers"])}
        columns |= {f"c{i}": dp.Categorical("a", "b") for i in range(widest["categories"])}
        schema = dp.Schema(columns, y=CLASSES)
        # shares of one reference alone can be compared
        new = [r for r in new if r["numbers"] == widest["numbers"]]
        new = [r for r in new if r["categories"] == widest["categories"]]
        for epsilon in (0.1, 1.0, 10.0):
            truth: dict[str, float] = {}
            for record in new:
                kept = record["kept"][record["epsilons"].index(epsilon)]
                if kept is not None:
                    truth[record["model"]] = max(truth.get(record["model"], -math.inf), kept)
            found = recommend(schema, rows=widest["rows"], measure=dp.PureDP(epsilon))
            first = next(name for name in names(found) if name in truth)
            lost.append(max(truth.values()) - truth[first])
            chance.append(max(truth.values()) - float(np.mean(list(truth.values()))))
    assert np.mean(lost) < 0.5 * np.mean(chance)
    assert np.mean(lost) < 0.08


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"schema": 3}, "schema must be"),
        ({"measure": dp.ZCDP(1)}, "measure must be"),
        ({"rows": 0}, "rows"),
        ({"target": "z"}, "z"),
    ],
)
def test_bad_facts_are_refused(given: Any, message: str) -> None:
    facts: dict[str, Any] = {"schema": dp.Schema(NUMBERS, y=CLASSES), "rows": 10}
    facts |= {"measure": dp.PureDP(1)} | given
    with pytest.raises((TypeError, ValueError, LookupError), match=message):
        recommend(facts.pop("schema"), **facts)


def test_file_and_guide_are_what_the_script_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    script = importlib.import_module("recommendations")
    assert script.TARGET.read_text("utf-8") == script.write_data()
    page = script.GUIDE.read_text("utf-8")
    assert f"{script.START}\n{script.write_table()}\n{script.END}" in page
