"""Draws in doubt: deciding all of them in integers changes nothing, and the ends of U are right."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.noise import entropy, gaussian, inversion, laplace, lazy
from discreet.noise.lazy import LazyUniform
from discreet.noise.parameters import SMALLEST_SCALE

SCALES = [Fraction(1, 2**40), 1e-3, 0.3, 0.7, 1, 1e3, 1e6, 2**20, 2**20 + 1, 1e9, 2**40, 2**50]
SAMPLERS = [
    noise.discrete_laplace,
    noise.geometric,
    noise.rounded_gaussian,
    noise.discrete_gaussian,
]


def both_ways(
    draw: Callable[[], np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> tuple[np.ndarray, np.ndarray]:
    """The same words, decided in floating point where that suffices, then always in integers.

    Bits for refinement come from the stream's second key, so both runs read the same words.
    """
    with entropy.fixed("both ways"):
        usual = draw()
    monkeypatch.setattr(lazy, "slack", 2.0)
    with entropy.fixed("both ways"):
        forced = draw()
    return usual, forced


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_refining_every_draw_changes_none(
    sampler: Callable[..., np.ndarray],
    scale: float | Fraction,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = 0
    below = LazyUniform.below

    def counted(self: LazyUniform, enclosure: object) -> bool:
        nonlocal calls
        calls += 1
        return below(self, enclosure)  # type: ignore[arg-type]

    monkeypatch.setattr(LazyUniform, "below", counted)
    usual, forced = both_ways(lambda: sampler(scale, 1000), monkeypatch)
    assert calls >= 1000
    np.testing.assert_array_equal(usual, forced)


@pytest.mark.parametrize("gamma", [Fraction(1, 7), 3, 100])
def test_refining_every_coin_changes_none(gamma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, forced = both_ways(lambda: noise.bernoulli_exp(gamma, 1000), monkeypatch)
    np.testing.assert_array_equal(usual, forced)


@pytest.mark.parametrize("factor", [0, Fraction(1, 3), 2.5, 10**30])
@pytest.mark.parametrize("weights", [None, [1, 0, 2**61, 7, 3]])
def test_refining_every_selection_changes_none(
    factor: float, weights: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = [1, -5, -60, 4, -(2**63)]
    usual, forced = both_ways(lambda: noise.select(scores, factor, weights, size=1000), monkeypatch)
    np.testing.assert_array_equal(usual, forced)


def test_floats_that_are_too_rough_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a quantile wrong by 1e-3, not refined, differs from the exact one."""
    distribution = laplace._geometric(Fraction(10))

    def rough(u: np.ndarray) -> None:
        distribution.quantile(u)
        u += 1e-3

    wrong = inversion.Inversion(rough, 0.0, distribution.threshold, distribution.guess)
    words = np.random.default_rng(2).integers(0, 2**64, 20_000, np.uint64)
    work = inversion.Workspace(words.size)
    right, other = np.empty(words.size, np.int64), np.empty(words.size, np.int64)
    distribution.fill(words, right, work)
    wrong.fill(words, other, work)
    assert (right != other).any()
    # and with an error bound that covers the mistake, refinement repairs it
    inversion.Inversion(rough, 2e-3, distribution.threshold, distribution.guess).fill(
        words, other, work
    )
    np.testing.assert_array_equal(right, other)


class Words:
    """A stream whose words are all the same; bits beyond them are random or the same."""

    def __init__(self, word: int, bit: int | None = None) -> None:
        self.word = word
        self.bit = bit
        self.extra = 0

    def fill(self, out: np.ndarray) -> None:
        out[:] = self.word

    def words(self, size: int) -> np.ndarray:
        return np.full(size, self.word, np.uint64)

    def bits(self, count: int) -> int:
        self.extra += count
        if self.bit is not None and self.extra < 1000:
            return self.bit * ((1 << count) - 1)
        return int.from_bytes(noise.entropy.os.urandom(count // 8), "little")


SIGN = 1 << 63


@pytest.mark.parametrize("scale", [SMALLEST_SCALE, Fraction("1e-3"), 0.5, 1, 1e3, 2.0**20])
@pytest.mark.parametrize("bit", [0, 1, None])
def test_both_ends_of_u(
    scale: float | Fraction, bit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = Fraction(scale)
    distributions = {
        noise.geometric: laplace._geometric(exact),
        noise.discrete_laplace: laplace._laplace_magnitude(exact),
        noise.rounded_gaussian: gaussian._magnitude(exact),
    }
    for sampler, distribution in distributions.items():
        ones = Words(2**64 - 1, bit)
        monkeypatch.setattr(entropy, "current", lambda ones=ones: ones)
        assert sampler(scale) == 0  # U just below 1
        zeros = Words(0, bit)
        monkeypatch.setattr(entropy, "current", lambda zeros=zeros: zeros)
        largest = sampler(scale)  # U below 2**-63: refined until enough bits are known
        assert zeros.extra >= 64
        least = distribution.exact(LazyUniform((1 << 200) >> 63, 200))  # U = 2**-63
        assert least <= largest < 2**32
        if bit == 0:  # a thousand zeros: U below 2**-1000
            assert largest >= distribution.exact(LazyUniform(1 << 200, 1200))


def test_smallest_words_are_refined_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    exact = inversion.Inversion.exact

    def spy(self: inversion.Inversion, uniform: LazyUniform) -> int:
        seen.append(uniform.head)
        return exact(self, uniform)

    monkeypatch.setattr(inversion.Inversion, "exact", spy)
    distribution = laplace._geometric(Fraction(1, 2))
    words = np.array([2**43 - 1, 2**43, SIGN | 4, 2**62 + 12345], np.uint64)
    out = np.empty(4, np.int64)
    distribution.fill(words, out, inversion.Workspace(4))
    assert seen == [2**43 - 1, 4]
    assert out.tolist() == [6, 6, 21, 0]


@pytest.mark.parametrize("guess", [-5, 0, 1, 7, 8, 20, 500])
def test_the_guess_changes_nothing(guess: int) -> None:
    distribution = laplace._geometric(Fraction(10))
    for head in (2**62, 2**61 + 12345, 3**30):
        expected = LazyUniform(head, 63).last_below(0, distribution.threshold)
        assert LazyUniform(head, 63).last_below(guess, distribution.threshold) == expected


@pytest.mark.parametrize("bits", [0, 1, 63])
def test_a_tie_with_a_dyadic_threshold_ends(bits: int) -> None:
    """U < p for a dyadic p with enclosures that never get exact: further bits decide."""
    for _ in range(50):
        uniform = LazyUniform((1 << bits) >> 1, bits)
        decided = uniform.below(lambda b: ((1 << b >> 1) - 1, (1 << b >> 1) + 1))
        assert decided == (2 * uniform.head < 1 << uniform.bits)


def test_a_draw_of_thousands_of_scales_raises_and_never_wraps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    distribution = laplace._geometric(Fraction(2**20))
    with pytest.raises(OverflowError, match="entropy"):
        distribution.exact(LazyUniform(1 << 64, 64 + 6100))
    # The largest magnitudes that don't raise stay below 2**62 at the largest scale.
    most = distribution.exact(LazyUniform(1 << 64, 64 + 5900))
    assert most << inversion.shift_of(Fraction(2**50)) < 2**62


def test_shift() -> None:
    for scale in [Fraction(1, 3), Fraction(2**20), Fraction(2**20) + Fraction(1, 9), 2**21, 2**50]:
        shift = inversion.shift_of(Fraction(scale))
        assert Fraction(scale) / 2**shift <= 2**20
        assert shift == 0 or Fraction(scale) / 2**shift > 2**19
    assert inversion.shift_of(Fraction(2**50)) == 30


@pytest.mark.parametrize("cell", [0, 1, 5])
def test_position_in_a_cell(cell: int) -> None:
    """Accepted with the mean of exp(-((J + W)^2 - J^2) / (2 tau^2)), from no bits at all."""
    tau = Fraction(3, 2)
    w = (np.arange(10_000) + 0.5) / 10_000
    exact = np.exp(-((cell + w) ** 2 - cell**2) / (2 * float(tau) ** 2)).mean()
    with entropy.fixed(f"cell {cell}"):
        accepted = np.mean(
            [gaussian._accept(cell, tau, LazyUniform(0, 0), LazyUniform(0, 0)) for _ in range(4000)]
        )
    assert abs(accepted - exact) < 4.5 * np.sqrt(exact * (1 - exact) / 4000)
