"""What privacy costs, on the benchmark page: twins without noise, shares kept, and what isn't its fault."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import comparing  # noqa: E402
import contest  # noqa: E402
import costs  # noqa: E402
import ours  # noqa: E402
import real_tables as tables  # noqa: E402
import twins  # noqa: E402


def line(library: str, auc: float, accuracy: float = 0.8, **more: object) -> dict[str, Any]:
    """A line of made-up figures at ε = 1, or without noise."""
    private = library == "discreet"
    return {
        "table": "adult",
        "task": "classes",
        "library": library,
        "model": "GaussianNB",
        "columns": "numbers",
        "delta": 1e-6 if private else None,
        "epsilons": [1.0] if private else [],
        "auc": [[auc, 0.001]],
        "accuracy": [[accuracy, 0.001]],
        **more,
    }


def test_every_private_line_for_classes_or_numbers_has_a_twin() -> None:
    kinds = {(one.model, one.task, one.view) for one in twins.CONTESTANTS}
    assert kinds == {
        (one.model, one.task, one.view)
        for one in ours.CONTESTANTS
        if one.task in ("classes", "number")
    }
    assert not any(one.is_private for one in twins.CONTESTANTS)


@pytest.mark.skipif(not tables.TABLES["ilpd"].is_here(), reason="the data set is not here")
@pytest.mark.parametrize("one", twins.CONTESTANTS, ids=lambda one: f"{one.model}-{one.view}")
def test_a_twin_has_no_noise(one: contest.Contestant) -> None:
    split = tables.load("ilpd")
    inputs = one.inputs(split, one)

    def score() -> dict[str, float]:
        model = one.build(split, one, 0.1, 0.0, 5)
        contest.measured(model, inputs)
        return contest.scores(one.task, model, inputs, split)

    first = score()
    assert first == score()
    assert first.get("auc", 1.0) > 0.5
    assert first.get("r2", 1.0) > 0.3


def test_twins_are_fitted_to_few_splits() -> None:
    one = twins.CONTESTANTS[0]
    assert contest.rounds(one, tables.TABLES["pima"], None) == [0, 1, 2, 3]
    assert contest.rounds(one, tables.TABLES["adult"], None) == [0]


def test_the_share_kept_is_of_what_the_twin_gains() -> None:
    lines = [line("discreet", 0.74), line(contest.TWINS, 0.80)]
    (kept,) = costs.beside_twins(lines)
    assert kept.share == pytest.approx(0.8)
    assert "0 of 1 keep at least 95 %" in "\n".join(costs.render_kept(lines, []))
    assert "| **80.0 %** |" in "\n".join(costs.render_kept(lines, []))
    better = [line("discreet", 0.79), line(contest.TWINS, 0.80)]
    assert "1 of 1 keep at least 95 %" in "\n".join(costs.render_kept(better, []))
    assert costs.render_kept(better, [])[-2:] == ["None.", ""]


def test_small_tables_and_models_without_a_gain_have_no_share() -> None:
    small = [line(who, 0.8, table="pima") for who in ("discreet", contest.TWINS)]
    assert costs.beside_twins(small) == []
    (kept,) = costs.beside_twins([line("discreet", 0.51), line(contest.TWINS, 0.505)])
    assert kept.share is None


def test_the_line_with_a_delta_is_the_one_that_is_judged() -> None:
    lines = [line("discreet", 0.6, delta=0.0), line("discreet", 0.7), line(contest.TWINS, 0.9)]
    (kept,) = costs.beside_twins(lines)
    assert kept.share == pytest.approx(0.5)
    (pure,) = costs.beside_twins([lines[0], lines[2]])
    assert pure.share == pytest.approx(0.25)


@pytest.mark.parametrize(("auc", "verdict"), [(0.88, "met"), (0.86, "**missed**")])
def test_the_best_of_ours_is_held_to_gradient_boosting(auc: float, verdict: str) -> None:
    lines = [
        line("discreet", 0.7),
        line("discreet", auc, model="MixedNB", columns="all"),
        line("discreet", 0.95, model="HistogramMEstimator", columns="few"),
        line("scikit-learn", 0.9, model="HistGradientBoostingClassifier", columns="all"),
    ]
    (kept,) = costs.beside_boosting(lines)
    assert kept.line["model"] == "MixedNB"
    assert costs.render_boosting(lines)[-2].endswith(f"| {verdict} |")


@pytest.mark.parametrize(
    ("epsilons", "twin", "groups"),
    [
        ([0.1, 1.0, 10.0], 0.9, {"large": [1.0, 10.0], "small": [0.1]}),
        ([0.1], 0.9, {"small": [0.1]}),
        ([0.1, 1.0], 0.75, {"always": [0.1, 1.0]}),
        ([0.1, 1.0], None, {"large": [1.0], "small": [0.1]}),
    ],
)
def test_where_the_twin_is_below_the_floor_privacy_is_not_to_blame(
    epsilons: list[float], twin: float | None, groups: dict[str, list[float]]
) -> None:
    bad = [[0.6, 0.001] for _ in epsilons]
    lines = [
        line("scikit-learn", 0.5, 0.76, model="larger class"),
        line("discreet", 0.5, epsilons=epsilons),
    ]
    lines[1]["accuracy"] = bad
    if twin is not None:
        lines.append(line(contest.TWINS, 0.8, twin))
    found = comparing.groups_below_floor(lines)
    key = ("adult", "`GaussianNB`, numbers, δ", "accuracy")
    assert {name: rows[key] for name, rows in found.items() if rows} == groups
    assert np.all([list(rows) in ([], [key]) for rows in found.values()])
