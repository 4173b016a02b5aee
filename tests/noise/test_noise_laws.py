"""Every sampler in a second: its distribution against exact probabilities, and draws that don't repeat.

The long tests of distributions look closer. These are coarse and quick: a sampler with half its scale, with
words that are all 0, or with a draw that comes twice, fails at once; a right one fails less than once in a
billion runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from discreet import noise
from discreet.noise import lazy, selection
from discreet.noise.norm_gamma import norm_gamma

COUNT = 4096
#: How often a right sampler may fail.
RISK = 1e-9

Probability = Callable[[np.ndarray], np.ndarray]


def laplace_below(scale: float) -> Probability:
    """P(noise < k) of discrete Laplace noise."""

    def below(k: np.ndarray) -> np.ndarray:
        q = math.exp(-1 / scale)
        upper = np.exp(-np.maximum(k, 1) / scale) / (1 + q)
        lower = np.exp(-(1 - np.minimum(k, 0)) / scale) / (1 + q)
        return np.where(k >= 1, 1 - upper, lower)

    return below


def rounded_below(sigma: float) -> Probability:
    return lambda k: np.array([0.5 * math.erfc(-(x - 0.5) / sigma / math.sqrt(2)) for x in k])


def discrete_below(sigma: float) -> Probability:
    far = math.ceil(40 * sigma) + 2
    k = np.arange(-far, far + 1)
    mass = np.exp(-(k**2) / (2 * sigma**2))
    total = np.concatenate([[0.0], np.cumsum(mass / mass.sum())])
    return lambda at: total[np.clip(at + far, 0, 2 * far + 1).astype(int)]


def geometric_below(scale: float) -> Probability:
    return lambda k: np.where(k > 0, -np.expm1(-np.maximum(k, 0) / scale), 0.0)


def fits(drawn: np.ndarray, below: Probability, edges: list[float]) -> bool:
    """Chi-squared over cells cut at `edges`: values k with edge <= k < next edge."""
    cuts = np.array(edges)
    masses = np.diff(np.concatenate([[0.0], below(cuts), [1.0]]))
    seen = np.bincount(np.searchsorted(cuts, drawn, side="right"), minlength=len(masses))
    kept = masses > 0
    assert not seen[~kept].any()
    statistic = ((seen[kept] - masses[kept] * drawn.size) ** 2 / (masses[kept] * drawn.size)).sum()
    return bool(chi2.sf(statistic, kept.sum() - 1) > RISK)


SCALES = ["1/2", "3", "1000000007/3", str(2**45 + 1)]


def cells(scale: float) -> list[float]:
    """Edges at quarters of the scale, and around 0."""
    far = [math.floor(scale * step / 2) for step in range(-6, 7)]
    return sorted({*far, 0, 1})


@pytest.mark.parametrize("slack", [False, True], ids=["usual", "decided by integers"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    ("sampler", "below"),
    [
        (noise.discrete_laplace, laplace_below),
        (noise.rounded_gaussian, rounded_below),
        (noise.geometric, geometric_below),
    ],
    ids=["laplace", "gaussian", "geometric"],
)
def test_draws_follow_their_distribution(sampler, below, scale, slack, monkeypatch):
    monkeypatch.setattr(lazy, "slack", 1.0 if slack else 0.0)
    count = 400 if slack else COUNT
    drawn = np.asarray(sampler(Fraction(scale), count))
    at = float(Fraction(scale))
    assert fits(drawn, below(at), cells(at))
    assert not fits(drawn // 2, below(at), cells(at)) or at < 1 or slack


@pytest.mark.parametrize("sigma", ["1/2", "3", "41"])
def test_discrete_gaussian_draws_follow_their_distribution(sigma):
    drawn = np.asarray(noise.discrete_gaussian(Fraction(sigma), COUNT))
    at = float(Fraction(sigma))
    assert fits(drawn, discrete_below(at), cells(at))


def is_share(hits: int, count: int, chance: float) -> bool:
    """Whether so many hits are no surprise, by Hoeffding's bound."""
    return abs(hits / count - chance) < math.sqrt(math.log(2 / RISK) / 2 / count)


@pytest.mark.parametrize("chance", ["1/2", "1/3", "1/1000", "77/256"])
def test_coins_fall_as_often_as_they_should(chance):
    hits = noise.bernoulli(Fraction(chance), 2 * COUNT)
    assert is_share(int(hits.sum()), hits.size, float(Fraction(chance)))
    assert abs(np.corrcoef(hits[1:], hits[:-1])[0, 1]) < 0.1 or float(Fraction(chance)) < 0.01


@pytest.mark.parametrize("gamma", ["1/7", "1", "3"])
def test_exponential_coins_fall_as_often_as_they_should(gamma):
    hits = noise.bernoulli_exp(Fraction(gamma), 2 * COUNT)
    assert is_share(int(hits.sum()), hits.size, math.exp(-float(Fraction(gamma))))


def test_selections_follow_their_weights():
    scores, weights = [0, -1, -3, 2, 2], [1, 5, 9, 1, 2]
    drawn = noise.select(scores, "1/2", weights, COUNT)
    mass = np.array(weights) * np.exp(np.array(scores) / 2)
    total = np.cumsum(mass / mass.sum())
    assert fits(drawn, lambda k: np.concatenate([[0.0], total])[k.astype(int)], [1, 2, 3, 4])


@pytest.mark.parametrize("bound", [2, 3, 1000, 3 << 61])
def test_whole_numbers_are_uniform(bound):
    drawn = np.asarray(noise.uniform_below(bound, COUNT))
    edges = sorted({bound * part // 8 for part in range(1, 8)} - {0})
    assert fits(drawn.astype(float), lambda k: k / bound, [float(edge) for edge in edges])


@pytest.mark.parametrize("place", [0, 3])
def test_orders_are_uniform(place):
    drawn = np.array([noise.permutation(4)[place] for _ in range(600)])
    assert fits(drawn, lambda k: k / 4, [1, 2, 3])


def test_vectors_have_radii_of_a_gamma_distribution_and_any_direction():
    drawn = norm_gamma(COUNT, 3, 2.0)
    radii = np.linalg.norm(drawn, axis=1)
    # the mean of Gamma(3, 2) is 6, its variance 12
    assert abs(radii.mean() - 6) < 7 * math.sqrt(12 / COUNT)
    directions = drawn / radii[:, None]
    assert (abs(directions.mean(axis=0)) < 7 / math.sqrt(3 * COUNT)).all()
    assert (abs((directions**2).mean(axis=0) - 1 / 3) < 7 * math.sqrt(4 / 45 / COUNT)).all()


DRAWS: dict[str, Callable[[], object]] = {
    "laplace": lambda: noise.discrete_laplace(2**40, 64),
    "small laplace": lambda: noise.discrete_laplace(3, 64),
    "gaussian": lambda: noise.rounded_gaussian(2**40, 64),
    "discrete gaussian": lambda: noise.discrete_gaussian(1000, 64),
    "geometric": lambda: noise.geometric(2**40, 64),
    "coins": lambda: noise.bernoulli("1/2", 256),
    "exponential coins": lambda: noise.bernoulli_exp("2/3", 256),
    "selection": lambda: noise.select(list(range(100)), "1/100", None, 64),
    "numbers": lambda: noise.uniform_below(1 << 63, 64),
    "few numbers": lambda: noise.uniform_below(3 << 61, 64),
    "order": lambda: noise.permutation(64),
    "words": lambda: noise.random_words(8),
    "bytes": lambda: np.frombuffer(noise.random_bytes(64), np.uint8),
    "vectors": lambda: norm_gamma(8, 4, 1.0),
}


@pytest.mark.parametrize("name", list(DRAWS))
def test_no_draw_comes_twice_and_entries_differ(name):
    first, second = np.asarray(DRAWS[name]()), np.asarray(DRAWS[name]())
    assert not np.array_equal(first, second)
    assert len(np.unique(first)) > 1
    # what is between two calls is not the same for all entries either
    assert len(np.unique(second.astype(float) - first.astype(float))) > 1


def test_more_digits_of_a_uniform_are_new_each_time():
    seen = set()
    for _ in range(32):
        uniform = lazy.LazyUniform(0, 1)
        uniform.reveal()
        seen.add(uniform.head)
    assert len(seen) > 16


def test_numbers_drawn_one_by_one_differ_even_where_words_are_drawn_again():
    """Of a range of three quarters of all words, one in four words is drawn again."""
    drawn = [noise.uniform_below(3 << 61) for _ in range(120)]
    assert len(set(drawn)) == len(drawn)


def test_proposals_of_a_selection_are_accepted_as_often_as_they_should_be(monkeypatch):
    """A candidate that is proposed twice as often as its weight says is accepted every other time."""
    rate = Fraction("39.1043")  # exp(-rate) is 1.5·2^-57, and 3·2^-57 is what it is proposed with
    envelope = selection._envelope(np.array([0, -1]), rate, None)
    assert int(envelope.counts[1]) == 3
    last = int(envelope.cumulative[-1]) - 1
    monkeypatch.setattr(selection, "fill_below", lambda bound, out: out.fill(last))
    proposals = np.empty(400, np.int64)
    first, second = envelope._propose(proposals), envelope._propose(proposals)
    assert is_share(first.size, 400, 0.5)
    assert not np.array_equal(first, second)
