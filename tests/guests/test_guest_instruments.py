"""The guests' instruments themselves: bounds that hold, tests at their level, and a control that is one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sniper
import statdp
from half_noise import EVEN, WEAKENED, half_the_noise, part_of_the_noise
from noting_door import Beside, chance_of, lean_of_choice
from outcomes import Counted, interval_floor, lower_probability, p_value, upper_probability
from scipy.stats import binom
from subject import Subject, draw, separation, worst_pair

import discreet as dp
from discreet import audit, noise
from discreet.engines.arrays import Arrays
from discreet.queries import Best
from discreet.testing import fixed_noise


@pytest.mark.parametrize("chance", [0.003, 0.2, 0.5, 0.97])
def test_a_bound_fails_at_most_as_often_as_its_risk(chance):
    runs, risk = 300, 0.01
    hits = np.arange(runs + 1)
    weights = binom.pmf(hits, runs, chance)
    assert weights[lower_probability(hits, runs, risk) > chance].sum() <= risk
    assert weights[upper_probability(hits, runs, risk) < chance].sum() <= risk
    # and a bound that is a little bolder would not do
    assert weights[lower_probability(hits, runs, 10 * risk) > chance].sum() > risk / 2


def test_the_bounds_are_those_of_the_auditor():
    for hits, others in ((50, 3), (400, 100), (7, 0)):
        ours = audit.epsilon_floor(audit.TwoOutcomes(hits, 500, others, 500), 0.01, 0.99)
        assert float(interval_floor(hits, others, 500, 0.01, 0.01)) == pytest.approx(ours)


@pytest.mark.parametrize(
    ("epsilon", "delta", "q"), [(0.0, 0.0, 0.3), (1.0, 0.0, 0.2), (0.7, 0.1, 0.15)]
)
def test_the_hypothesis_test_keeps_its_level_at_the_edge_of_a_claim(epsilon, delta, q):
    draw = np.random.default_rng(1)
    runs, times, level = 400, 4000, 0.05

    def rejections(p: float) -> float:
        hits, others = draw.binomial(runs, p, times), draw.binomial(runs, q, times)
        coins = ((draw.random(runs), draw.random(runs)) for _ in range(times))
        found = [
            p_value(Counted(int(a), int(b), runs), epsilon, delta, each)
            for a, b, each in zip(hits, others, coins, strict=True)
        ]
        return float(np.mean(np.array(found) <= level))

    edge = math.exp(epsilon) * q + delta
    assert rejections(edge) <= level + 3 * math.sqrt(level / times)
    assert rejections(min(1.0, 1.5 * edge)) > 0.5


def rows(random: np.random.Generator, shift: float, runs: int) -> np.ndarray:
    """Five numbers with Laplace noise, of which three move."""
    return random.laplace(size=(runs, 5)) + shift * np.array([1.0, 0.0, -1.0, 1.0, 0.0])


@pytest.mark.parametrize("guest", ["sniper", "statdp"])
def test_a_guest_finds_what_several_numbers_tell_together_and_no_more(guest):
    random = np.random.default_rng(2)
    for shift in (0.0, 0.5):
        train, test = (
            (rows(random, shift, 3000), rows(random, 0.0, 3000)) for _ in ("to learn", "to test")
        )
        if guest == "sniper":
            floor = sniper.find_floor(sniper.Student(*train), test, 0.0, 1e-3)
        else:
            floor = statdp.find_floor(train, test, 1.0, 0.0, 1e-3)
        assert floor <= 3 * shift
        assert floor >= 1.6 * shift  # a single number tells no more than its own share, 0.5


@pytest.mark.parametrize("share", ["1/3", "1/8"])
def test_a_weaker_control_has_its_share_of_the_noise(share):
    share = Fraction(share)
    with fixed_noise(3):
        honest = np.std(noise.discrete_laplace(40, 4000))
        with part_of_the_noise(share):
            less = np.std(noise.discrete_laplace(40, 4000))
            lies = noise.bernoulli("2/5", 4000).mean()
    odds = (2 / 3) ** float(1 / share)
    assert less / honest == pytest.approx(float(share), rel=0.1)
    assert lies == pytest.approx(odds / (1 + odds), abs=0.02)


def test_the_neighbours_visited_are_those_that_speak_most_against_a_claim():
    """One pair is far apart and keeps its claim; of the other, most outputs are alike, a rare one isn't."""
    random = np.random.default_rng(4)
    chances = {"far": 0.8, "from far": 0.3, "seldom": 0.12, "never": 0.001}

    def run(name: str, runs: int) -> np.ndarray:
        return (random.random((runs, 1)) < chances[name]) * np.array([[1.0, 0.0]])

    far, rare = ("far", "from far"), ("seldom", "never")
    subject = Subject("coins", run, [far, rare], [(2.0, 0.0)], pilot=200)
    assert worst_pair(subject) == rare
    assert separation(*draw(subject, far, 200)) > separation(*draw(subject, rare, 200))


def test_evidence_is_a_number_even_where_everything_hits():
    found = statdp.evidence(np.array([0.0, 9.0]), np.array([9.0, 9.0]), 9, 1.0, 0.0)
    assert np.isfinite(found).all()


def test_the_control_halves_every_noise_there_is():
    assert set(WEAKENED) | EVEN == set(noise.__all__)
    with fixed_noise(3):
        honest = [
            np.std(noise.discrete_laplace(20, 4000)),
            np.std(noise.rounded_gaussian(20, 4000)),
        ]
        lies = noise.bernoulli("1/4", 4000).mean()
        with half_the_noise():
            half = [
                np.std(noise.discrete_laplace(20, 4000)),
                np.std(noise.rounded_gaussian(20, 4000)),
            ]
            fewer = noise.bernoulli("1/4", 4000).mean()
    assert np.array(half) / honest == pytest.approx([0.5, 0.5], rel=0.1)
    assert (lies, fewer) == pytest.approx((0.25, 0.1), abs=0.02)
    assert noise.discrete_laplace.__name__ == "discrete_laplace"


@pytest.mark.parametrize("budget", [dp.PureDP(1), dp.PureDP(4), dp.ZCDP("1/2")], ids=repr)
@pytest.mark.parametrize("unit", [dp.Unit(), dp.Unit(dp.REPLACE_ONE)], ids=str)
def test_the_chance_of_a_choice_is_that_of_its_draws(budget, unit):
    query = Best(*(dp.Count(where=f"x > {at}") for at in range(3)))
    prepared = query.prepare(budget, dp.Schema(x=dp.Integer(0, 9)), unit, None)
    scores, runs = np.array([3, 1, 4]), 20_000
    chances = np.array([chance_of(prepared, scores, at) for at in range(3)])
    with fixed_noise(1):
        drawn = np.bincount(prepared._draw(np.tile(scores, (runs, 1))), minlength=3) / runs
    assert chances.sum() == pytest.approx(1)
    assert np.abs(drawn - chances).max() < 4 * np.sqrt(chances * (1 - chances) / runs).max()
    assert np.abs(drawn - np.roll(chances, 1)).max() > 0.1  # a wrong one is seen


@pytest.mark.parametrize("more", range(1, 9))
def test_a_choice_leans_to_the_same_bit_from_both_tables(more):
    query = Best(*(dp.Count(where=f"x > {at}") for at in range(3)))
    schema = dp.Schema(x=dp.Integer(0, 9))
    prepared = query.prepare(dp.PureDP("7/10"), schema, dp.Unit(), None)
    tables = [Arrays({"x": np.array([1, 2, 5, 7, *others])}) for others in ([], [2] * more)]
    for chosen in range(3):
        mine, others = (
            lean_of_choice(prepared, chosen, own, Beside(other, sign))
            for own, other, sign in ((*tables, 1), (*tables[::-1], -1))
        )
        assert mine == others
        assert abs(mine) > 0.01
