"""Sections of a report about models and about attempts to break a guarantee."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.audit.membership import MembershipReport
from discreet.audit.one_run import OneRunAudit
from discreet.audit.results import AuditResult
from discreet.ledger.statement import describe
from discreet.measures import Measure
from discreet.measures.meaning import trade_off
from discreet.models.metrics import Score
from discreet.models.privacy import COVERED, FitPrivacy
from discreet.report.answers import describe_entry, mark_words
from discreet.report.blocks import Block, Chart, Facts, Grid, Section, Series, Words
from discreet.report.guarantee import name_measure
from discreet.show import Table

__all__ = [
    "describe_audits",
    "describe_fit",
    "describe_membership",
    "describe_score",
    "find_certificate",
]

#: How many points of a ROC curve are drawn.
MAX_POINTS = 200


def find_certificate(item: Any) -> FitPrivacy | None:
    """The certificate of a fitted model, or the item itself if it is one."""
    found = item if isinstance(item, FitPrivacy) else getattr(item, "privacy_", None)
    return found if isinstance(found, FitPrivacy) else None


def describe_fit(item: Any, title: str, hashes: frozenset[str] | None) -> Section:
    """The section of a fitted model: what was paid for it, and what that covers."""
    paid = find_certificate(item)
    assert paid is not None
    name = "A fitted model" if isinstance(item, FitPrivacy) else type(item).__name__
    facts = [
        ("guarantee", name_measure(paid.measure) if paid.is_private else "none"),
        ("protected", str(paid.unit)),
        *describe_entry(paid.entry, hashes),
        ("claims", ", ".join(paid.claims) or "none"),
        ("how", _cut(describe(paid.event))),
    ]
    blocks: list[Block] = mark_words("" if paid.is_private else "NOT PRIVATE")
    blocks += [Facts(tuple(facts)), Words(f"This {COVERED}")]
    assumed = [line for line in paid.certificate.split("\n") if line.startswith("assumed")]
    blocks += [Words(line, "notice") for line in assumed]
    if paid.note:
        blocks.append(Words(f"Note: {paid.note}."))
    return Section(title or name, tuple(blocks))


def describe_score(item: Score, title: str, hashes: frozenset[str] | None) -> Section:
    """The section of a noised metric of a model."""
    table = item.to_table()
    facts = (("paid", name_measure(item.measure)), *describe_entry(item.entry, hashes))
    marks = mark_words("" if item.is_private else "NOT PRIVATE")
    grid = Grid(Table(table.columns, table.rows, "", table.note))
    return Section(title or f"How good it is: {item.metric!r}", (*marks, Facts(facts), grid))


def _cut(text: str) -> str:
    return text if len(text) <= 300 else text[:297] + "..."


def describe_membership(item: MembershipReport, claim: Measure | None, title: str) -> Section:
    """The section of a membership attack: its ROC curve against the bound of a claim."""
    false, true = item.roc
    picked = np.unique(np.linspace(0, len(false) - 1, min(len(false), MAX_POINTS)).astype(int))
    reads = [(rate, item.tpr_at(rate)) for rate in (0.001, 0.01, 0.1)]
    rows: list[tuple[Any, ...]] = [
        (rate, found.value, *found.interval, _bound(claim, rate)) for rate, found in reads
    ]
    table = Table(
        ("false positives", "true positives", "lower", "upper", "bound"),
        rows,
        "",
        f"Intervals: Clopper and Pearson, {item.confidence:g}, as if records were independent.",
    )
    points = tuple(false[picked].tolist()), tuple(true[picked].tolist())
    series = [Series(item.attack, *points, has_marks=False)]
    if claim is not None:
        at = np.concatenate([[0.0, 1e-4, 1e-3, 0.005], np.linspace(0.01, 1.0, 100)])
        limit = tuple((1 - trade_off(claim, at)).tolist())
        series.append(
            Series(
                f"the bound of {name_measure(claim)}", tuple(at.tolist()), limit, is_reference=True
            )
        )
    series.append(Series("blind guessing", (0.0, 1.0), (0.0, 1.0), is_reference=True))
    models, records = item.included.shape
    facts = [
        ("attack", f"{item.attack} on {models} model(s), {records} records each"),
        ("area under the curve", f"{item.auc:.3f} (0.5 is blind)"),
        ("advantage", f"{item.advantage:.3f}"),
        (
            "floor on ε",
            f"{item.epsilon:.3g} at δ = {item.delta:g}, with confidence {item.confidence:g}, for the "
            "training algorithm on halves of this data set",
        ),
    ]
    described = (
        f"True against false positives of {item.attack}: area {item.auc:.3f}, where 0.5 is blind."
    )
    blocks: list[Block] = []
    if claim is not None:
        is_refuted = item.audit.refutes(claim)
        facts.append(
            ("claim", f"{name_measure(claim)}: {'REFUTED' if is_refuted else 'not refuted'}")
        )
        if is_refuted:
            blocks.append(Words(f"The attack refutes the claim {name_measure(claim)}.", "alarm"))
    chart = Chart(
        "lines",
        "Membership inference: true against false positives",
        described,
        table,
        tuple(series),
        "false positives",
        "true positives",
        x_limits=(0.0, 1.0),
        y_limits=(0.0, 1.0),
    )
    last = Words("An attack that fails proves nothing: a better one may not.")
    return Section(title or item.attack, (*blocks, Facts(tuple(facts)), chart, last))


def _bound(claim: Measure | None, rate: float) -> float | None:
    return None if claim is None else float(1 - trade_off(claim, rate))


def describe_audits(items: list[tuple[str, AuditResult | OneRunAudit]]) -> tuple[Block, ...]:
    """What audits found, as one table; a violation is told first."""
    rows, alarms = [], []
    for title, item in items:
        if isinstance(item, OneRunAudit):
            told = f"ε >= {item.epsilon:.3g} at δ = {item.delta:g}"
            best = item.best
            seen = f"{best.correct} of {best.guesses} guesses right"
            rows.append((title or "one run", "", told, "a floor", item.confidence, seen))
            continue
        claim = item.claim if isinstance(item.claim, str) else name_measure(item.claim)
        rows.append(
            (
                title or item.title,
                claim,
                f"{item.floor:.4g}",
                item.verdict,
                item.confidence,
                item.event,
            )
        )
        if item.is_violated:
            alarms.append(Words(f"{title or item.title}: the claim is violated.", "alarm"))
    columns = ("audited", "claim", "floor", "verdict", "confidence", "what tells inputs apart")
    words = Words("“Consistent” proves nothing; “violated” holds with the stated confidence.")
    return (*alarms, words, Grid(Table(columns, rows, "Audits")))
