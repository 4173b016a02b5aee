"""Attacks on scaling: its answer, its plan, and what fits learn."""

from __future__ import annotations

from collections.abc import Iterator

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
from discreet.models.preprocessing import StandardScaler


@attack("standard-scaler")
def standard_scaler() -> Iterator[Part]:
    for relation in RELATIONS:
        model = StandardScaler(epsilon=2.0, schema=SCHEMA, unit=relation)
        yield whole_plan(model, relation)
        yield case("Laplace noise", model._query(facts(relation)), PureDP(2), relation)
    yield fit_case(StandardScaler(epsilon=5), PureDP(5), SCHEMA, ROW)
