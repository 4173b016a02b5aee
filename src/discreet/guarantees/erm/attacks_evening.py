"""Attacks on evened features: their norm for turns that nobody would choose, the plan, and whole fits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from discreet import accounting
from discreet.audit.exact import statement
from discreet.audit.registry import Part
from discreet.columns import Real
from discreet.guarantees.fits import RELATIONS, ROW, SCHEMA, facts, fit_case
from discreet.measures import PureDP
from discreet.models.erm.evened import EvenedMap
from discreet.models.erm.features import ONE, FeatureMap
from discreet.models.erm.fourier import FourierMap, orthogonal_frequencies
from discreet.models.svm import SVR
from discreet.unit import Relation

#: One direction, no constant and a Λ at which nearly all of the step's ε is noise.
STEEP: dict[str, Any] = {"n_components": 1, "fit_intercept": False, "alpha": 500, "random_state": 0}
RARE = "the loss is largest at far minima, which are rare; the step's exact density stands above"
SIZES = (1e-3, 0.1, 1.0, 1e3, 1e300)


def norms(size: float, constant: bool) -> Part:
    """Check that no row is longer than claimed, and none depends on others, whatever turn and centre are."""
    draw = np.random.RandomState(7)
    inner = FeatureMap((Real(-1, 1), Real(-1, 1)), False, 4)
    waves = FourierMap(inner, orthogonal_frequencies(2, 9, 5.0, draw), False)
    width = waves.width + inner.width
    turn, centre = size * draw.normal(size=(width, width)), size * draw.normal(size=width)
    turn[0] = size  # all in one direction
    features = EvenedMap(waves, turn, centre, constant)
    codes = draw.randint(0, 2**20 + 1, (500, 2))
    found = features.block(codes)
    longest = float((found**2).sum(axis=1).max())
    alone = np.concatenate([features.block(row[None, :]) for row in codes])
    holds = longest <= features.radius**2 and np.array_equal(found, alone)
    title = f"turns of size {size:g}{', a constant' * constant}"
    words = f"squared norms are at most {longest:.9g} of {features.radius**2}, each row's its own"
    return statement(title, "a row's own features, as long as claimed at most", holds, words)


def plan(relation: Relation, delta: Any) -> Part:
    """Check that histograms and step cost no more together than what is charged for them."""
    model = SVR(epsilon=2, delta=delta, expected_rows=10**6)
    known = replace(facts(relation), features=("x",), target="y")
    made = model._plan(known, None)
    holds = accounting.satisfies(made.event, model._measure()) and len(made.queries) == 1
    title = f"the plan of evened features, {relation.value}, δ = {delta}"
    return statement(title, f"together at most {model._measure()!r}", holds, f"{made.event!r}")


def leaning(model: SVR) -> float:
    """How much nearer the weights are to where one row pulls them than to 0, by the turn that was told."""
    waves = FourierMap(FeatureMap((Real(0, 1),), False, 2), model.frequencies_, False)
    features = EvenedMap(waves, model.turn_, model.centre_, False).block(np.array([[2**20]]))
    pulled = features[0] / ONE / (2 * model.alpha_)
    return float((np.abs(model.coef_) - np.abs(model.coef_ - pulled)).sum() / np.abs(pulled).sum())


def evened_parts() -> Iterator[Part]:
    """All that is tried."""
    for size, constant in itertools.product(SIZES, (False, True)):
        yield norms(size, constant)
    for relation, delta in itertools.product(RELATIONS, (0, "1e-6")):
        yield plan(relation, delta)
    model = SVR(epsilon=2, expected_rows=10**6, **STEEP)
    part = fit_case(model, PureDP(2), SCHEMA, ROW, "y", trials=2000, work_out=leaning)
    yield replace(part, title="SVR of evened features, by its weights", reason=RARE)
