"""Attacks on scaling and filling: an answer, the plan, and what fits learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from discreet.audit.registry import Part, attack
from discreet.guarantees.fits import (
    RELATIONS,
    ROW,
    SCHEMA,
    case,
    facts,
    fit_case,
    whole_plan,
)
from discreet.measures import PureDP
from discreet.models.preprocessing import MeanImputer, StandardScaler

#: Why little is seen of a mean in its fits.
RATIO = (
    "a mean is told, a ratio of two noised sums, and tells less than they do; their distribution is attacked "
    "beside"
)


@attack("standard-scaler")
def standard_scaler() -> Iterator[Part]:
    for relation in RELATIONS:
        model = StandardScaler(epsilon=2.0, schema=SCHEMA, unit=relation)
        yield whole_plan(model, relation)
        yield case("Laplace noise", model._query(facts(relation)), PureDP(2), relation)
    yield fit_case(StandardScaler(epsilon=5), PureDP(5), SCHEMA, ROW)


@attack("mean-imputer")
def mean_imputer() -> Iterator[Part]:
    for relation in RELATIONS:
        model = MeanImputer(epsilon=2.0, schema=SCHEMA, unit=relation)
        yield whole_plan(model, relation)
        first, _ = model._queries(facts(relation))
        yield case("a mean, Laplace noise", first, PureDP(1), relation)
    yield replace(fit_case(MeanImputer(epsilon=5), PureDP(5), SCHEMA, ROW), reason=RATIO)
