"""The search for what separates two neighbours: which pair of them, and which event."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.floors import confident, floors
from discreet.audit.pairs import Pairs
from discreet.audit.samples import Reader, Sample, collect, join, sample_of
from discreet.audit.scores import Given, View
from discreet.audit.views import reader_of, views_for
from discreet.measures import Measure

__all__ = ["Event", "Search"]

Floats = npt.NDArray[np.float64]

#: How many thresholds are tried on a score.
_THRESHOLDS = 200
#: How much more strictly an event is judged when it is chosen among hundreds.
_STRICT = 1e-3
#: The risks at which pairs are compared, early and in the end: mild, or what is common on one pair would hide
#: what is rare and far worse on another; less mild in the end, or the luckiest of many would win.
_MILD, _LAST = 0.25, 0.05
#: The weight of what the final runs may show, relative to what is certain.
_HOPE = 0.01
#: The fewest runs on each input that a pair gets while bad pairs are looked for.
_MIN_RUNS = 100
#: A round keeps one pair of this many: few rounds of many runs, since what is worst may be rare.
_CUT = 4
#: How many pairs near the worst are tried, so many at each step; and how many are compared in the end.
_NEAR, _STEPS, _FINALISTS = 16, 4, 4


@dataclass(frozen=True)
class Event:
    """A score and a threshold, and which input it favours; fixed before the final runs."""

    view: View
    at: float
    above: bool
    swapped: bool
    promise: float

    def hits(self, sample: Sample) -> int:
        """How many runs show it."""
        scores = self.view.score(sample)
        return int(((scores >= self.at) if self.above else (scores < self.at)).sum())


@dataclass
class _Candidate:
    """A pair, and all outputs that it has given so far."""

    pair: tuple[Any, Any]
    outputs: list[Any] = field(default_factory=lambda: [None, None])
    runs: int = 0
    promise: float = -1.0


@dataclass
class Search:
    """The search within half of the runs of an audit; the other half is never seen here.

    Early runs quarter the list of pairs, again and again. Then pairs near the worst are tried step by step,
    if their maker knows any. The best few are compared again, and the last one is learnt from. Runs of a
    pair are kept: later rounds add to them.
    """

    mechanism: Callable[..., Any]
    claim: Measure
    trials: int
    risk: float
    score: Callable[[Floats], Any] | None
    rounding: float | None
    spent: int = 0
    #: What the first input of the only pair gave, if there is one pair.
    outputs: Any = None

    def find_worst(self, pairs: Sequence[tuple[Any, Any]]) -> tuple[tuple[Any, Any], Event | None]:
        """The pair and the event that look worst; no event if nothing tells the inputs apart."""
        if len(pairs) == 1:
            only = _Candidate(pairs[0])
            event = self._learn(only, self.trials // 2, _STRICT * self.risk)
            self.outputs = only.outputs[0]
            return only.pair, event
        most = max(2, self.trials // (8 * _MIN_RUNS))
        left = [_Candidate(pair) for pair in list(pairs)[:: math.ceil(len(pairs) / most)]]
        rounds = math.ceil(math.log(len(left), _CUT))
        kept = left
        for _ in range(rounds):
            runs = max(self.trials // (8 * rounds * len(left)), min(_MIN_RUNS, self.trials // 8))
            left = self._rank(left, runs)
            kept, left = left, left[: math.ceil(len(left) / _CUT)]
        finalists = kept[:_FINALISTS]
        if isinstance(pairs, Pairs) and self.trials >= 16 * _NEAR * _MIN_RUNS:
            finalists = self._walk(pairs, finalists)
        if len(finalists) > 1:
            finalists = self._rank(finalists, self.trials // (16 * len(finalists)), _LAST)
        best = finalists[0]
        return best.pair, self._learn(best, self.trials // 4, _STRICT * self.risk)

    def _walk(self, pairs: Pairs[Any], start: list[_Candidate]) -> list[_Candidate]:
        """Step from the best pair to better ones near it; the best of these, and of the start."""
        random, runs = np.random.default_rng(0), self.trials // (16 * _NEAR)
        seen: list[_Candidate] = []
        for _ in range(_STEPS):
            best = max([*start, *seen], key=lambda one: one.promise)
            near = pairs.near(best.pair, random, _NEAR // _STEPS)
            seen += self._rank([_Candidate(pair) for pair in near], runs)
        seen.sort(key=lambda one: one.promise, reverse=True)
        # few runs were made of the new ones: many of them look better than they are
        kept = min(len(start), _FINALISTS // 2)
        return [*start[:kept], *seen[: _FINALISTS - kept]]

    def _rank(
        self, candidates: list[_Candidate], runs: int, risk: float = _MILD
    ) -> list[_Candidate]:
        """The candidates after this many more runs of each, the most promising first."""
        for one in candidates:
            event = self._learn(one, runs, risk, quick=True)
            one.promise = -1.0 if event is None else event.promise
        return sorted(candidates, key=lambda one: one.promise, reverse=True)

    def _learn(
        self, candidate: _Candidate, more: int, strict: float, quick: bool = False
    ) -> Event | None:
        """The most promising event: scores are learnt on one half of the runs, and chosen on the other."""
        self.spent += 2 * more
        candidate.runs += more
        for side, data in enumerate(candidate.pair):
            fresh = collect(self.mechanism, data, more)
            known = candidate.outputs[side]
            candidate.outputs[side] = fresh if known is None else join(known, fresh)
        here, there = (sample_of(found, self.rounding) for found in candidate.outputs)
        half = candidate.runs // 2
        final = self.trials - self.trials // 2
        best: Event | None = None
        for view in self._views(here, there, quick):
            view.learn(here.part(0, half), there.part(0, half))
            scores = [view.score(side.part(half, candidate.runs)) for side in (here, there)]
            for found in _thresholds(scores, self.claim, final, self.risk, strict):
                if best is None or found[0] > best.promise:
                    best = Event(view, *found[1:], found[0])
        return best

    def _views(self, here: Sample, there: Sample, quick: bool) -> list[View]:
        views = views_for(here, there, quick=quick)
        if self.score is None:
            return views
        reader = reader_of(here, there)
        if reader is None:
            raise TypeError("score needs outputs that are numbers of one shape.")
        plain = Reader((0,) * reader.width)  # the numbers as they are
        return [Given("the given score", plain, self.score), *views]


def _thresholds(
    scores: list[Floats], claim: Measure, final: int, risk: float, strict: float
) -> list[tuple[float, float, bool, bool]]:
    """For both sides of a threshold and both directions: the best promise and where it is."""
    first, second = (np.sort(side) for side in scores)
    both = np.sort(np.concatenate([first, second]))
    tails = np.unique(np.geomspace(1, len(both), _THRESHOLDS // 2).astype(np.int64) - 1)
    places = np.unique(
        np.concatenate(
            [tails, len(both) - 1 - tails, np.linspace(0, len(both) - 1, _THRESHOLDS, dtype=int)]
        )
    )
    at = np.unique(both[places])
    above = [len(side) - np.searchsorted(side, at, "left") for side in (first, second)]
    found = []
    for is_above in (True, False):
        hits = [
            (count if is_above else len(side) - count).astype(np.float64)
            for count, side in zip(above, (first, second), strict=True)
        ]
        for swapped in (False, True):
            a, b = (hits[1], hits[0]) if swapped else (hits[0], hits[1])
            # the best of many events is probably a lucky one, rare ones above all: judged strictly, by as
            # many runs as there are here; where that leaves nothing, by what the final runs may show
            p, q = confident(a, len(first), b, len(second), strict)
            value = floors(claim, p, q)
            scale = final / len(first)
            p, q = confident(a * scale, final, b * scale, final, risk)
            value = value + _HOPE * floors(claim, p, q)
            index = int(np.argmax(value))
            found.append((float(value[index]), float(at[index]), is_above, swapped))
    return [entry for entry in found if entry[0] > 0] or found[:1]
