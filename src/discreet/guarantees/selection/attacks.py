"""Attacks on selections: most by exact distributions over small neighbours, and all by draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import accounting, events, noise
from discreet.audit.exact import exact
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.measures import ZCDP, Measure, PureDP
from discreet.mechanisms import AboveThreshold, BestOf, PermuteAndFlip, ReportNoisyMax, SparseVector

Floats = npt.NDArray[np.float64]
Decisions = tuple[int, ...]

#: Scores with ties, with a clear winner, and with a chain; sensitivity 1.
_SCORES = ((0, 0), (2, 0), (0, 0, 0), (2, 1, 0), (0, 0, 0, 0, 3))


def worst(results: Iterable[AuditResult], title: str) -> AuditResult:
    """Pick, of many results, the one nearest to a violation, under a common title."""
    found = max(results, key=lambda result: result.floor - result.claimed)
    return AuditResult(**{**vars(found), "title": title})


def compared(
    distributions: Iterable[Mapping[Any, float]], claim: Measure | float, title: str = ""
) -> AuditResult:
    """Compare two distributions, given by outcome, with a claim."""
    here, there = distributions
    outcomes = sorted({*here, *there})
    p, q = (
        np.array([distribution.get(o, 0.0) for o in outcomes]) for distribution in (here, there)
    )
    return exact(p, q, claim, title=title, labels=outcomes)


def neighbouring_scores(monotone: bool) -> Iterator[tuple[npt.NDArray[np.int64], Any]]:
    """Small scores with all their neighbours; monotone ones move in one direction."""
    for scores in _SCORES:
        for moves in product((0, 1) if monotone else (-1, 0, 1), repeat=len(scores)):
            yield np.array(scores), np.array(scores) + moves


@attack("permute-and-flip")
def permute_and_flip() -> Iterator[Part]:
    for epsilon in ("1/2", 2):
        for monotone in (False, True):
            mechanism = PermuteAndFlip(epsilon, monotone=monotone)
            claim = accounting.cost(mechanism.event(), PureDP)
            found = (
                exact(mechanism.probabilities(a), mechanism.probabilities(b), claim)
                for a, b in neighbouring_scores(monotone)
            )
            yield worst(
                found,
                f"its distribution, ε = {epsilon}, monotone = {monotone}, all small neighbours",
            )
    rho = accounting.cost(PermuteAndFlip("0.2").event(), ZCDP)
    p, q = (PermuteAndFlip("0.2").probabilities(np.array(s)) for s in ((0, 0), (1, -1)))
    yield exact(p, q, rho, title="its distribution, ε = 0.2, as zCDP")
    mechanism = PermuteAndFlip(1)
    claim = accounting.cost(mechanism.event(), PureDP)
    yield Case(
        "draws, scores 00 and 1 -1",
        mechanism.run,
        (np.array([0, 0]), np.array([1, -1])),
        claim,
        10_000,
    )


@attack("permute-and-flip-as-exponential")
def permute_and_flip_as_exponential() -> Iterator[Part]:
    for epsilon in ("0.2", "1"):
        mechanism = PermuteAndFlip(epsilon)
        claim = accounting.cost(events.Exponential(epsilon), ZCDP)
        p, q = (mechanism.probabilities(np.array(s)) for s in ((0, 0), (1, -1)))
        yield exact(p, q, claim, title=f"scores 00 and 1 -1, ε = {epsilon}")


@attack("noisy-max")
def noisy_max() -> Iterator[Part]:
    pairs = {False: ((1, 0), (2, -1)), True: ((0, 0), (0, 1))}
    for monotone, pair in pairs.items():
        mechanism = ReportNoisyMax(1, monotone=monotone)
        claim = accounting.cost(mechanism.event(), PureDP)
        yield Case(f"draws, monotone = {monotone}", _draw_with(mechanism), pair, claim, 100_000)
        found = (
            compared((noisy_max_distribution(s, mechanism) for s in pair), claim)
            for pair in neighbouring_scores(monotone)
        )
        yield worst(found, f"its distribution, monotone = {monotone}, all small neighbours")


def _draw_with(mechanism: ReportNoisyMax) -> Callable[..., Any]:
    return lambda scores, trials: mechanism.draws(np.array(scores), trials)


def noisy_max_distribution(scores: Any, mechanism: ReportNoisyMax) -> dict[int, float]:
    """The chance of each candidate, summed over the largest value and over how many tie with it."""
    scale = float(mechanism.event().scale)
    at = np.arange(scores.min(), scores.max() + math.ceil(40 * scale))
    reach = at[None, :] - scores[:, None]
    equal = np.where(reach >= 0, -math.expm1(-1 / scale) * np.exp(-reach / scale), 0.0)
    below = np.where(reach > 0, -np.expm1(-np.maximum(reach, 0) / scale), 0.0)
    distribution = {}
    for index in range(len(scores)):
        ways: list[Any] = [np.ones_like(at, np.float64)]  # by the number of others that tie
        for other in np.delete(np.arange(len(scores)), index):
            ways = [
                (ways[t] * below[other] if t < len(ways) else 0.0)
                + (ways[t - 1] * equal[other] if t else 0.0)
                for t in range(len(ways) + 1)
            ]
        shared = sum(way / (t + 1) for t, way in enumerate(ways))
        distribution[index] = float((equal[index] * shared).sum())
    return distribution


def sparse_vector_distribution(
    answers: Sequence[int],
    threshold: int,
    threshold_scale: float,
    answer_scale: float,
    cutoff: float = math.inf,
) -> dict[Decisions, float]:
    """The probability of every list of decisions, summed over the threshold's noise.

    An answer scale of 0 means answers without noise; no cutoff, that every answer is decided.
    """
    noisy = np.arange(-math.ceil(60 * threshold_scale), math.ceil(60 * threshold_scale) + 1)
    weights = np.exp(-abs(noisy) / threshold_scale) * math.tanh(1 / (2 * threshold_scale))
    distribution: dict[Decisions, float] = {}

    def decide(told: Decisions, weight: Floats) -> None:
        if len(told) == len(answers) or sum(told) >= cutoff:
            distribution[told] = math.fsum(weight.tolist())
            return
        above = _reaches(threshold + noisy - answers[len(told)], answer_scale)
        decide((*told, 1), weight * above)
        decide((*told, 0), weight * (1 - above))

    decide((), weights)
    return distribution


def _reaches(distance: npt.NDArray[np.int64], scale: float) -> Floats:
    """P(K >= distance) of discrete Laplace noise."""
    if scale == 0:
        return (distance <= 0).astype(np.float64)
    q = math.exp(-1 / scale)
    far, near = q ** np.maximum(distance, 0), q ** np.maximum(1 - distance, 0)
    return np.where(distance > 0, far, 1 + q - near) / (1 + q)


#: Neighbouring streams of answers around the threshold 1.
_STREAMS = [
    ((0, 1), (1, 0)),
    ((0, 0, 1), (1, 1, 0)),
    ((0, 1, 0, 1), (1, 0, 1, 0)),
    ((0,) * 8, (1,) * 8),
]


#: Why attacks on draws of selections stay below the claim.
RARE = "the largest loss belongs to outcomes that are rare by design: their distribution stands beside it"


@attack("sparse-vector")
def sparse_vector() -> Iterator[Part]:
    for cutoff in (1, 2, 3):
        for monotone in (False, True):
            mechanism = SparseVector(2, cutoff, monotone=monotone)
            claim = accounting.cost(mechanism.event(), PureDP)
            s1, s2 = (float(scale) for scale in mechanism.scales())
            streams = [((0,) * 6, (1,) * 6), ((0, 0, 3), (1, 0, 4))] if monotone else _STREAMS
            found = (
                compared((sparse_vector_distribution(a, 1, s1, s2, cutoff) for a in pair), claim)
                for pair in streams
            )
            yield worst(found, f"its distribution, cutoff {cutoff}, monotone = {monotone}")
    mechanism = SparseVector(2)
    claim = accounting.cost(mechanism.event(), PureDP)
    run = _decided(mechanism)
    yield Case("streams 0 0 1 and 1 1 0, drawn", run, _STREAMS[1], claim, 4_000, reason=RARE)
    first = AboveThreshold(6)
    claim = accounting.cost(first.event(), PureDP)
    tell = lambda a: first.run(a, 1)  # noqa: E731
    yield Case("the first above, drawn", tell, _STREAMS[1], claim, 2_000, reason=RARE)
    # the two steps of the proof: the noise of the threshold hides one step, that of an answer two
    steps = [1 / float(scale) for scale in mechanism.scales()]
    threshold = lambda at: mechanism.start(at)._noisy  # noqa: E731
    yield Case("the noise of the threshold, drawn", threshold, (0, 1), steps[0], 6_000)
    yield Case("the noise of an answer, drawn", _compared(mechanism), (1, 3), 2 * steps[1], 5_000)
    # certainly above: only the first number is reported, and the cutoff withholds the others
    numeric = SparseVector("1/10", numeric_epsilon=1)
    price = accounting.cost(numeric.event(), PureDP)
    yield Case("with numbers, drawn", _numbers(numeric), ((500,) * 4, (501,) * 4), price, 4_000)


def _compared(mechanism: SparseVector) -> Callable[[int], bool]:
    """Whether an answer this far below the noisy threshold is reported above it."""

    def run(short: int) -> bool:
        stream = mechanism.start(0)
        return stream.feed(stream._noisy - short) is not None

    return run


def _decided(mechanism: SparseVector) -> Callable[[Sequence[int]], Decisions]:
    """Decisions on a stream, filled up to its length."""

    def run(answers: Sequence[int]) -> Decisions:
        told = mechanism.run(answers, 1)
        return (*map(int, told), *[-1] * (len(answers) - len(told)))

    return run


def _numbers(mechanism: SparseVector) -> Callable[[Sequence[int]], list[int]]:
    """The numbers reported for a stream; far below stands for *below*, and farther for *not asked*."""

    def run(answers: Sequence[int]) -> list[int]:
        stream = mechanism.start(1)
        told = []
        for answer in answers:
            number = None if stream.exhausted else stream.feed(answer)
            told.append(-(10**6) * (1 + stream.exhausted) if number is None else int(number))
        return told

    return run


def best_distribution(run: Floats, shape: float, gamma: float) -> Floats:
    """The distribution of the best of K runs, whose outcomes have the probabilities `run`, worst first."""
    k = np.arange(1, math.ceil(60 / gamma))
    logs = k * math.log1p(-gamma) + np.concatenate(
        [[0], np.cumsum(np.log((k[1:] - 1 + shape) / k[1:]))]
    )
    mass = np.exp(logs - np.logaddexp.reduce(logs))
    upto = np.minimum(np.cumsum(run), 1.0)
    return np.diff([0.0, *((mass * c**k).sum() for c in upto)])


@attack("best-of-runs")
def best_of_runs() -> Iterator[Part]:
    """The outcome looked at is rare; what beats it is common here and rarer there."""
    for shape in ("1/2", 1, 2):
        event = events.RepeatAndSelect(events.RandomizedResponse("1/2"), shape, "1/1000")
        claim = accounting.cost(event, PureDP)
        up = math.exp(0.5)
        there = np.array([0.6 - 1e-4, 1e-4, 0.4])
        here = np.array([1 - 1e-4 * up - 0.4 / up, 1e-4 * up, 0.4 / up])
        p, q = (best_distribution(run, float(Fraction(shape)), 1e-3) for run in (here, there))
        yield exact(p, q, claim, title=f"its distribution, shape {shape}, γ = 1/1000")
    runner: BestOf[None] = BestOf(events.RandomizedResponse("1/2"), 1, "1/5")
    claim = accounting.cost(runner.event, PureDP)
    lie = 1 / (1 + Fraction(math.exp(0.5)))
    pair = lie, 1 - lie
    yield Case("randomised response, drawn", _best(runner), pair, claim, 4_000, reason=RARE)


def _best(runner: BestOf[None]) -> Callable[..., list[float]]:
    """The best of many runs, many times; coins are drawn in batches, and each one is used once."""

    def mechanism(chance: Fraction, trials: int) -> list[float]:
        batches = (noise.bernoulli(chance, 4096).tolist() for _ in itertools.count())
        coins = itertools.chain.from_iterable(batches)
        return [runner.run(lambda: (float(next(coins)), None))[0] for _ in range(trials)]

    return mechanism
