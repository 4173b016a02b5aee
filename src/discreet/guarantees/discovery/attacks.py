"""Attacks on keys and bounds that nobody declared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from discreet.accounting.thresholds import threshold_delta
from discreet.audit.exact import exact, statement
from discreet.audit.pairs import through_the_door
from discreet.audit.probes import sensitivity_exceeded
from discreet.audit.registry import Case, Part, attack
from discreet.columns import Text
from discreet.dataset import PrivateDataset
from discreet.engines import open_engine
from discreet.events import KeyThreshold, Repeat
from discreet.guarantees.discovery.attacks_bounds import at_the_threshold
from discreet.guarantees.fits import exact_losses
from discreet.guarantees.queries.attacks import UNITS, Floats, Integers, told_apart
from discreet.ledger import Ledger
from discreet.measures import ApproxDP, PureDP
from discreet.mechanisms import Laplace
from discreet.queries import Bounds, KeyCounts
from discreet.schema import Real, Schema
from discreet.unit import ADD_REMOVE, REPLACE_ONE, Unit

TEXTS = Schema(town=Text())


def key_distribution(scale: float, threshold: int, count: int) -> Floats:
    """The distribution of what is said about one key: nothing, or a noisy count from the threshold on.

    A key that nobody has is never released. Counts far above the threshold are left out.
    """
    told = np.arange(threshold, threshold + math.ceil(12 * scale) + 10)
    if count == 0:
        return np.array([1.0, *np.zeros(len(told))])
    mass = np.exp(-abs(told - count) / scale) * math.tanh(1 / (2 * scale))
    q = math.exp(-1 / scale)
    distance = threshold - count
    reach = q**distance / (1 + q) if distance > 0 else 1 - q ** (1 - distance) / (1 + q)
    return np.array([1 - reach, *mass])


def _towns(people: Sequence[Sequence[str]]) -> dict[str, Any]:
    rows = [(str(who), town) for who, towns in enumerate(people) for town in towns]
    return {
        "who": np.array([who for who, _ in rows], object),
        "town": np.array([town for _, town in rows], object),
    }


@attack("discovered-keys")
def discovered_keys() -> Iterator[Part]:
    """Neighbours by what they change: rows of the person in keys that are common, or nobody else's."""
    for unit, groups in ((UNITS[0], 1), (UNITS[1], 1), (Unit(ADD_REMOVE, "who", 3), 2)):
        query = KeyCounts("town", delta="1/50", max_groups=groups)
        ledger = Ledger(limit=PureDP(1), unit=unit)
        event = PrivateDataset(_towns([]), TEXTS, ledger=ledger).plan(query, PureDP(1)).event
        assert isinstance(event, KeyThreshold)
        rows, near = unit.rows_per_person, event.threshold + 1
        # the δ of this threshold, which is a little less than what was asked for
        delta = threshold_delta(event.scale, event.threshold, rows, groups)
        yield statement(
            f"the threshold {event.threshold}, {unit}",
            "keeps the δ that was asked for",
            delta <= Fraction(1, 50),
            f"its δ is {float(delta):.4g} of 0.02",
        )
        pairs = {
            "rows in a common key": ((near, 0, 0), (near + rows, 0, 0)),
            "rows in own keys": ((near, 0, 0), (near, rows - groups + 1, groups - 1)),
            "rows in both": ((near, 0, 0), (near + rows - 1, 1, 0)),
        }
        if unit.relation is REPLACE_ONE:
            pairs = {
                "another own key": ((near, 1, 0), (near, 0, 1)),
                "a common for an own key": ((near, 1, 0), (near + 1, 0, 0)),
            }
        for what, pair in pairs.items():
            p, q = (
                reduce(np.multiply.outer, [_key(event, count) for count in counts]).ravel()
                for counts in pair
            )
            yield exact(p, q, ApproxDP(1, delta), title=f"{what}, {unit}: its distribution")
    asked = KeyCounts("town", delta="1/50")
    tables = (_towns([["here"]] * 6), _towns([["here"]] * 6 + [["nowhere"]]))
    words = "what tells them apart has a probability below δ, as it should; its distribution stands above"
    claim = ApproxDP(1, "1/50")
    yield Case("through the door", _keys_told(asked), tables, claim, 1_500, reason=words)
    tables = (_towns([["here"]] * 12), _towns([["here"]] * 13))
    options = {"reuse": False}
    yield Case("a common key, drawn", _keys_told(asked), tables, claim, 2_500, options)


def _key(event: KeyThreshold, count: int) -> Floats:
    return key_distribution(float(event.scale), event.threshold, count)


def _keys_told(query: KeyCounts) -> Callable[..., list[Any]]:
    """Keys with their counts, through the door: which keys come out is what matters.

    A ledger holds only 49 such answers, since each has a δ of 1/50.
    """
    limit = ApproxDP(49, "49/50")

    def run(rows: Any, trials: int) -> list[Any]:
        told: list[Any] = []
        while len(told) < trials:
            data = PrivateDataset(rows, TEXTS, ledger=Ledger(limit=limit))
            event = data.plan(query, PureDP(1)).event
            count = min(49, trials - len(told))
            with data.prepaid(Repeat(event, count), limit) as door:
                told += [door.release(query, PureDP(1)).to_dict() for _ in range(count)]
        return told

    return run


OPEN = Schema(u=Real())


@attack("private-bounds")
def private_bounds() -> Iterator[Part]:
    query = Bounds("u")
    cells = (1000.0, -7.0, 0.0, 1e-300, 5e300, math.inf, math.nan)
    for unit in UNITS:
        bound, coded = query.sensitivity(OPEN, unit), query.coded(OPEN, unit)

        def totals(person: Sequence[float], unit: Unit = unit, coded: Any = coded) -> Integers:
            rows = {
                "u": np.array([1.0, 5.0, *person]),
                "who": np.array(["0", "1", *["the one"] * len(person)], object),
            }
            return open_engine(rows, OPEN, unit).totals(coded).ravel()

        many = unit.rows_per_person
        found = [totals([cell] * many) for cell in cells]
        pairs = [(totals([]), one) for one in found]
        if unit.relation is REPLACE_ONE:
            pairs = list(combinations(found, 2))
        yield sensitivity_exceeded(lambda v: v, pairs, bound.l1, title=f"its counts, {unit}")
        here, there = max(pairs, key=lambda pair: int(np.abs(pair[0] - pair[1]).sum()))
        noise = Laplace(1).distribution(bound)
        run, losses = told_apart(noise, here, there), exact_losses(noise, here, there)
        yield Case(f"Laplace noise, {unit}", run, (here, there), 1.0, 60_000, losses=losses)
    # as many rows as may still be noise, and one more: that one decides whether they count
    noise = Laplace(2).distribution(query.sensitivity(OPEN, UNITS[0]))
    groups = query.coded(OPEN, UNITS[0]).groups
    hidden = int(noise.half_width(1 - Bounds.RISK / groups))
    few, more = ({"u": np.array([5.0] * 80 + [1000.0] * n)} for n in (hidden, hidden + 1))
    door = through_the_door(query, PureDP(2), OPEN, UNITS[0])
    yield Case("through the door", door, (few, more), 2.0, 1_000)
    yield from at_the_threshold()
