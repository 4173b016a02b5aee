"""Clear losses are measured again: among so many comparisons, some equal pairs look clear by luck.

The rule, which the page states: every comparison of like with like that is a clear loss of ours is measured
anew for both sides, once, with seeds that the first measurement didn't have and `TIMES` as many fits; and so
is each of our lines that keeps less than it should of what it gains without noise. The new figures are kept
beside the first ones, never in their place; a loss that is clear there too is confirmed.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import costs
from comparing import Duel, at, clear, figures_of, is_better, like_with_like, measured_again
from real_tables import TABLES

Line = dict[str, Any]
TIMES = 3
#: For tables with few fits in the first measurement.
MOST_ON_LARGE = 12
#: The library and the table, and what `contest.py --again` takes.
Wanted = dict[tuple[str, str], list[tuple[str, str, str, float, float, int]]]


def is_loss(duel: Duel) -> bool:
    """Whether theirs is clearly better."""
    return clear(duel) and not is_better(duel)


def second(duel: Duel, again: list[Line]) -> Duel | None:
    """The same comparison in the second measurement, if it has both sides."""
    sides = [measured_again(line, duel.epsilon, again) for line in (duel.theirs, duel.ours)]
    found = [side for side in sides if side is not None and at(side, duel.metric, duel.epsilon)]
    return Duel(found[0], found[1], duel.metric, duel.epsilon) if len(found) == 2 else None


def find(figures: dict[str, Any]) -> Wanted:
    """The lines to measure again: both sides of each clear loss, and those that keep too little."""
    again, lines = figures.get("again", []), figures_of(figures)
    counts: dict[tuple[Any, ...], int] = defaultdict(int)

    def want(line: Line, epsilon: float, fits: int) -> None:
        """Measure a line again, but none twice unless a fit failed."""
        if TABLES[line["table"]].is_large:
            fits = min(fits, MOST_ON_LARGE)
        known = measured_again(line, epsilon, again)
        if known is None or known["failed"] != [None]:
            kind = (line["model"], line["task"], line["columns"], line["delta"], epsilon)
            place = (line["library"], line["table"], kind)
            counts[place] = max(counts[place], fits)

    for duel in filter(is_loss, like_with_like(lines)):
        sides = (duel.theirs, duel.ours)
        fits = TIMES * max(_fits(line, duel.epsilon) for line in sides)
        for line in sides:
            want(line, duel.epsilon, fits)
    for kept in costs.below_bar(lines):
        want(kept.line, costs.EPSILON, TIMES * _fits(kept.line, costs.EPSILON))
    wanted: Wanted = defaultdict(list)
    for (library, table, kind), fits in counts.items():
        wanted[library, table].append((*kind, fits))
    return dict(wanted)


def _fits(line: Line, epsilon: float) -> int:
    return int(line["seeds"][line["epsilons"].index(epsilon)])
