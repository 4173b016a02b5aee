"""What is chosen is chosen as often as it should be, and afresh each time.

Draws of selections and decisions against their exact probabilities, a few hundred each. A right one fails
less than once in a billion runs; one that favours the best twice as much, or repeats itself, fails at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import i0, i1
from scipy.stats import chi2

import discreet as dp
from discreet import mechanisms
from discreet.coding import Tally
from discreet.engines import open_engine
from discreet.mechanisms import Exponential, PermuteAndFlip, ReportNoisyMax, SparseVector
from discreet.models.decomposition.ball import RADIUS, Ball
from discreet.models.decomposition.directions import PrincipalDirections
from discreet.models.linear_model.theil_sen import STEPS, draw_median, pair_randomly, random_pairs
from discreet.queries import Best, Quantile
from discreet.selection import Selection

DRAWS = 500
RISK = 1e-9
SCORES = [4, 3, 3, 0]


def exponential_masses(scores: list[int], factor: float, weights: Any = 1) -> Any:
    mass = np.exp(factor * np.array(scores)) * weights
    return mass / mass.sum()


def choice(budget: Any) -> tuple[Callable[[], int], Any]:
    """Which of two counts is larger: 3 rows against 2."""
    schema = dp.Schema(c=dp.Categorical(0, 1))
    query = Best(dp.Count(where="c == 0"), dp.Count(where="c == 1"))
    unit = dp.Unit()
    prepared = query.prepare(budget, schema, unit, None)
    engine = open_engine({"c": np.array([0, 0, 0, 1, 1])}, schema, unit)
    if isinstance(budget, dp.PureDP):
        mechanism = PermuteAndFlip(budget.epsilon, monotone=True)
        return lambda: prepared.answer(engine).value, mechanism.probabilities([3, 2], 1)
    factor = float(Exponential(budget).epsilon())
    return lambda: prepared.answer(engine).value, exponential_masses([3, 2], factor)


def noisy_max() -> tuple[Callable[[], int], Any]:
    mechanism = ReportNoisyMax(3)
    scale = float(mechanism.event(1).scale)
    # P(k) of geometric noise, far enough; ties are shared evenly
    k = np.arange(200)
    mass = np.exp(-k / scale) * -math.expm1(-1 / scale)
    joint = np.outer(
        mass, mass
    )  # the noise of the better score, which is 1 ahead, and of the other
    ahead = (1 + k)[:, None] - k[None, :]
    better = joint[ahead > 0].sum() + joint[ahead == 0].sum() / 2
    return lambda: int(mechanism.draws([1, 0], 1)[0]), np.array([better, 1 - better])


def quantile() -> tuple[Callable[[], int], Any]:
    """The median of two rows at 1 in 0..7: which grid point."""
    schema = dp.Schema(x=dp.Integer(0, 7))
    prepared = Quantile("x", "1/2").prepare(dp.PureDP(2), schema, dp.Unit(), None)
    engine = open_engine({"x": np.array([1, 1])}, schema, dp.Unit())
    tally: Tally = engine.tally(prepared._coded)
    first, length, score = Quantile.scores(tally.codes, tally.counts, Fraction(1, 2), 7)
    masses = np.zeros(8)
    for start, run, mark in zip(first, length, score, strict=True):
        masses[start : start + run] = math.exp(2 / 2 * mark)  # sensitivity 1
    return lambda: round(prepared.answer(engine).value), masses / masses.sum()


def medians() -> tuple[Callable[[], int], Any]:
    """The slope of no line at all: any step of the grid, told by its quarter."""
    values, mechanism = np.zeros(0, np.int64), Exponential(dp.PureDP(1))
    return lambda: min(3, draw_median(values, mechanism, 2) * 4 // STEPS), np.full(4, 0.25)


def matching() -> tuple[Callable[[], int], Any]:
    """Whom the first of four rows is paired with."""

    def draw() -> int:
        pairs = [set(map(int, pair)) for pair in zip(*random_pairs(4), strict=True)]
        return next(sum(pair) for pair in pairs if 0 in pair) - 1

    return draw, np.full(3, 1 / 3)


def thrown(rows: int, buckets: int) -> Callable[[], int]:
    """Which rows are a pair, as the sum of their numbers less one; 2 rows may be none, which is 1."""

    def draw() -> int:
        first, second = pair_randomly(rows, buckets)
        return int(first[0] + second[0]) - 1 if len(first) else 1

    return draw


def setting() -> tuple[Callable[[], int], Any]:
    event = dp.events.DiscreteLaplace(1)
    plan = Selection(((event,), (event,), (event,)), (1, 2, 1), Fraction(0), Fraction(1, 3))
    return plan.draw, np.array([0.25, 0.5, 0.25])


CHOICES: dict[str, Callable[[], tuple[Callable[[], int], Any]]] = {
    "permute-and-flip": lambda: (
        lambda: PermuteAndFlip(2).run(SCORES, 1),
        PermuteAndFlip(2).probabilities(SCORES, 1),
    ),
    "equal candidates": lambda: (lambda: PermuteAndFlip(1).run([5, 5, 5], 1), np.full(3, 1 / 3)),
    "equal noisy scores": lambda: (
        lambda: int(ReportNoisyMax(50).draws([5, 5, 5], 1)[0]),
        np.full(3, 1 / 3),
    ),
    "exponential": lambda: (
        lambda: Exponential(dp.PureDP(2)).run(np.array(SCORES), np.array([1, 2, 3, 4]), 1, 1),
        exponential_masses(SCORES, 1.0, np.array([1, 2, 3, 4])),
    ),
    "noisy max": noisy_max,
    "a choice, pure": lambda: choice(dp.PureDP(1)),
    "a choice, concentrated": lambda: choice(dp.ZCDP("1/8")),
    "a quantile": quantile,
    "a median of lines": medians,
    "a matching": matching,
    "buckets": lambda: (thrown(2, 2), np.full(2, 1 / 2)),
    "a setting": setting,
}


@pytest.mark.parametrize("name", list(CHOICES))
def test_choices_follow_their_probabilities_and_are_fresh(name: str) -> None:
    draw, masses = CHOICES[name]()
    drawn = np.array([draw() for _ in range(DRAWS)])
    seen = np.bincount(drawn, minlength=len(masses))
    expected = np.asarray(masses, float) * DRAWS
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert chi2.sf(statistic, len(masses) - 1) > RISK
    assert len(set(drawn.tolist())) > 1
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.35


def laplace_tail(scale: float, least: int) -> float:
    """P(noise >= least) of discrete Laplace noise."""
    q = math.exp(-1 / scale)
    return q**least / (1 + q) if least > 0 else 1 - q ** (1 - least) / (1 + q)


def above(answer: int, at: int, threshold_scale: float, answer_scale: float) -> float:
    """The chance that a noised answer reaches a noised threshold."""
    k = np.arange(-400, 401)
    mass = np.exp(-abs(k) / threshold_scale)
    mass /= mass.sum()
    return float(
        sum(
            p * laplace_tail(answer_scale, at + int(t) - answer)
            for p, t in zip(mass, k, strict=True)
        )
    )


@pytest.mark.parametrize("answer", [0, 6])
def test_a_sparse_vector_decides_as_often_as_its_noise_says(answer: int) -> None:
    mechanism = SparseVector(2, cutoff=1)
    event = mechanism.event(1)
    decided = []
    for _ in range(DRAWS):
        stream = mechanism.start(3)
        decided.append(stream.feed(answer) is not None)
    stated = above(answer, 3, float(event.threshold_scale), float(event.answer_scale))
    assert abs(np.mean(decided) - stated) < 6.5 * math.sqrt(stated * (1 - stated) / DRAWS)
    # the threshold is drawn once for a stream, and anew for the next
    assert abs(np.corrcoef(decided[1:], decided[:-1])[0, 1]) < 0.35


def test_numbers_of_a_sparse_vector_carry_noise_of_their_own() -> None:
    mechanism = SparseVector(3, numeric_epsilon=1)
    number = mechanism.event(1).events[1]
    scale = float(number.event.scale)
    told = [mechanism.start(0).feed(10**6) for _ in range(DRAWS)]
    stated = mechanisms.LaplaceDistribution(Fraction(scale)).expected_error()
    assert 0.75 < np.std(told) / stated < 1.3
    assert abs(np.corrcoef(told[1:], told[:-1])[0, 1]) < 0.35


def test_every_stream_draws_its_own_threshold_and_every_answer_its_own_noise() -> None:
    noisy = {SparseVector(1).start(0)._noisy for _ in range(60)}
    assert len(noisy) > 3
    # one stream, one answer at the threshold, many times: it falls on both sides
    stream = SparseVector(2, cutoff=100).start(3)
    assert len({stream.feed(3) is None for _ in range(100)}) == 2


@pytest.mark.parametrize(
    ("unit", "moved"),
    [
        (dp.Unit(), 1),
        (dp.Unit(dp.REPLACE_ONE), 2),
        (dp.Unit(dp.ADD_REMOVE, "who", 3), 3),
        (dp.Unit(dp.REPLACE_ONE, "who", 2), 4),
    ],
    ids=str,
)
def test_directions_follow_their_density_for_every_unit(unit: dp.Unit, moved: int) -> None:
    """In the plane, twice the angle of a direction has a von Mises distribution."""
    ball = Ball((dp.Real(0, 1),) * 2, np.full(2, 0.5), 0.5)
    step = PrincipalDirections(("x", "y"), ball, 1, Fraction(2 * moved), unit)
    assert step.event(dp.Schema(x=dp.Real(0, 1), y=dp.Real(0, 1)), unit).event.event == (
        dp.events.Exponential(2 * moved)
    )
    gram = np.diag([float(RADIUS**2), 0.0])  # exp(c·x'Gx) = exp(2·cos²), for every unit
    drawn = np.array([step._one(gram) for _ in range(400)])
    told = (drawn[:, 0] ** 2 - drawn[:, 1] ** 2).mean()
    assert abs(told - i1(1.0) / i0(1.0)) < 5.5 * 0.66 / math.sqrt(400)
    assert len(np.unique(drawn[:, 0])) > 390
