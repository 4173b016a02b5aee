"""The first and the last section of a report: what all of it guarantees, and what nothing of it covers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

from discreet.answers import Answers, Description
from discreet.check_report import CheckReport
from discreet.events import Assumed, Event, walk
from discreet.ledger import NOT_DATA, Entry
from discreet.ledger.statement import Statement
from discreet.measures import Measure
from discreet.models.metrics import Score
from discreet.release import Release
from discreet.report.blocks import Block, Bullets, Facts, Section, Words
from discreet.report.books import state_guarantee
from discreet.report.guarantee import explain_guarantee, is_finite, name_measure
from discreet.report.learned import find_certificate
from discreet.sql import SqlTable
from discreet.tradeoff import Curve, Fairness
from discreet.unit import Unit

__all__ = ["Payment", "describe_limits", "list_payments", "summarise"]

_PLURALS = {"look at fairness": "looks at fairness"}
#: How many different guarantees are explained one by one, where no ledger adds them up.
MAX_EXPLAINED = 3


@final
@dataclass(frozen=True)
class Payment:
    """What was paid for an item, and for whom; several charges have no one measure here."""

    what: str
    measure: Measure | None
    unit: Unit | None
    entry: Entry | None
    is_private: bool
    is_made_up: bool
    event: Event | None = None


def list_payments(items: list[Any]) -> list[Payment]:
    """What was paid for each item that was released."""
    return [payment for item in items for payment in _iter_payments(item)]


def _iter_payments(item: Any) -> Iterator[Payment]:
    if isinstance(item, Release):
        yield _pay("answer", item, item.unit, item.is_made_up)
    elif isinstance(item, Answers | Description | SqlTable):
        answers = item.answers if isinstance(item, Description) else item
        releases = answers.releases if isinstance(answers, SqlTable) else list(answers.values())
        for at, release in enumerate(releases):
            found = _pay("answer", release, release.unit, release.is_made_up)
            if at == 0:
                yield Payment(**{**vars(found), "measure": item.measure})
    elif isinstance(item, CheckReport):
        yield _pay("check", item, None, item.is_made_up)
    elif isinstance(item, Score):
        yield _pay("score", item, None, False)
    elif isinstance(item, Curve | Fairness):
        what = "curve" if isinstance(item, Curve) else "look at fairness"
        yield Payment(what, None, None, None, not item.is_public, False)
    elif (paid := find_certificate(item)) is not None:
        is_made_up = paid.entry is not None and NOT_DATA in paid.entry.note
        yield _pay("model", paid, paid.unit, is_made_up)


def _pay(what: str, item: Any, unit: Unit | None, is_made_up: bool) -> Payment:
    return Payment(what, item.measure, unit, item.entry, item.is_private, is_made_up, item.event)


def summarise(payments: list[Payment], statement: Statement | None) -> Section:
    """What was released, what it guarantees, and what that means for a person."""
    private = [payment for payment in payments if payment.is_private and not payment.is_made_up]
    blocks: list[Block] = []
    if any(payment.is_made_up for payment in payments):
        blocks.append(Words(f"{NOT_DATA}: some of this is a rehearsal with made-up rows.", "alarm"))
    if any(not payment.is_private and not payment.is_made_up for payment in payments):
        told = "Some of this is" if private else "This is"
        blocks.append(
            Words(
                f"{told} NOT PRIVATE: from rows declared public, or with noise from a fixed seed.",
                "alarm",
            )
        )
    facts = [("released", _count(payments))]
    if statement is not None:
        unit = statement.terms.unit
        facts.append(("guarantee", state_guarantee(statement)))
        facts.append(("protected", str(unit)))
        facts.append(("budget used", f"{statement.used:.1%} so far; the guarantee is the limit"))
        blocks.append(Facts(tuple(facts)))
        blocks += explain_guarantee(statement.limit, unit) if is_finite(statement.limit) else []
    else:
        blocks.append(Facts(tuple(facts)))
        blocks += _explain_alone(private)
    return Section("What this means", tuple(blocks))


def _count(payments: list[Payment]) -> str:
    """How many of each kind, in words."""
    if not payments:
        return "nothing"
    counts: dict[str, int] = {}
    for payment in payments:
        counts[payment.what] = counts.get(payment.what, 0) + 1
    return ", ".join(
        f"{number} {what if number == 1 else _PLURALS.get(what, what + 's')}"
        for what, number in counts.items()
    )


def _explain_alone(private: list[Payment]) -> list[Block]:
    """Guarantees of items whose sum nobody keeps here."""
    if not private:
        return []
    pairs = list(dict.fromkeys((payment.measure, payment.unit) for payment in private))
    blocks: list[Block] = []
    if len(private) > 1 or pairs[0][0] is None:
        blocks.append(
            Words(
                "No ledger was given, so this report can't say what all of it guarantees together: about the "
                "same people, what single items cost adds up. Give ledger= to show one guarantee for all.",
                "notice",
            )
        )
    for measure, unit in pairs[:MAX_EXPLAINED]:
        if measure is None or not is_finite(measure):
            continue
        blocks.append(Words(f"{name_measure(measure)}, for each item alone that was paid with it:"))
        blocks += explain_guarantee(measure, unit)
    return blocks


def describe_limits(payments: list[Payment], statement: Statement | None) -> Section:
    """What no guarantee of this report covers."""
    items = [
        "What was learned about these people elsewhere, or before: other tables, other ledgers, "
        "publications. Costs add up across all of them.",
        "Facts about the population. If smoking is found to cause cancer, that concerns a smoker who never "
        "took part just as much; it isn't what is protected.",
        "People whose data is in somebody else's rows: relatives, a household, a contact. A unit is "
        "protected as it was declared, and no wider.",
        "Whether the declarations are honest: bounds, categories and limits that somebody read off the "
        "private rows leak, whatever is charged afterwards.",
        "How good the answers are for a decision. Intervals speak of noise; sampling, missing people and "
        "wrong data are another matter.",
        "Whoever can see the rows, the memory of the computer, or how long a run took.",
    ]
    if statement is None and payments:
        items.insert(0, "The sum of what is shown here: no ledger was given with this report.")
    premises = dict.fromkeys(
        part.why
        for payment in payments
        if payment.event is not None
        for part in walk(payment.event)
        if isinstance(part, Assumed)
    )
    items += [f"Assumed, not proved: {why}" for why in premises]
    if statement is not None:
        known = {entry.hash for entry in statement.entries}
        others = [
            payment
            for payment in payments
            if payment.entry is not None and payment.entry.hash not in known
        ]
        if others:
            items.insert(
                0,
                f"{_count(others)} shown here and charged to another ledger than the one of this report: the "
                "guarantee above says nothing about it.",
            )
    return Section("What is not covered", (Bullets(tuple(items)),))
