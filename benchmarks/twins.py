"""Our own models without noise, so that the page can say what privacy costs.

Each is the estimator of a private line with the same columns, parameters and public facts, fitted to rows
that are declared public, for which `discreet` accepts an infinite ε. What such a line lacks against another
library's is the model's doing; what a private line lacks against its twin is that of privacy.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import ours
from contest import TWINS, Contestant
from real_tables import Split

import discreet as dp

#: Tasks whose lines have a twin.
TASKS = ("classes", "number")


def build(split: Split, one: Contestant, _epsilon: float, _delta: float, seed: int) -> Any:
    """The estimator for public rows."""
    return ours.build(split, one, math.inf, 0.0, seed).set_params(unit=dp.PUBLIC)


CONTESTANTS = tuple(
    replace(one, library=TWINS, build=build, deltas=())
    for one in ours.CONTESTANTS
    if one.task in TASKS
)
