"""A guest of StatDP's kind: a search of events, and a hypothesis test of the best one on fresh runs.

After Ding, Wang, Wang, Zhang & Kifer 2018: neighbouring inputs and events are searched for the smallest
p-value, and the claim is rejected by Fisher's exact test on thinned counts. Written from the paper's
description. Events are half-lines of single numbers, single values, and boxes: half-lines of several numbers
at once, added greedily; half-lines of summaries; whole outputs where there are few different ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from outcomes import Bools, Counted, rejected_up_to
from readings import Floats, joint_codes
from sniper import Features, distances

#: Numbers looked at, quantiles tried for each, and half-lines in a box, at most.
MAX_COLUMNS, QUANTILES, MAX_SIDES = 24, 24, 12
#: Runs on each side that events are searched in, at most; all runs to learn from tell what they reject.
MAX_TO_SEARCH = 20_000
#: The ε, as shares of the claimed one, at which events are searched for.
EPSILONS = (0.5, 0.8, 1.0, 1.5)


@dataclass(frozen=True)
class Side:
    """The outputs with a number above, below or at a value."""

    column: int
    kind: str
    value: float

    def holds(self, rows: Floats) -> Bools:
        cells = rows[:, self.column]
        if self.kind == "at":
            return cells == self.value
        return cells >= self.value if self.kind == "above" else cells <= self.value


@dataclass(frozen=True)
class Box:
    """The outputs for which all of these hold."""

    sides: tuple[Side, ...]

    def holds(self, rows: Floats) -> Bools:
        held = np.ones(len(rows), np.bool_)
        for side in self.sides:
            held &= side.holds(rows)
        return held


@dataclass(frozen=True)
class OneOf:
    """The outputs that are one of these."""

    rows: Floats

    def holds(self, rows: Floats) -> Bools:
        return (rows[:, None, :] == self.rows[None, :, :]).all(axis=2).any(axis=1)


Event = Box | OneOf


class Summaries:
    """Two numbers for all numbers of an output: how far it leans to one input, added up over columns.

    For outputs of several numbers StatDP looks at summaries, too, such as their sum. These weigh each number
    by how much the two inputs differ in it: folded, as fits Laplace noise, and plain, as fits the normal.
    """

    def __init__(self, first: Floats, second: Floats) -> None:
        self.features = Features(first, second)

    def __call__(self, rows: Floats) -> Floats:
        z, folded = self.features.leaning(rows)
        plain = z @ (self.features.middles[0] - self.features.middles[1])
        return np.column_stack([rows, folded.sum(axis=1), plain])


def sides(first: Floats, second: Floats) -> Iterator[Side]:
    """Half-lines at quantiles and single common values, of the numbers that differ most."""
    for column in np.argsort(-distances(first, second), kind="stable")[:MAX_COLUMNS].tolist():
        both = np.concatenate([first[:, column], second[:, column]])
        values, counts = np.unique(both, return_counts=True)
        if len(values) == 1:
            continue
        for value in values[counts > 0.02 * len(both)][:8].tolist():
            yield Side(column, "at", value)
        shares = np.linspace(0.02, 0.98, QUANTILES)
        for value in np.unique(np.quantile(both, shares, method="nearest")).tolist():
            yield Side(column, "above", value)
            yield Side(column, "below", value)


def evidence(hits: Floats, others: Floats, runs: int, epsilon: float, delta: float) -> Floats:
    """How many standard errors e^-ε·(p - δ) is above q: what the test will find, nearly."""
    shrink = math.exp(-epsilon)
    p, q = hits / runs, (others + 0.5) / (runs + 1)
    noise = np.sqrt((p * shrink * (1 - p * shrink) + q * (1 - q) + 1e-12) / runs)
    return (shrink * (p - delta) - q) / noise


def search(
    first: Floats, second: Floats, epsilon: float, delta: float
) -> tuple[Event, float] | None:
    """The event that is likeliest on the first input, compared with the second, at this claim."""
    runs = len(first)
    candidates: list[tuple[Event, float]] = []
    if joint_codes(first, second):
        candidates += _wholes(first, second, epsilon, delta)
    tried = list(sides(first, second))
    if tried:
        here = np.stack([side.holds(first) for side in tried])
        there = np.stack([side.holds(second) for side in tried])
        candidates.append(_grow(tried, here, there, runs, epsilon, delta))
    return max(candidates, key=lambda found: found[1], default=None)


def _grow(
    tried: list[Side], here: Bools, there: Bools, runs: int, epsilon: float, delta: float
) -> tuple[Event, float]:
    """Add to a box the half-line that helps most, as long as one does."""
    chosen: list[Side] = []
    most = -math.inf
    for _ in range(MAX_SIDES):
        hits, others = here.sum(axis=1, dtype=np.float64), there.sum(axis=1, dtype=np.float64)
        # many events are tried: what is left must be enough to be more than luck
        values = np.where(hits >= 12, evidence(hits, others, runs, epsilon, delta), -math.inf)
        place = int(np.argmax(values))
        if values[place] <= most + 0.05:
            break
        most = float(values[place])
        chosen.append(tried[place])
        here, there = here & here[place], there & there[place]
    return Box(tuple(chosen)), most


def _wholes(
    first: Floats, second: Floats, epsilon: float, delta: float
) -> list[tuple[Event, float]]:
    """Sets of whole outputs, in the order of how much likelier they are on the first input."""
    values = np.unique(np.concatenate([first, second]), axis=0)
    counts = [
        np.array([(side == value).all(axis=1).sum() for value in values], np.float64)
        for side in (first, second)
    ]
    order = np.argsort(-(counts[0] + 0.5) / (counts[1] + 0.5), kind="stable")
    hits, others = (np.cumsum(count[order]) for count in counts)
    worth = evidence(hits, others, len(first), epsilon, delta)
    place = int(np.argmax(worth))
    return [(OneOf(values[order[: place + 1]]), float(worth[place]))]


def find_floor(
    train: tuple[Floats, Floats],
    test: tuple[Floats, Floats],
    epsilon: float,
    delta: float,
    risk: float,
) -> float:
    """The largest ε at δ that the test rejects, for the event that rejects most in the runs to learn from."""
    summarise = Summaries(*(side[: len(side) // 2] for side in train))
    train, test = (tuple(map(summarise, sides)) for sides in (train, test))  # type: ignore[assignment]
    best, most, swapped = None, 0.0, False
    for swap in (False, True):
        here, there = train[::-1] if swap else train
        for share in EPSILONS:
            few = here[:MAX_TO_SEARCH], there[:MAX_TO_SEARCH]
            found = search(*few, share * epsilon, delta)
            # the best of many is a lucky one: judged more strictly than the test will
            value = 0.0 if found is None else _rejected(found[0], here, there, delta, risk / 100)
            if found is not None and (best is None or value > most):
                best, most, swapped = found[0], value, swap
    if best is None:
        return 0.0
    return _rejected(best, *(test[::-1] if swapped else test), delta, risk)


def _rejected(event: Event, here: Floats, there: Floats, delta: float, risk: float) -> float:
    counted = Counted(int(event.holds(here).sum()), int(event.holds(there).sum()), len(here))
    return rejected_up_to(counted, delta, risk, np.random.default_rng(0))
