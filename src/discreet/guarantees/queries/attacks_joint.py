"""Attacks on quantiles that are drawn by splitting: their exact joint distribution on small tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.exact import exact, statement
from discreet.audit.pairs import through_the_door
from discreet.audit.registry import Case, Part, attack
from discreet.coding import VALUE_BITS
from discreet.engines import open_engine
from discreet.guarantees.queries.attacks import LONG, SCHEMA, SHARP, UNITS, quantile_pairs
from discreet.guarantees.selection.attacks import worst
from discreet.measures import ZCDP, Measure, PureDP
from discreet.queries import Quantile
from discreet.queries.cuts import Part as Rows
from discreet.queries.joint_quantiles import PreparedJointQuantiles
from discreet.unit import Unit

Floats = npt.NDArray[np.float64]
#: The q and the factor of every draw, by the quantiles around its part.
Draws = dict[tuple[int, int], tuple[int, Fraction, float]]


def joint_distribution(
    query: Quantile, measure: Measure, unit: Unit, pieces: int, rows: Any
) -> Floats:
    """The probabilities of all cuts together over all groups, on a grid of few positions."""
    prepared = query.prepare(measure, SCHEMA, unit, 3)
    assert isinstance(prepared, PreparedJointQuantiles)
    draws = list_draws(prepared)
    coded = query.coded(SCHEMA, unit)
    tally = open_engine(rows, SCHEMA, unit).tally(coded)
    last = (query.kind(SCHEMA).steps(VALUE_BITS) + 1) * pieces - 1
    found = np.ones(1)
    for group in range(coded.groups):
        here = tally.groups == group
        part = Rows(0, last + 1, tally.codes[here], tally.counts[here], pieces)
        cuts = distribution_of_cuts(part, draws, (-1, len(draws)), last)
        found = np.multiply.outer(found, cuts).ravel()
    return found


def list_draws(prepared: PreparedJointQuantiles) -> Draws:
    """Every draw that was planned, with the factor that its scores get."""
    epsilon = float(prepared.event.event.epsilon)  # type: ignore[attr-defined]
    return {
        (split.low, split.high): (split.at, split.q, epsilon / (2 * sensitivity))
        for level, sensitivities in zip(prepared.levels, prepared.sensitivities, strict=True)
        for split, sensitivity in zip(level, sensitivities, strict=True)
    }


def distribution_of_cuts(part: Rows, draws: Draws, around: tuple[int, int], last: int) -> Floats:
    """The joint probabilities of a cut and of all cuts in the two parts that it makes."""
    if around not in draws:
        return np.ones(1)
    (low, high), (at, q, factor) = around, draws[around]
    cuts = np.arange(part.start, min(part.stop, last) + 1)
    scores = part.scores(cuts, q)
    mass = np.exp(factor * (scores - scores.max()))
    sizes = [(last + 1) ** (at - low - 1), (last + 1) ** (high - at - 1)]
    found = np.zeros((last + 1, *sizes))
    for cut, share in zip(cuts.tolist(), mass / mass.sum(), strict=True):
        lower, upper = part.divide(cut)
        below = distribution_of_cuts(lower, draws, (low, at), last)
        above = distribution_of_cuts(upper, draws, (at, high), last)
        found[cut] = share * np.multiply.outer(below, above)
    return found.ravel()


def largest_loss(
    here: Rows, there: Rows, draws: Draws, around: tuple[int, int], last: int
) -> float:
    """The largest log-ratio of two tables' probabilities, over all cuts of a draw and those that follow.

    Of cuts that others follow every twentieth is tried, and the one that tells most by itself.
    """
    if around not in draws:
        return 0.0
    (low, high), (at, q, factor) = around, draws[around]
    cuts = np.arange(here.start, min(here.stop, last) + 1)
    a, b = (factor * part.scores(cuts, q) for part in (here, there))
    ratios = a - np.logaddexp.reduce(a) - b + np.logaddexp.reduce(b)
    if high - low == 2:
        return float(ratios.max())
    losses = []
    for place in {*range(0, len(cuts), 20), int(ratios.argmax())}:
        mine, theirs = here.divide(int(cuts[place])), there.divide(int(cuts[place]))
        inner = [((low, at), mine[0], theirs[0]), ((at, high), mine[1], theirs[1])]
        more = sum(largest_loss(one, other, draws, part, last) for part, one, other in inner)
        losses.append(float(ratios[place]) + more)
    return max(losses)


def _rows_of(values: tuple[int, ...]) -> Rows:
    codes, counts = np.unique(np.array(values, np.int64), return_counts=True)
    return Rows(0, LENGTH, codes, counts.astype(np.int64), 1)


#: A long column of few rows, on which one person moves the scores of both levels as far as they ever are.
LENGTH = 1000
LONG_PAIRS: dict[Unit, tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]] = {
    UNITS[0]: (((0, 0, 999), (0, 0, 999, 999)), ((10, 20), (10, 20, 999)), ((), (400,))),
    UNITS[1]: (((990, 999), (990, 0)), ((10, 20, 0), (10, 20, 999)), ((0, 999, 0), (0, 999, 999))),
    UNITS[2]: (((0,) * 4 + (999,) * 2, (0,) * 4 + (999,) * 4),),
    UNITS[3]: (((990, 990, 999, 999), (990, 990, 0, 0)),),
}


def _find_losses(query: Quantile, epsilon: int) -> Iterator[Part]:
    """How near the claim both levels together come on a long column."""
    for unit, pairs in LONG_PAIRS.items():
        prepared = query.prepare(PureDP(epsilon), LONG, unit, 3)
        assert isinstance(prepared, PreparedJointQuantiles)
        draws, whole = list_draws(prepared), (-1, len(query.q))
        loss = max(
            largest_loss(_rows_of(one), _rows_of(other), draws, whole, LENGTH - 1)
            for pair in pairs
            for one, other in (pair, pair[::-1])
        )
        told = f"the largest of {2 * len(pairs)} pairs is {loss:.4f}"
        title = f"{query!r}, {unit}: log-ratios on a long column"
        yield statement(title, f"at most {epsilon}", loss <= epsilon + 1e-9, told)


#: Quantiles whose parts are even and uneven, with groups and conditions; the positions in a cell.
ASKED: tuple[tuple[Quantile, int], ...] = (
    (Quantile("y", ["1/4", "1/2", "3/4"]), 2),
    (Quantile("y", ["1/10", "1/2", "3/5"], where="x > 0"), 3),
    (Quantile("y", ["1/5", "4/5"], by="c", jointly=True), 2),
)


def _once_each(find: Callable[[Any], Floats]) -> Callable[[Any], Floats]:
    """What is found of a table, computed once for all pairs that it is in."""
    kept: dict[Any, Floats] = {}

    def find_once(rows: Any) -> Floats:
        key = tuple(tuple(cells.tolist()) for cells in rows.values())
        if key not in kept:
            kept[key] = find(rows)
        return kept[key]

    return find_once


@attack("joint-quantiles")
def joint_quantiles() -> Iterator[Part]:
    claims: tuple[PureDP | ZCDP, ...] = (PureDP(4), ZCDP("1/8"))
    for query, pieces in ASKED:
        for unit in UNITS:
            for claim in claims if query is ASKED[0][0] else claims[:1]:
                of_table = _once_each(partial(joint_distribution, query, claim, unit, pieces))
                pairs = quantile_pairs(unit)
                found = (exact(of_table(one), of_table(other), claim) for one, other in pairs)
                yield worst(found, f"{query!r}, {unit}: the distribution of its cuts")
    for levels in (["1/4", "1/2", "3/4"], ["1/2", "3/4", "9/10"]):
        yield from _find_losses(Quantile("n", levels), 4)
    unit, query = UNITS[0], Quantile("n", ["1/2"], jointly=True)
    door = through_the_door(query, PureDP(2), LONG, unit)
    yield Case(f"{query!r}, {unit}, through the door", door, SHARP[unit], 2.0, 3_000)
