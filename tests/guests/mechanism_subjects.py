"""Every mechanism as guests see it: the registered examples, and one set-up for each that is not additive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from subject import Subject

from discreet import accounting, mechanisms, testing
from discreet.accounting import NoBound
from discreet.coding import Sensitivity
from discreet.events import Event, RandomizedResponse
from discreet.measures import PureDP
from discreet.mechanisms import (
    AboveThreshold,
    Bernstein,
    BestOf,
    Distribution,
    Exponential,
    Laplace,
    LocalHashing,
    LocalMechanism,
    Memoised,
    PermuteAndFlip,
    PriestleyChao,
    ReportNoisyMax,
    SparseVector,
    Staircase,
)

#: Where an event has no pure bound, it is tested at this δ of its curve: rare enough to matter, and
#: common enough to be seen.
SEEN_DELTA = 0.02
#: Runs on each side, where many can be drawn at once.
RUNS = 20_000
#: What one person moves: one integer by 3, or two by 1 and 2.
MOVES = (np.array([3]), np.array([1, -2]))


def claims_of(
    event: Event, *stated: tuple[float, float], seen: float = SEEN_DELTA
) -> list[tuple[float, float]]:
    """What the accountant says of an event, as pairs of ε and δ, and what is stated besides."""
    try:
        return [(float(accounting.cost(event, PureDP).epsilon), 0.0)]
    except NoBound:
        return [*stated, (float(accounting.epsilon_at(event, seen).epsilon), seen)]


def noised(distribution: Distribution) -> Callable[[Any, int], Any]:
    return lambda totals, runs: distribution.run(np.repeat(totals[None], runs, axis=0))


def additive() -> Iterator[Subject]:
    """The registered mechanisms and distributions, on integers that move as far as they may."""
    for move in MOVES:
        moved = Sensitivity(int(np.abs(move).sum()), int((move**2).sum()))
        pairs = [(np.zeros_like(move), move)]
        for mechanism in testing.MECHANISMS:
            distribution = mechanism.distribution(moved)
            stated = vars(mechanism.measure)
            pair = [(float(stated["epsilon"]), float(stated["delta"]))] if "delta" in stated else []
            claims = claims_of(distribution.event(moved), *pair)
            yield Subject(
                f"{mechanism!r} on {len(move)}",
                noised(distribution),
                pairs,
                claims,
                RUNS,
                of=mechanism,
            )
        for distribution in testing.DISTRIBUTIONS:
            if isinstance(distribution, mechanisms.NoNoise):
                continue  # it claims nothing where anybody moves anything
            if isinstance(distribution, mechanisms.StaircaseDistribution) and len(move) > 1:
                continue  # for one integer only, and it says so
            claims = claims_of(distribution.event(moved))
            yield Subject(
                f"{distribution!r} on {len(move)}",
                noised(distribution),
                pairs,
                claims,
                RUNS,
                of=distribution,
            )


def local_values(mechanism: LocalMechanism) -> list[tuple[float, float]]:
    """Two values of the domain, and ones outside of it against one inside."""
    bounds = getattr(mechanism, "domain", None)
    low, high = (
        (float(bounds.lower), float(bounds.upper)) if hasattr(bounds, "lower") else (0.0, 1.0)
    )
    return [(low, high), (float("nan"), low), (1e300, low)]


def local() -> Iterator[Subject]:
    """The registered local mechanisms: reports of one value against another."""
    for mechanism in testing.LOCALS:
        yield Subject(
            repr(mechanism),
            reports_of(mechanism),
            local_values(mechanism),
            claims_of(mechanism.event()),
            RUNS,
            pilot=2000,
            of=mechanism,
        )


def reports_of(mechanism: LocalMechanism) -> Callable[[Any, int], Any]:
    """What reports show: hashed ones by which values they support, memoised ones by their sums over time."""

    def run(value: float, runs: int) -> Any:
        values = np.full(runs, value)
        if isinstance(mechanism, LocalHashing):
            told = mechanism.randomize(values)
            return np.stack([mechanism.find_supported(told, code) for code in (0, 1)], axis=1)
        if isinstance(mechanism, Memoised):
            rows = mechanism.permanent(values)
            return np.sum([mechanism.report(rows) for _ in range(60)], axis=0, dtype=np.int64)
        return mechanism.randomize(values)

    return run


def one_by_one(run: Callable[[Any], Any]) -> Callable[[Any, int], Any]:
    return lambda data, runs: [run(data) for _ in range(runs)]


#: Scores of which each moves by at most 1.
SCORES = [
    ((0, 0), (1, -1)),
    ((1, 0), (2, -1)),
    ((0, 0, 0), (1, -1, -1)),
    ((0, 0, 0, 0), (1, 1, -1, -1)),
]
MONOTONE_SCORES = [((0, 0), (0, 1)), ((0, 0, 0), (1, 0, 0)), ((1, 0), (1, 1))]
#: Answers of which each moves by at most 1, around the threshold 1.
STREAMS = [
    ((0, 0, 1), (1, 1, 0)),
    ((0, 0, 0, 0, 0, 1), (1, 1, 1, 1, 1, 0)),
    ((0,) * 12 + (1,), (1,) * 12 + (0,)),
    ((-2,) * 3 + (1,), (-1,) * 3 + (0,)),
]


def selective() -> Iterator[Subject]:
    """Mechanisms that choose."""
    for monotone, pairs in ((False, SCORES), (True, MONOTONE_SCORES)):
        flips = PermuteAndFlip(2, monotone=monotone)
        run = one_by_one(lambda scores, flips=flips: flips.run(list(scores)))
        yield Subject(
            f"{flips!r}, monotone = {monotone}",
            run,
            pairs,
            claims_of(flips.event()),
            1500,
            100,
            flips,
        )
        highest = ReportNoisyMax(2, monotone=monotone)
        yield Subject(
            f"{highest!r}, monotone = {monotone}",
            lambda scores, runs, highest=highest: highest.draws(np.array(scores), runs),
            pairs,
            claims_of(highest.event()),
            10_000,
            1000,
            highest,
        )
    drawn = Exponential(PureDP(2))
    ones = {size: np.ones(size, np.int64) for size in (2, 3, 4)}
    run = one_by_one(lambda scores: drawn.run(list(scores), ones[len(scores)], 1))
    yield Subject(repr(drawn), run, SCORES, claims_of(drawn.event()), 3000, 100, drawn)
    stairs = Staircase(2)
    run = one_by_one(lambda value: stairs.run(value, 3))
    yield Subject(repr(stairs), run, [(0, 3)], claims_of(stairs.event(3)), 800, of=stairs)
    inner = mechanisms.RandomizedResponse("1/2")
    best: BestOf[None] = BestOf(RandomizedResponse("1/2"), 1, "1/5")

    def run_best(value: int, runs: int) -> list[float]:
        responses = iter(inner.randomize(np.full(40 * runs, value)).tolist())
        return [best.run(lambda: (float(next(responses)), None))[0] for _ in range(runs)]

    yield Subject(
        "BestOf randomised responses", run_best, [(0, 1)], claims_of(best.event), 1500, of=best
    )


def streams() -> Iterator[Subject]:
    """Answers compared with a threshold."""
    first = AboveThreshold(2)
    run = one_by_one(lambda answers: first.run(answers, 1))
    yield Subject(repr(first), run, STREAMS, claims_of(first.event()), 4000, 100, first)
    for vector in (
        SparseVector(2),
        SparseVector(2, 2, monotone=True),
        SparseVector(2, numeric_epsilon=1),
    ):
        pairs = STREAMS
        if vector.monotone:
            pairs = [((0,) * 6, (1,) * 6), ((0,) * 12 + (1, 1), (1,) * 14)]
        yield Subject(
            repr(vector), stream_of(vector), pairs, claims_of(vector.event()), 4000, 100, vector
        )


def stream_of(vector: SparseVector) -> Callable[[Any, int], Any]:
    def run(answers: tuple[int, ...]) -> list[float]:
        stream = vector.start(1)
        told = []
        for answer in answers:
            found = None if stream.exhausted else stream.feed(answer)
            told.append(-100.0 if found is None else float(found))
        return told

    return one_by_one(run)


def functions() -> Iterator[Subject]:
    """Mechanisms that release a function."""
    polynomial = Bernstein(Laplace(2), 3, resolution=2**10)
    run = one_by_one(
        lambda level: polynomial.run(lambda nodes: np.full(len(nodes), level), "1/4").coefficients
    )
    claims = claims_of(polynomial.event(polynomial.sensitivity("1/4")))
    yield Subject("Bernstein of a level", run, [(0.0, 0.25)], claims, 4000, of=polynomial)
    regression, smooth = PriestleyChao(-1, 1, "1/2", resolution=2**10), Bernstein(Laplace(2), 4)
    run = one_by_one(lambda y: regression.fit([0.5], [y], smooth).coefficients)
    claims = claims_of(smooth.event(regression.sensitivity(smooth.nodes[:, 0])))
    yield Subject("PriestleyChao of one row", run, [(-1.0, 1.0)], claims, 1500, of=regression)


def all_mechanisms() -> list[Subject]:
    return [*additive(), *local(), *selective(), *streams(), *functions()]
