"""Shapes, types and refusals of the public functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise

Sampler = Callable[..., Any]
SCALED: list[Sampler] = [
    noise.discrete_laplace,
    noise.geometric,
    noise.rounded_gaussian,
    noise.discrete_gaussian,
]
SHAPED: list[Sampler] = [
    *[lambda size, f=f, s=s: f(s, size) for f in SCALED for s in (1, 2**40)],
    lambda size: noise.uniform_below(10, size),
    lambda size: noise.select([1, 2, 3], 1, size=size),
]
COINS: list[Sampler] = [
    *[lambda size, p=p: noise.bernoulli(p, size) for p in (0, 0.3, 1)],
    *[lambda size, g=g: noise.bernoulli_exp(g, size) for g in (0, 0.3, 10**9)],
]


def test_names() -> None:
    assert sorted(noise.__all__) == noise.__all__
    public = {name for name in noise.__all__ if name != "entropy"}
    assert all(callable(getattr(noise, name)) for name in public)
    assert all(getattr(noise, name).__doc__ for name in noise.__all__)


@pytest.mark.parametrize("draw", SHAPED)
def test_shapes(draw: Sampler) -> None:
    assert type(draw(None)) is int
    for size in (0, 1, 5, (), (3,), (2, 3), (0, 4), (2, 0), np.int64(3), 20_000, 16_384, 16_385):
        result = draw(size)
        assert result.dtype == np.int64
        assert result.shape == np.empty(size).shape
        result += 1  # a fresh array of the caller's own


@pytest.mark.parametrize("draw", COINS)
def test_shapes_of_coins(draw: Sampler) -> None:
    assert type(draw(None)) is bool
    for size in (0, 1, 5, (), (2, 3), (0, 4), 10_001):
        result = draw(size)
        assert result.dtype == np.bool_
        assert result.shape == np.empty(size).shape


@pytest.mark.parametrize("draw", SHAPED + COINS)
def test_bad_sizes(draw: Sampler) -> None:
    for size in (-1, (2, -1), True, (True,)):
        with pytest.raises(ValueError, match="size"):
            draw(size)
    for size in (1.0, "3", (1.5,), [2]):
        with pytest.raises(TypeError, match="size"):
            draw(size)


SAME = [
    0.75,
    Fraction(3, 4),
    Decimal("0.75"),
    "0.75",
    "3/4",
    np.float64(0.75),
    np.float32(0.75),
    np.longdouble(0.75),
]


@pytest.mark.parametrize("sampler", [*SCALED, noise.bernoulli, noise.bernoulli_exp])
def test_equal_numbers_give_equal_noise(sampler: Sampler) -> None:
    results = []
    for value in SAME:
        with noise.entropy.fixed(5):
            results.append(sampler(value, 50).tolist())
    assert all(result == results[0] for result in results)
    with noise.entropy.fixed(5):
        integers = [sampler(one, 50).tolist() for one in [1]]
    for one in (np.int32(1), np.uint8(1), 1.0, "1", Decimal(1)):
        with noise.entropy.fixed(5):
            assert sampler(one, 50).tolist() == integers[0]


@pytest.mark.parametrize("sampler", SCALED)
def test_bad_scales(sampler: Sampler) -> None:
    name = "sigma" if "gaussian" in sampler.__name__ else "scale"
    beyond = [
        0,
        -1,
        0.0,
        -0.0,
        "-1",
        2**50 + 1,
        1e300,
        10**400,
        2.0**-41,
        5e-324,
        Fraction(1, 10**400),
    ]
    for value in [*beyond, math.nan, math.inf, -math.inf, np.float64("nan"), Decimal("Infinity")]:
        with pytest.raises(ValueError, match=name):
            sampler(value, 3)
    for value in ("one", "", "1/0"):
        with pytest.raises(ValueError, match=name):
            sampler(value, 3)
    for value in (True, np.True_, None, [1], 1j, np.array([1.0]), b"1"):
        with pytest.raises(TypeError, match=name):
            sampler(value, 3)
    with pytest.raises(ValueError, match=name):
        sampler(-1, 0)  # also when nothing is drawn
    for value in (Fraction(1, 2**40), 2**50, Fraction(2**50) - Fraction(1, 3**99)):
        assert sampler(value, 3).shape == (3,)


def test_bad_probabilities() -> None:
    for value in (-0.1, 1.0000001, 2, math.nan, math.inf, "x"):
        with pytest.raises(ValueError, match="p must"):
            noise.bernoulli(value, 3)
    for value in (-0.1, "-1/3", math.nan, math.inf):
        with pytest.raises(ValueError, match="gamma"):
            noise.bernoulli_exp(value, 3)
    for none in (None, True):
        with pytest.raises(TypeError, match="p must"):
            noise.bernoulli(none)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="gamma"):
        noise.bernoulli_exp([1])  # type: ignore[call-overload]


def test_certain_coins() -> None:
    assert noise.bernoulli(1, 1000).all()
    assert not noise.bernoulli(0, 1000).any()
    assert noise.bernoulli_exp(0, 1000).all()
    assert not noise.bernoulli_exp(10**100, 1000).any()
    assert not noise.bernoulli(Fraction(1, 2**200), 1000).any()
    assert noise.bernoulli(1 - Fraction(1, 2**200), 1000).all()
    assert noise.bernoulli_exp(Fraction(1, 2**200), 1000).all()


def test_coins_read_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    words = noise.entropy.Stream.words

    def counted(self: noise.entropy.Stream, size: int) -> np.ndarray:
        nonlocal read
        read += 8 * size
        return words(self, size)

    monkeypatch.setattr(noise.entropy.Stream, "words", counted)
    noise.bernoulli(Fraction(1, 3), 100_000)
    assert read < 1.05 * 100_000


def test_uniform_below_ends() -> None:
    assert not noise.uniform_below(1, 100).any()
    assert set(noise.uniform_below(2, 200).tolist()) == {0, 1}
    assert noise.uniform_below(2**63, 100).min() >= 0
    for value in (0, -1, 2**63 + 1, True):
        with pytest.raises(ValueError, match="n must"):
            noise.uniform_below(value, 3)
    for value in (2.0, "3", None):
        with pytest.raises(TypeError, match="n must"):
            noise.uniform_below(value, 3)  # type: ignore[call-overload]


def test_permutation_and_raw_bits() -> None:
    for size in (0, 1, 2, 1000):
        order = noise.permutation(size)
        assert order.dtype == np.int64
        assert sorted(order.tolist()) == list(range(size))
    for size in (0, 1, 7, 8, 9, 5000):
        assert len(noise.random_bytes(size)) == size
        assert noise.random_words(size).shape == (size,)
    for act in (noise.permutation, noise.random_bytes, noise.random_words):
        with pytest.raises(ValueError, match="n must"):
            act(-1)
        with pytest.raises(TypeError, match="n must"):
            act(1.0)  # type: ignore[arg-type]


def test_equal_words_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [[5, 5, 1], [7, 7, 7], [3, 1, 2]]

    class Repeating:
        def words(self, size: int) -> np.ndarray:
            return np.array(answers.pop(0), np.uint64)

    monkeypatch.setattr(noise.entropy, "current", Repeating)
    assert noise.permutation(3).tolist() == [1, 2, 0]
    assert not answers


def test_select_edges() -> None:
    least, most = -(2**63), 2**63 - 1
    assert noise.select([7], 1) == 0
    assert noise.select([least], 10**30, [1]) == 0
    assert not noise.select([most, least], Fraction(1, 2**50), size=100).any()
    assert noise.select([least, most, least], 1, [1, 0, 0]) == 0
    assert noise.select([least, most, least], 1, [0, 2**62, 0]) == 1
    assert set(noise.select([most, least, most], 10**300, size=200).tolist()) == {0, 2}
    assert set(noise.select([3, 3, 3], 5, size=200).tolist()) == {0, 1, 2}
    assert set(noise.select(np.array([1, 2, 3], np.int8), 0, size=200).tolist()) == {0, 1, 2}
    assert set(noise.select([0, 5, 9], 0, [1, 0, 1], (20, 10)).ravel().tolist()) == {0, 2}
    assert (noise.select([0, 0], 0, [2**62, 1], size=1000) == 0).all()
    assert (noise.select([0, 40], 1, [2**62 - 1, 1], size=1000) == 0).sum() > 900


def test_select_leaves_its_arguments_alone() -> None:
    scores, weights = np.array([5, 1, 9]), np.array([0, 2, 3])
    noise.select(scores, 0.5, weights, size=10)
    assert scores.tolist() == [5, 1, 9]
    assert weights.tolist() == [0, 2, 3]


def test_select_refuses() -> None:
    for scores in ([], [[1, 2]], [2**63], [-(2**63) - 1]):
        with pytest.raises((ValueError, TypeError), match="scores"):
            noise.select(scores, 1)  # type: ignore[call-overload]
    for scores in ([1.5, 2.0], ["a"], [True, False], np.array([1], np.uint64), None):
        with pytest.raises((TypeError, ValueError), match="scores"):
            noise.select(scores, 1)  # type: ignore[call-overload]
    for weights in ([1], [1, -1], [0, 0], [[1, 1]]):
        with pytest.raises(ValueError, match="weights"):
            noise.select([1, 2], 1, weights)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="weights"):
        noise.select([1, 2], 1, [0.5, 0.5])  # type: ignore[call-overload]
    for factor in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match="factor"):
            noise.select([1, 2], factor)
    with pytest.raises(TypeError, match="factor"):
        noise.select([1, 2], True)


def test_refusals_hold_no_score() -> None:
    secret = 8234567890123456789
    for scores in ([[secret]], [secret, 0.5], [secret * 10], [secret, None]):
        with pytest.raises((TypeError, ValueError)) as caught:
            noise.select(scores, 1)  # type: ignore[call-overload]
        assert str(secret)[:6] not in str(caught.value)
        assert caught.value.__cause__ is None
