"""Who asks when, and what each answer may cost: public, and fixed before the first."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Protocol, TypeAlias, TypeVar, final

from discreet.measures import Measure, PureDP
from discreet.models.boosting.layout import Layout
from discreet.models.boosting.pairs import ROUNDS, SHARES
from discreet.models.facts import Facts, Question
from discreet.models.shares import split
from discreet.queries import Additive

#: Columns are asked one by one, or in groups where all rounds together would need more scans than this.
MAX_SCANS = 64
#: Default rounds of residuals: with Gaussian noise, and with Laplace noise, where each round takes a share
#: of ε rather than of ε².
DEFAULT_ROUNDS, PURE_ROUNDS = 6, 3
#: How much more a round may cost than the one before: the last speaks of shapes that are nearly right, and
#: what rounds say is averaged by precision.
DEFAULT_GROWTH, PURE_GROWTH = Fraction(3, 2), Fraction(3)
#: The first answer's share of the budget; cells and first shapes are made from it.
START_SHARE = Fraction(1, 4)
#: A regressor's share for the target's mean and variance.
TARGET_SHARE = Fraction(1, 20)

Item = TypeVar("Item")
#: The places of columns, by round and group.
Groups: TypeAlias = tuple[tuple[tuple[int, ...], ...], ...]


class TargetQuery(Protocol):
    """A question about the target alone, for a budget."""

    def __call__(self, budget: Measure, facts: Facts) -> Additive:
        """The question."""


@final
@dataclass(frozen=True)
class Costs:
    """What each answer may cost; all of them together cost the budget."""

    target: Measure | None
    first: Measure
    rounds: tuple[tuple[Measure, ...], ...]
    pairs: tuple[Measure, ...]


@final
@dataclass(frozen=True, eq=False)
class Schedule:
    """The first questions in public cells; who is asked for residuals when, and what each answer may cost."""

    layout: Layout
    target: Question | None
    first: Question
    groups: Groups
    costs: Costs
    pairs: int


def public_groups(columns: int, rounds: int) -> Groups:
    """Groups of columns for each round, in an order that differs from round to round and knows no rows."""
    number = min(columns, max(1, MAX_SCANS // max(1, rounds)))
    size, more = divmod(columns, number)
    found = []
    for at in range(rounds):
        order = sorted(range(columns), key=lambda place, at=at: _mix(at, place))  # type: ignore[misc]
        ends = [group * size + min(group, more) for group in range(number + 1)]
        found.append(tuple(tuple(order[a:b]) for a, b in pairwise(ends)))
    return tuple(found)


def _mix(at: int, place: int) -> bytes:
    return hashlib.sha256(b"round %d, column %d" % (at, place)).digest()


def split_costs(measure: Measure, groups: Groups, *, with_target: bool, with_pairs: bool) -> Costs:
    """Shares of the budget: for the target, the first answer, each group by its size, and pairs."""
    pure = isinstance(measure, PureDP)
    target = TARGET_SHARE if with_target else Fraction(0)
    first, later, *pairs = map(Fraction, SHARES) if with_pairs else (START_SHARE, 1 - START_SHARE)
    growth = PURE_GROWTH if pure else DEFAULT_GROWTH
    each = [growth**at for at in range(len(groups))]
    weights: list[Fraction] = [target] if with_target else []
    weights.append(first * (1 - target))
    for weight, round_ in zip(each, groups, strict=True):
        columns = sum(map(len, round_))
        share = later * (1 - target) * weight / sum(each)
        weights += [share * len(group) / columns for group in round_]
    if with_pairs:
        shares = [*pairs[:-1], *([pairs[-1] / ROUNDS] * ROUNDS)]
        weights += [share * (1 - target) for share in shares]
    left = iter(split(measure, weights))
    return Costs(
        next(left) if with_target else None,
        next(left),
        tuple(tuple(next(left) for _ in round_) for round_ in groups),
        tuple(left),
    )


def fold(items: Sequence[Item]) -> list[tuple[Item, int]]:
    """Equal neighbours, each with how often it comes in a row."""
    found: list[tuple[Item, int]] = []
    for item in items:
        if found and found[-1][0] == item:
            found[-1] = item, found[-1][1] + 1
        else:
            found.append((item, 1))
    return found
