"""Analysts who choose the next question by the answers so far, with every answer enumerated."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.events import External
from discreet.ledger.amounts import add_amounts
from discreet.ledger.filters import RenyiFilter
from discreet.measures import ApproxDP, Renyi

Floats = npt.NDArray[np.float64]
Distribution = tuple[float, float]

#: The limit of the two-step example, and the orders whose caps it is built for.
LIMIT = ApproxDP(Fraction(2), Fraction(1, 10**6))
ORDERS = (12.0, 64.0)


def two_points(t: float, loss: float) -> tuple[Distribution, Distribution]:
    """Two distributions on two points; the first point has probability t, and the log-ratio `loss`."""
    low = t * math.exp(-loss)
    return (t, 1 - t), (low, 1 - low)


#: The first question, and what is asked next by its answer (0 is the rare one).
FIRST = two_points(1e-4, 0.3)
SECOND = {0: two_points(0.635, 1.7155), 1: two_points(1.147e-5, 2.0905)}


def divergence(p: Distribution, q: Distribution, order: float) -> float:
    """D_α(P‖Q) of two distributions on two points."""
    logs = [order * math.log(a) + (1 - order) * math.log(b) for a, b in zip(p, q, strict=True)]
    return float(np.logaddexp.reduce(logs)) / (order - 1)


def declared(p: Distribution, q: Distribution, orders: Sequence[float] = ORDERS) -> External:
    """A question as an event with its exact curve, in the worse direction, rounded up."""
    curve = {
        order: max(divergence(p, q, order), divergence(q, p, order)) * (1 + 1e-12)
        for order in orders
    }
    return External(Renyi({**curve, math.inf: math.inf}), "a two-point query")


def accepts(filter_: RenyiFilter, answer: int) -> bool:
    """Whether a filter accepts both questions where the first answer is this."""
    caps = filter_.caps(LIMIT)
    first = filter_.price(declared(*FIRST), None)
    second = filter_.price(declared(*SECOND[answer]), None)
    return filter_.fits(first, caps) and filter_.fits(add_amounts(first, second), caps)


def transcript(
    branches: Collection[int], second: dict[int, tuple[Distribution, Distribution]] | None = None
) -> tuple[Floats, Floats]:
    """Both distributions of all answers; a second question is answered only on these branches."""
    asked = SECOND if second is None else second
    sides = []
    for side in (0, 1):
        distribution: list[float] = []
        for answer in (0, 1):
            first = FIRST[side][answer]
            distribution += (
                [first * b for b in asked[answer][side]] if answer in branches else [first]
            )
        sides.append(np.array(distribution))
    return sides[0], sides[1]


def responses(
    open_filter: Callable[[], Callable[[Fraction], bool]], choices: Sequence[Fraction], rounds: int
) -> tuple[Floats, Floats]:
    """Both distributions of the answers to adaptive randomised-response questions about one bit.

    The next ε depends on the answers so far, and a question that the filter refuses is not asked.
    `open_filter` gives a fresh one for each path, since a filter can't be rewound.
    """
    sides: tuple[list[float], list[float]] = ([], [])

    def walk(answers: tuple[int, ...], p: float, q: float) -> None:
        if len(answers) == rounds:
            sides[0].append(p)
            sides[1].append(q)
            return
        ask = open_filter()
        taken = False
        for turn in range(len(answers) + 1):  # repeat the path up to here, then ask the next one
            epsilon = choices[(sum(answers[:turn]) + turn) % len(choices)]
            taken = ask(epsilon)
        if not taken:
            walk((*answers, 0), p, q)
            return
        keep = 1 / (1 + math.exp(-float(epsilon)))
        walk((*answers, 0), p * keep, q * (1 - keep))
        walk((*answers, 1), p * (1 - keep), q * keep)

    walk((), 1.0, 1.0)
    return np.array(sides[0]), np.array(sides[1])
