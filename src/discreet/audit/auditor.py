"""The black-box auditor: find an event that separates two neighbours, then bound it on fresh runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.bounds import TwoOutcomes
from discreet.audit.floors import claimed_number, confident, floor, floors
from discreet.audit.pairs import Neighbours
from discreet.audit.results import AuditResult
from discreet.audit.reuse import after_fork, same_noise
from discreet.audit.samples import Reader, Sample, collect, sample_of
from discreet.audit.views import Given, View, reader_of, views_for
from discreet.measures import Measure, PureDP
from discreet.rational import as_integer

__all__ = ["audit"]

Floats = npt.NDArray[np.float64]

#: How many thresholds are tried on a score.
_THRESHOLDS = 200
#: How much more strictly an event is judged when it is chosen among hundreds.
_STRICT = 1e-3
#: The weight of what the final runs may show, relative to what is certain.
_HOPE = 0.01
#: The fewest runs on each input that a pair gets while bad pairs are looked for.
_LEAST = 100
#: How many pairs near the worst are tried.
_NEAR = 16
#: The share of the risk that each probe for reused randomness takes.
_REUSE_SHARE = 0.1


@dataclass(frozen=True)
class _Event:
    """A score and a threshold, and which input it favours; fixed before the final runs."""

    view: View
    at: float
    above: bool
    swapped: bool
    promise: float

    def hits(self, sample: Sample) -> int:
        scores = self.view.score(sample)
        return int(((scores >= self.at) if self.above else (scores < self.at)).sum())


def audit(
    mechanism: Callable[..., Any],
    neighbours: Any,
    claim: Measure | float,
    *,
    trials: int = 100_000,
    confidence: float = 0.99,
    score: Callable[[Floats], Any] | None = None,
    rounding: float | None = None,
    reuse: bool = True,
    fork: bool = False,
    title: str | None = None,
) -> AuditResult:
    """Attack a claim of privacy with runs of the mechanism.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data)`` gives one output; ``mechanism(data, trials)`` gives that many at once (its
        parameter must be called `trials`). An output is a number, an array, text, a mapping, anything:
        its length, its type, its keys and an exception are looked at too. Runs must be independent:
        a counter, or one draw shared by several runs, would look like reused noise.
    neighbours : pair or list of pairs
        Two data sets that differ in one person, or several such pairs: the one that looks worst in
        early runs is tested. `discreet.audit.neighbouring` makes them from a schema.
    claim : Measure or number
        What is claimed; a number is an ε of pure DP. Gaussian DP is tested as a trade-off curve, zCDP and
        Rényi claims through divergences of two outcomes, (ε, δ) by exact binomial bounds.
    trials : int
        Runs of the mechanism on each input: a quarter to learn scores, a quarter to choose the
        event, one half to test it.
    confidence : float
        The chance of a false *violated*, over everything this call tests, is at most 1 - confidence.
    score : callable, optional
        A score on outputs (rows of numbers), tried in addition to those that are learnt.
    rounding : float, optional
        Round outputs to this step first: then the ideal mechanism in real numbers is audited,
        not the low bits of its floating point; the result says which.
    reuse, fork : bool
        Also look for randomness that is used twice: in two calls; in a process and its fork.
    title : str, optional
        The heading of the result; the mechanism's name by default.

    Returns
    -------
    AuditResult
        A *violated* verdict holds with `confidence`; *consistent* proves nothing.
    """
    measure = claim if isinstance(claim, Measure) else PureDP(claim)
    claimed_number(measure)  # raises for what can't be audited
    as_integer(trials, "trials", minimum=40)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}.")
    if rounding is not None and not (math.isfinite(rounding) and rounding > 0):
        raise ValueError(f"rounding must be a number greater than 0, got {rounding!r}.")
    pairs = _pairs(neighbours)
    name = title or getattr(mechanism, "__name__", None) or type(mechanism).__name__
    risk = 1 - confidence
    for probe in [same_noise] * reuse + [after_fork] * fork:
        found = probe(mechanism, pairs[0][0], _REUSE_SHARE * (1 - confidence))
        if found is not None:
            return _result(name, measure, math.inf, confidence, found, "randomness", None, 0, None)
        risk -= _REUSE_SHARE * (1 - confidence)
    pair, event, spent = _search(mechanism, pairs, measure, trials, risk, score, rounding)
    tested = trials - trials // 2
    here, there = (sample_of(collect(mechanism, data, tested), rounding) for data in pair)
    spent += 2 * tested
    _check_that_something_ran(here, there)
    if event is None:
        words = "nothing told the inputs apart"
        return _result(name, measure, 0.0, confidence, words, "outputs", None, spent, rounding)
    counts = TwoOutcomes(event.hits(here), len(here), event.hits(there), len(there))
    counts = counts.swapped if event.swapped else counts
    value = floor(measure, counts, 1 - risk)
    side = "second" if event.swapped else "first"
    words = f"{event.view.words(event.at, event.above)}: likelier on the {side} input"
    return _result(
        name, measure, value, confidence, words, event.view.name, counts, spent, rounding
    )


def _check_that_something_ran(here: Sample, there: Sample) -> None:
    """An exception is an output; but if there is no other output, the harness is broken."""
    kinds = set(here.form_counts() + there.form_counts())
    if len(kinds) == 1 and (name := kinds.pop()).startswith("an exception "):
        raise RuntimeError(
            f"every run raised{name.removeprefix('an exception')}, on both inputs: nothing was audited. "
            "Call the mechanism on the first input to see its message."
        )


def _pairs(neighbours: Any) -> Sequence[tuple[Any, Any]]:
    if isinstance(neighbours, Neighbours):
        return neighbours
    if isinstance(neighbours, tuple) and len(neighbours) == 2:
        return [neighbours]
    found = list(neighbours) if isinstance(neighbours, Iterable) else []
    if not found or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in found):
        raise TypeError(
            "neighbours must be a pair (first, second) of data sets, or a list of such."
        )
    return found


def _search(
    mechanism: Callable[..., Any],
    pairs: Sequence[tuple[Any, Any]],
    claim: Measure,
    trials: int,
    risk: float,
    score: Callable[[Floats], Any] | None,
    rounding: float | None,
) -> tuple[tuple[Any, Any], _Event | None, int]:
    """The pair and event that look worst, within half of the runs.

    Early runs halve the list of pairs; then pairs near the worst are tried, if their maker knows any;
    the last one gets as many runs to learn from as all before.
    """
    final = trials - trials // 2
    spent = 0

    def learnt(pair: tuple[Any, Any], runs: int, quick: bool = False) -> _Event | None:
        nonlocal spent
        spent += 2 * runs
        return _learn(mechanism, pair, claim, runs, final, risk, score, rounding, quick)

    def promise(pair: tuple[Any, Any], runs: int) -> float:
        event = learnt(pair, runs, quick=True)
        return -1.0 if event is None else event.promise

    if len(pairs) == 1:
        return pairs[0], learnt(pairs[0], trials // 2), spent
    most = max(2, trials // (8 * _LEAST))
    left = list(pairs)[:: math.ceil(len(pairs) / most)]
    rounds = math.ceil(math.log2(len(left)))
    for _ in range(rounds):
        runs = max(trials // (8 * rounds * len(left)), min(_LEAST, trials // 8))
        left.sort(key=lambda pair: promise(pair, runs), reverse=True)
        left = left[: math.ceil(len(left) / 2)]
    best = left[0]
    if isinstance(pairs, Neighbours) and trials >= 16 * _NEAR * _LEAST:
        near = [best, *pairs.near(best, np.random.default_rng(0), _NEAR)]
        best = max(near, key=lambda pair: promise(pair, trials // (16 * _NEAR)))
    return best, learnt(best, trials // 4), spent


def _learn(
    mechanism: Callable[..., Any],
    pair: tuple[Any, Any],
    claim: Measure,
    runs: int,
    final: int,
    risk: float,
    score: Callable[[Floats], Any] | None,
    rounding: float | None,
    quick: bool,
) -> _Event | None:
    """The most promising event: scores are learnt on one half of the runs, and chosen on the other."""
    here, there = (sample_of(collect(mechanism, data, runs), rounding) for data in pair)
    half = runs // 2
    views = views_for(here, there, quick=quick)
    if score is not None:
        reader = reader_of(here, there)
        if reader is None:
            raise TypeError("score needs outputs that are numbers of one shape.")
        plain = Reader((0,) * reader.width)  # the numbers as they are
        views = [Given("the given score", plain, score), *views]
    best: _Event | None = None
    for view in views:
        view.learn(here.part(0, half), there.part(0, half))
        scores = [view.score(side.part(half, runs)) for side in (here, there)]
        for found in _thresholds(scores, claim, final, risk):
            if best is None or found[0] > best.promise:
                best = _Event(view, *found[1:], found[0])
    return best


def _thresholds(
    scores: list[Floats], claim: Measure, final: int, risk: float
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
            p, q = confident(a, len(first), b, len(second), _STRICT * risk)
            value = floors(claim, p, q)
            scale = final / len(first)
            p, q = confident(a * scale, final, b * scale, final, risk)
            value = value + _HOPE * floors(claim, p, q)
            index = int(np.argmax(value))
            found.append((float(value[index]), float(at[index]), is_above, swapped))
    return [entry for entry in found if entry[0] > 0] or found[:1]


def _result(
    name: str,
    claim: Measure,
    value: float,
    confidence: float,
    words: str,
    probe: str,
    counts: TwoOutcomes | None,
    spent: int,
    rounding: float | None,
) -> AuditResult:
    ideal = f"the ideal mechanism (outputs rounded to {rounding:g})" if rounding else ""
    return AuditResult(
        title=name,
        claim=claim,
        claimed=claimed_number(claim),
        floor=value,
        verdict="violated" if value > claimed_number(claim) else "consistent",
        confidence=confidence,
        event=words,
        probe=probe,
        audited=ideal or "the mechanism as implemented",
        trials=spent,
        outcomes=counts,
    )
