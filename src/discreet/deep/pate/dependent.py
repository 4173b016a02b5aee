"""What answers about *these* votes cost: less than the price in general, and itself a secret.

The price that a ledger is charged holds whatever the votes are. Where teachers agree, nearly the same labels
come out for every neighbour, and less is lost. That smaller number depends on the votes, so it may be told
only where the votes are public.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from discreet import accounting, events
from discreet.deep.pate.aggregation import Aggregation, Floats, Integers
from discreet.measures import ORDERS, Renyi
from discreet.measures.convert import check_orders

__all__ = ["dependent_cost", "divergences", "neighbouring_counts"]

#: Probabilities below this are not told apart from 0; what such outcomes can cost is added.
_RAREST = 1e-280
#: The relative error of a probability that was summed in float64, generously.
_ERROR = 1e-9
#: Neighbours of a question that are looked at together.
_BLOCK = 128


def dependent_cost(
    aggregation: Aggregation, counts: npt.ArrayLike, *, orders: Iterable[float] = ORDERS
) -> Renyi:
    """The Rényi curve between what these votes release and what the votes of any neighbour release.

    Parameters
    ----------
    aggregation : Aggregation
    counts : array of integers by question and class
        The votes, which must be public.
    orders : iterable of float, optional

    Privacy
    -------
    **The result is not private**: it is a function of the votes, told without noise. It bounds D_α from
    these votes to those of every neighbour, in both directions, where one teacher's votes may change; it
    says nothing about two other neighbours. Proof page: ``docs/proofs/pate.md``.
    """
    votes = np.asarray(counts)
    if votes.ndim != 2 or votes.shape[1] < 2 or not np.issubdtype(votes.dtype, np.integer):
        raise ValueError("counts must be whole numbers, by question and class.")
    if votes.size and votes.min() < 0:
        raise ValueError("counts must be at least 0.")
    chosen = check_orders(orders)
    total = np.zeros(len(chosen))
    rows, times = np.unique(votes.astype(np.int64), axis=0, return_counts=True)
    for row, often in zip(rows, times.tolist(), strict=True):
        total += often * divergences(aggregation, row, chosen)
    return Renyi(dict(zip(chosen, (total * (1 + 1e-12)).tolist(), strict=True)))


def neighbouring_counts(row: Integers) -> Integers:
    """The counts of one question after one teacher has taken its vote to another class."""
    classes = len(row)
    moves = [(a, b) for a in range(classes) if row[a] for b in range(classes) if a != b]
    found = np.tile(row, (len(moves), 1))
    for at, (a, b) in enumerate(moves):
        found[at, a] -= 1
        found[at, b] += 1
    return found


def divergences(aggregation: Aggregation, row: Integers, orders: tuple[float, ...]) -> Floats:
    """The largest D_α, by order, between one question's counts and a neighbour's; at most the price."""
    general, double = _prices(aggregation.event(1), orders)
    here = aggregation.probabilities(row[None])
    others = neighbouring_counts(row)
    found = np.zeros(len(orders))
    for start in range(0, len(others), _BLOCK):
        there = aggregation.probabilities(others[start : start + _BLOCK])
        for first, second in ((here, there), (there, here)):
            pair = _Pair(*np.broadcast_arrays(first, second))
            for at, order in enumerate(orders):
                bound = math.inf
                if not math.isinf(order):
                    bound = pair.divergence(order, double[at])
                found[at] = max(found[at], min(bound, general[at]))
    return found


@lru_cache(maxsize=16)
def _prices(
    event: events.Event, orders: tuple[float, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The price of one question in general, at each order α and at 2α - 1."""
    beyond = [order if math.isinf(order) else 2 * order - 1 for order in orders]
    one = accounting.cost(event, Renyi, orders=orders).curve
    other = accounting.cost(event, Renyi, orders=beyond).curve
    return tuple(one[o] for o in orders), tuple(other[o] for o in beyond)


class _Pair:
    """Distributions of outcomes by neighbour, on both sides.

    The most likely outcome's probability is taken as 1 less all others, whose small ones have their digits.
    """

    def __init__(self, first: Floats, second: Floats) -> None:
        likely = first.argmax(axis=1)[:, None]
        others = np.arange(first.shape[1]) != likely
        self._missed = [np.where(others, side, 0.0).sum(axis=1) for side in (first, second)]
        self._seen = others & (first > _RAREST) & (second > _RAREST)
        with np.errstate(all="ignore"):
            self._first = np.log(np.where(self._seen, first, 1.0))
            self._loss = self._first - np.log(np.where(self._seen, second, 1.0))
        unseen = np.where(others & ~self._seen, first, 0.0).sum(axis=1)
        self._rare = np.log(unseen + _RAREST * first.shape[1])

    def divergence(self, order: float, double: float) -> float:
        """The largest D_α(P‖Q) over neighbours; `double` is the price at order 2α - 1.

        Outcomes S that are too rare for float64 add at most P(S)^(1/2)·e^((α-1)·D_(2α-1)), by Hölder.
        """
        missed, other = self._missed
        if (other >= 1).any():
            return math.inf
        likely = order * np.log1p(-missed) - (order - 1) * np.log1p(-other)
        terms = np.where(self._seen, self._first + (order - 1) * self._loss, -np.inf)
        largest = np.maximum(terms.max(axis=1), likely)
        rare = self._rare / 2 + (order - 1) * double
        with np.errstate(divide="ignore"):  # all others may be unseen
            unlikely = largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))
        total = np.logaddexp(np.logaddexp(likely, unlikely), rare)
        # to first order: a small probability moves its own term, and the likely one by what it takes
        moved = (2 * order - 1) * np.exp(unlikely - total)
        moved += order * missed / (1 - missed) + (order - 1) * other / (1 - other)
        return max(0.0, float((total + 1e-14 + _ERROR * moved).max())) / (order - 1)
