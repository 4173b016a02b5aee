"""Clear losses are measured again: among so many comparisons, some equal pairs look clear by luck.

The rule, which the page states: every comparison of like with like that is a clear loss of ours is measured
anew for both sides, once, with seeds that the first measurement didn't have and `TIMES` as many fits. The
new figures are kept beside the first ones, never in their place; a loss that is clear there too is confirmed.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from comparing import Duel, at, clear, figures_of, is_better, like_with_like
from real_tables import TABLES

Line = dict[str, Any]
#: What tells a second measurement from another; it is of one ε.
KEY = ("table", "task", "library", "model", "columns", "delta", "epsilons")
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
    sides = [_again(line, duel.epsilon, again) for line in (duel.theirs, duel.ours)]
    found = [side for side in sides if side is not None and at(side, duel.metric, duel.epsilon)]
    return Duel(found[0], found[1], duel.metric, duel.epsilon) if len(found) == 2 else None


def _again(line: Line, epsilon: float, again: list[Line]) -> Line | None:
    for other in again:
        if other["epsilons"] == [epsilon] and all(other[key] == line[key] for key in KEY[:-1]):
            return other
    return None


def find(figures: dict[str, Any]) -> Wanted:
    """The lines to measure again: both sides of each clear loss, but none twice unless a fit failed."""
    again = figures.get("again", [])
    counts: dict[tuple[Any, ...], int] = defaultdict(int)
    for duel in like_with_like(figures_of(figures)):
        if not is_loss(duel):
            continue
        fits = TIMES * max(_fits(line, duel.epsilon) for line in (duel.theirs, duel.ours))
        if TABLES[duel.theirs["table"]].is_large:
            fits = min(fits, MOST_ON_LARGE)
        for line in (duel.theirs, duel.ours):
            known = _again(line, duel.epsilon, again)
            if known is None or known["failed"] != [None]:
                kind = (line["model"], line["task"], line["columns"], line["delta"], duel.epsilon)
                place = (line["library"], line["table"], kind)
                counts[place] = max(counts[place], fits)
    wanted: Wanted = defaultdict(list)
    for (library, table, kind), fits in counts.items():
        wanted[library, table].append((*kind, fits))
    return dict(wanted)


def _fits(line: Line, epsilon: float) -> int:
    return int(line["seeds"][line["epsilons"].index(epsilon)])
