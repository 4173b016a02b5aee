"""The control: a copy of the toolkit that draws half of the noise, everywhere.

Randomness for privacy is made in `discreet.noise` alone, so that is the only place to weaken: scales are
halved, chances have their odds squared, weights of selections are squared. Each of these doubles the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.mechanisms import best_of
from discreet.mechanisms.local import hashing, response
from discreet.models.erm import norm_gamma as erm_norm_gamma
from discreet.noise import bingham
from discreet.publish import rows as perturbed_rows
from discreet.rational import rational


def scaled(share: Fraction, honest: Callable[..., Any]) -> Callable[..., Any]:
    return lambda scale, size=None: honest(rational(scale, "scale") * share, size)


def longer_odds(share: Fraction, honest: Callable[..., Any]) -> Callable[..., Any]:
    def bernoulli(p: Any, size: Any = None) -> Any:
        chance, power = rational(p, "p"), int(1 / share)
        return honest(chance**power / (chance**power + (1 - chance) ** power), size)

    return bernoulli


def larger_exponent(share: Fraction, honest: Callable[..., Any]) -> Callable[..., Any]:
    return lambda gamma, *rest: honest(rational(gamma, "gamma") / share, *rest)


def larger_rate(share: Fraction, honest: Callable[..., Any]) -> Callable[..., Any]:
    return lambda scores, rate, *rest, **named: honest(
        scores, rational(rate, "rate") / share, *rest, **named
    )


#: Each function of `discreet.noise` that is drawn from for privacy, and how it is weakened.
WEAKENED = {
    "discrete_laplace": scaled,
    "geometric": scaled,
    "rounded_gaussian": scaled,
    "discrete_gaussian": scaled,
    "bernoulli": longer_odds,
    "bernoulli_exp": larger_exponent,
    "select": larger_rate,
}


def respond_with_fewer_lies(
    codes: Any, k: int, lie: Fraction, coin: Callable[..., Any], power: int
) -> Any:
    """Each other value e^-2ε times as likely as the true one, for half the noise, in place of e^-ε."""
    odds = (lie / (k - 1) / (1 - lie)) ** power * (k - 1)
    lies = coin(odds / (1 + odds), codes.shape)
    shift = noise.uniform_below(k - 1, int(np.count_nonzero(lies))) + 1
    told = codes.copy()
    told[lies] = (told[lies] + shift) % k
    return told


#: The others draw evenly: there is no noise to halve.
EVEN = {"permutation", "random_bytes", "random_words", "uniform_below", "entropy"}


def half_the_noise() -> AbstractContextManager[None]:
    """Draw half of the noise inside the block."""
    return part_of_the_noise(Fraction(1, 2))


@contextmanager
def part_of_the_noise(share: Fraction) -> Iterator[None]:
    """Draw this share of the noise inside the block, one over a whole number, which multiplies losses."""
    assert share.numerator == 1
    power = share.denominator
    with pytest.MonkeyPatch.context() as patch:
        coin = noise.bernoulli
        # how often something runs is drawn by coins as well: with other odds it would run far more often
        patch.setattr(best_of, "noise", SimpleNamespace(bernoulli=coin))
        for name, weaken in WEAKENED.items():
            patch.setattr(noise, name, weaken(share, getattr(noise, name)))
        for module in (response, hashing, perturbed_rows):
            fewer_lies = partial(respond_with_fewer_lies, coin=coin, power=power)
            patch.setattr(module, "respond", fewer_lies)
        honest = bingham.bingham
        patch.setattr(bingham, "bingham", lambda matrix, *count: honest(power * matrix, *count))
        for module in (erm_norm_gamma, perturbed_rows):
            drawn = module.norm_gamma
            patch.setattr(
                module, "norm_gamma", lambda *a, drawn=drawn: np.asarray(drawn(*a)) / power
            )
        yield
