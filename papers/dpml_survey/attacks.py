"""Formulas that fail, each with the ε that the auditor proves, and membership inference (section 1)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import table
from harness import Study, markdown, seed_of
from study import STUDY

from discreet import testing
from discreet.audit import membership
from discreet.models.linear_model import LogisticRegression
from discreet.models.tree import RandomDecisionForest

FORMULAS = tuple(STUDY.published["formulas"])


@STUDY.experiment(FORMULAS, repeats=1, quick=1)
def formulas(name: str, *, seed: int) -> dict[str, float]:
    """The largest lower bound on ε that the auditor proves, over the claim where it is finite."""
    run = [sys.executable, "-m", "discreet", "audit", name, "--json", "--quiet"]
    lines = subprocess.run(run, capture_output=True, text=True, check=False).stdout.splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{")]
    broken = [line for line in found if line["verdict"] == "violated"]
    exact = [(float(line["floor"]), line["claimed"]) for line in broken if line["floor"] != "inf"]
    measured = [pair for pair in exact if pair[1]]
    floor, claimed = max(measured, key=lambda pair: pair[0] / pair[1], default=(float("nan"), 0.0))
    return {"cases": len(found), "violated": len(broken), "floor": floor, "claimed": claimed}


@STUDY.table("formulas")
def failing(study: Study) -> str:
    rows = []
    for name in FORMULAS:
        found = {key: summary.mean for key, summary in study.get("formulas", name).items()}
        finite = not np.isnan(found["floor"])
        none = "–" if name == "survey-delta-does-not-add" else "no finite ε"
        shown = f"{found['floor']:.3g}" if finite else none
        claim = f"{found['claimed']:g}" if finite else "–"
        rows.append([study.published["formulas"][name], f"`{name}`", claim, shown])
    told = "One audit each: a bound that is computed, or proved of draws with 99 % confidence."
    return f"{markdown(['where', 'claim', 'claimed ε', 'at least, as audited'], rows)}\n\n{told}"


#: Rows of the game, models that the attacker trains, and the ε of the private models.
ROWS, SHADOWS, CLAIMED = 1000, 32, 1.0


def plain_forest(x: Any, y: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, random_state=0).fit(x, y)


def plain_logistic(x: Any, y: Any) -> Any:
    from sklearn.linear_model import LogisticRegression as Plain

    return Plain(max_iter=1000).fit(x, y)


def private(kind: Any) -> Callable[[Any, Any], Any]:
    facts = {"bounds": (0, 1), "classes": [False, True], "epsilon": CLAIMED}
    return lambda x, y: kind(**facts).fit(x, y)


VICTIMS: dict[str, Callable[[Any, Any], Any]] = {
    "a forest, not private": plain_forest,
    "logistic regression, not private": plain_logistic,
    "random trees, ε = 1": private(RandomDecisionForest),
    "logistic regression, ε = 1": private(LogisticRegression),
}


@STUDY.experiment(tuple(VICTIMS), repeats=10, quick=1)
def membership_inference(victim: str, *, seed: int) -> dict[str, float]:
    """The likelihood-ratio attack on one model of 400 rows or so; its guesses prove a floor on ε."""
    order = np.random.default_rng([3, seed]).permutation(len(table.truth(0)))[:ROWS]
    x, y = table.encoded(0)[order], table.truth(0)[order]
    with testing.fixed_noise(seed_of("game", victim, seed)):
        game = membership.play(VICTIMS[victim], x, y, targets=1, shadows=SHADOWS, random_state=seed)
    found = membership.lira(game)
    return {"auc": found.auc, "caught": found.tpr_at(0.01).value, "floor": found.epsilon}


@STUDY.table("membership-inference")
def members(study: Study) -> str:
    rows = []
    for victim in VICTIMS:
        found = study.get("membership-inference", victim)
        claim = f"{CLAIMED:g}" if "ε" in victim else "–"
        rows.append([victim, found["auc"], found["caught"], claim, found["floor"]])
    head = ["model", "area under the curve", "caught at 1 % false alarms", "claimed ε"]
    count = study.get("membership-inference", next(iter(VICTIMS)))["auc"].count
    told = f"{count} repetitions, {SHADOWS} shadows each; floors with 95 % confidence."
    return f"{markdown([*head, 'ε at least, proved'], rows)}\n\n{told}"
