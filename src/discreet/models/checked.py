"""A fit that first checks, with a part of its budget, whether the table matches what was declared."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.checking import check_along, list_checked
from discreet.events import Compose
from discreet.measures import ApproxDP, Measure
from discreet.models.facts import describe_fit
from discreet.models.inputs import Opened

if TYPE_CHECKING:
    from discreet.models.base import PrivateEstimator

__all__ = ["fit_checked"]

Estimator = TypeVar("Estimator", bound="PrivateEstimator")


def fit_checked(model: Estimator, source: Opened, check: bool | float) -> Estimator:
    """Fit with what a check of features and target leaves of the budget; both are one charge.

    Privacy
    -------
    The plan is that of the same model with the smaller ε. Its event and the check's are composed and
    charged before a row is read. Proof page: ``docs/proofs/check.md``.
    """
    facts = source.facts
    used = (*facts.features, *(() if facts.target is None else (facts.target,)))
    names = list_checked(facts.schema, used)
    asked, mine, rest, first = check_along(source.data, names, model._measure(), check)
    smaller: Any = copy(model)
    smaller.epsilon = rest.epsilon  # type: ignore[attr-defined]
    plan = smaller._plan(facts, None)
    event = Compose(first, plan.event)
    whole = _add(mine, plan.measure)
    note = f"{describe_fit(model, facts)}, with a check of them"
    with source.data.prepaid(event, whole, note=note) as door:
        report = door.check(mine, *asked.names)
        model._carry_out(plan, replace(source, data=door))
    model.checked_ = report
    paid = model.privacy_
    claims = (*paid.claims, "checked-table")
    model._set_privacy(replace(paid, event=event, measure=whole, claims=claims))
    for text in report.warnings:
        warnings.warn(f"check: {text}", UserWarning, stacklevel=3)
    return model


def _add(check: Any, fit: Any) -> Measure:
    """What check and fit cost together, by basic composition."""
    if isinstance(fit, ApproxDP):
        return ApproxDP(check.epsilon + fit.epsilon, fit.delta)
    total: Measure = check + fit
    return total
