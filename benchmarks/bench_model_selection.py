"""Search over settings on Adult: what it finds, against the default and against the best setting.

Run ``python benchmarks/bench_model_selection.py``. Twenty settings of logistic regression on six numbers, (1,
1e-6)-DP in all: the search as a whole, a fit with default parameters, and a fit with each setting, of which
the best on the test part is what nobody can know without looking (the oracle). Scores are means over fits
with fresh noise. Then the processor time of a search over settings of boosting on all columns, beside that of
as many fits as it made, each alone: a search must keep the codes of its rows. Adult is read from
``DISCREET_DATA`` (by default ``../shared/data`` beside the repository) and left out if absent. The exit
status is the number of bars missed.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from bench_erm import ADULT, adult
from real_tables import has_tables

import discreet as dp
from discreet.models.boosting import AdditiveBoostingClassifier
from discreet.models.linear_model import LogisticRegression
from discreet.models.model_selection import PrivateSearch

EPSILON, DELTA, FITS, SEARCHES = 1.0, 1e-6, 5, 12
GRID = {"alpha": [1, 10, 100, 1000, 10_000], "norm": [0.5, 1.0, 1.5, 2.5]}
#: Settings of boosting, and how many times as long as its fits alone a search may take.
BOOSTED = {"rounds": [2, 3, 4], "cells": [16, 32]}
LONGER = 3.0
#: The search may lose this much against the oracle, and must beat a setting drawn at random.
BEHIND = 0.01
QUICK = {
    "FITS": 1,
    "SEARCHES": 1,
    "GRID": {"alpha": [10, 100], "norm": [1.0]},
    "BOOSTED": {"rounds": [2], "cells": [8]},
}

missed = 0


def show(what: str, value: float, bar: float | None = None, *, most: bool = False) -> None:
    """Print a figure, beside its bar if it has one."""
    global missed
    if bar is None:
        print(f"{what:66} {value:9.4f}", flush=True)
        return
    good = value <= bar if most else value >= bar
    missed += not good
    sign, verdict = "at most" if most else "at least", "PASS" if good else "FAIL"
    print(f"{what:66} {value:9.4f}   {sign} {bar:.4f}  {verdict}", flush=True)


def spend(fit: Callable[[], object]) -> float:
    """The processor seconds that something takes."""
    start = time.process_time()
    fit()
    return time.process_time() - start


def boosting(train: Any, schema: dp.Schema) -> None:
    """A search that tries each setting once, on rows that anyone may see, and one that is private.

    The first makes a known number of fits. The second makes twice as many on average, but nobody may know how
    many: here they are counted.
    """
    settings = [{"rounds": r, "cells": c} for r in BOOSTED["rounds"] for c in BOOSTED["cells"]]
    for told, given in (
        ("public rows", {"epsilon": math.inf, "unit": dp.PUBLIC}),
        ("private rows", {"epsilon": EPSILON}),
    ):
        options: dict[str, Any] = {**given, "schema": schema}
        alone = [
            spend(
                lambda: AdditiveBoostingClassifier(**options, **setting).fit(  # noqa: B023
                    train, target="income"
                )
            )
            for setting in settings
        ]
        made = 0
        search = PrivateSearch(AdditiveBoostingClassifier(), BOOSTED, **options)
        carry_out = AdditiveBoostingClassifier._carry_out

        def count(model: Any, plan: Any, source: Any, one: Any = carry_out) -> Any:
            nonlocal made
            made += 1
            return one(model, plan, source)

        with mock.patch.object(AdditiveBoostingClassifier, "_carry_out", count):
            took = spend(lambda: search.fit(train, target="income"))  # noqa: B023
        fits = made * float(np.mean(alone))
        show(f"boosting, {told}: {made} fits alone, seconds", fits)
        show("    the search, seconds", took)
        show("    the search over its fits alone", took / fits, LONGER, most=True)


def main() -> int:
    """The number of bars missed."""
    global missed
    missed = 0
    if not has_tables("Adult", "adult_train.csv.gz", "adult_test.csv.gz"):
        return 0
    train, test, whole = adult()
    names = [*ADULT, "income"]
    schema = dp.Schema({name: whole.base[name] for name in names})
    budget: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "schema": schema}

    def score(model: Any) -> float:
        model.fit(train[names], target="income")
        return float(model.score(test[names[:-1]], test["income"]))

    settings = [{"alpha": a, "norm": n} for a in GRID["alpha"] for n in GRID["norm"]]
    alone = [
        np.mean([score(LogisticRegression(**budget, **s)) for _ in range(FITS)]) for s in settings
    ]
    best = int(np.argmax(alone))
    default = float(np.mean([score(LogisticRegression(**budget)) for _ in range(FITS)]))
    show("the commonest class", float((test["income"] == "<=50K").mean()))
    show("default parameters", default)
    show("the worst setting", float(np.min(alone)))
    show("a setting drawn at random", float(np.mean(alone)))
    show(f"the oracle: {settings[best]}", float(alone[best]))
    for validation in (None, 0.2):
        found, times = [], []
        for _ in range(SEARCHES):
            search = PrivateSearch(LogisticRegression(), GRID, validation=validation, **budget)
            start = time.perf_counter()
            found.append(score(search))
            times.append(time.perf_counter() - start)
        show(f"search, validation={validation}", float(np.mean(found)), float(alone[best]) - BEHIND)
        show("    above a setting drawn at random", float(np.mean(found) - np.mean(alone)), 0.0)
        show("    its least", float(np.min(found)))
        show("    seconds", float(np.mean(times)))
        parts = search.budget_
        print(f"    a run: {parts.fit!r} for the fit, {parts.score!r} for the score")
        print(f"    one run alone {parts.one_run!r}, each setting once {parts.every_setting!r}")
    boosting(train, whole)
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
