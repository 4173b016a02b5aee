"""The decision tree that Fan & Tian 2024 work out by hand (appendix B.1)."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import discreet as dp

PRINTED = json.loads(
    (Path(__file__).parents[2] / "papers" / "dpml_survey" / "published.json").read_text("utf-8")
)["worked examples"]
ROWS = {
    "lectures": ["always", "always", "sometimes", "sometimes", "rarely", "rarely"],
    "tutorials": ["always", "sometimes", "rarely", "rarely", "sometimes", "rarely"],
    "midterm": ["pass", "fail", "pass", "fail", "fail", "pass"],
    "final": ["pass", "pass", "pass", "fail", "fail", "pass"],
}
OFTEN = ("always", "sometimes", "rarely")
SCHEMA = dp.Schema(
    lectures=dp.Categorical(*OFTEN),
    tutorials=dp.Categorical(*OFTEN),
    midterm=dp.Categorical("pass", "fail"),
    final=dp.Categorical("pass", "fail"),
)


def entropy(counts) -> float:
    shares = np.asarray(counts, float)[np.asarray(counts) > 0] / np.sum(counts)
    return float(-(shares * np.log2(shares)).sum())


def released(*by: str) -> np.ndarray:
    """Counts through the door, of rows that anyone may see."""
    data = dp.PrivateDataset(ROWS, SCHEMA, unit=dp.PUBLIC)
    return np.asarray(data.release(dp.Count(by=list(by)), dp.PureDP(math.inf)).value)


def test_the_entropy_of_the_grades() -> None:
    assert entropy(released("final")) == pytest.approx(PRINTED["entropy"], abs=5e-4)


@pytest.mark.parametrize("column", ["lectures", "tutorials", "midterm"])
def test_the_gain_of_a_column(column: str) -> None:
    counts = released(column, "final").reshape(-1, 2)
    left = sum(part.sum() / 6 * entropy(part) for part in counts)
    gain = entropy(released("final")) - left
    assert gain == pytest.approx(PRINTED["gains"][column], abs=1e-3)


def test_the_root_is_the_column_with_the_largest_gain() -> None:
    from discreet.models.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(epsilon=math.inf, max_depth=1, schema=SCHEMA, unit=dp.PUBLIC)
    rows = {name: np.array(values) for name, values in ROWS.items()}
    target = rows.pop("final")
    model.fit(rows, target)
    likely = model.predict_proba(rows)[:, list(model.classes_).index("pass")]
    passed = rows["midterm"] == "pass"
    assert len(set(likely[passed].tolist())) == len(set(likely[~passed].tolist())) == 1
    assert likely[passed][0] > likely[~passed][0]
