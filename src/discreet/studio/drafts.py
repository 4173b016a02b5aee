"""Drafts: what is about to be asked, as it was last typed, and the order that comes of it."""

from __future__ import annotations

import threading
from typing import Any

from discreet.measures import ApproxDP, PureDP
from discreet.rational import readable
from discreet.studio.desk import Desk
from discreet.studio.made_orders import ModelOrder, TableOrder
from discreet.studio.orders import CheckOrder, DescribeOrder, Order, QuestionsOrder, SelectOrder
from discreet.studio.visits import Form, NotFound, read_measure

__all__ = ["KINDS", "build_order", "find_draft", "find_order"]

#: How many orders are kept with their plans.
MAX_KNOWN = 8
_known: dict[tuple[str, str, int | None], Order] = {}
_lock = threading.Lock()
#: What can be released, by the name in addresses.
KINDS = ("questions", "select", "model", "table", "check", "describe")
DEFAULTS: dict[str, dict[str, str]] = {
    "questions": {"epsilon": "0.5", "delta": ""},
    "select": {"epsilon": "0.5", "delta": "", "text": ""},
    "model": {"epsilon": "0.5", "delta": "", "name": "", "target": "", "settings": ""},
    "table": {"epsilon": "0.5", "delta": "", "name": "", "target": "", "settings": ""},
    "check": {"epsilon": "0.1", "delta": ""},
    "describe": {"epsilon": "0.5", "delta": ""},
}


def find_draft(desk: Desk, kind: str) -> dict[str, str]:
    """A draft with every field, as text; the budget is at most what is left."""
    kept = desk.draft(kind)
    draft = {name: str(kept.get(name, value)) for name, value in DEFAULTS[kind].items()}
    if "epsilon" not in kept:
        draft["epsilon"] = _within(desk, draft["epsilon"])
    return draft


def _within(desk: Desk, epsilon: str) -> str:
    book = desk.book()
    left: Any = None if book is None else book.remaining()
    if isinstance(left, PureDP | ApproxDP) and 0 < left.epsilon < PureDP(epsilon).epsilon:
        return readable(left.epsilon)
    return epsilon


def build_order(desk: Desk, kind: str, form: Form) -> Order:
    """The order that fields describe, of the desk as it stands now."""
    measure = read_measure(form)
    order = _build(desk.freeze(), kind, measure, form)
    key = (kind, order.seal, order.rows)
    with _lock:  # the one that was planned before, if nothing changed since
        known = _known.pop(key, order)
        _known[key] = known
        while len(_known) > MAX_KNOWN:
            del _known[next(iter(_known))]
        return known


def _build(desk: Desk, kind: str, measure: PureDP | ApproxDP, form: Form) -> Order:
    match kind:
        case "questions":
            return QuestionsOrder(desk, measure)
        case "select":
            return SelectOrder(desk, measure, form.text("text"))
        case "model" | "table":
            build = ModelOrder if kind == "model" else TableOrder
            target = form.text("target") or None
            return build(desk, measure, form.text("name"), target, form.lines("settings"))
        case "check":
            return CheckOrder(desk, measure)
        case "describe":
            return DescribeOrder(desk, measure)
    raise NotFound


def find_order(desk: Desk, kind: str) -> Order:
    """The order of a draft as it stands."""
    if kind not in KINDS:
        raise NotFound
    return build_order(desk, kind, Form(list(find_draft(desk, kind).items())))
