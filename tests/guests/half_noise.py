"""The control: a copy of the toolkit that draws half of the noise, everywhere.

Randomness for privacy is made in `discreet.noise` alone, so that is the only place to weaken: scales are
halved, chances have their odds squared, weights of selections are squared. Each of these doubles the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def half_scale(honest: Callable[..., Any]) -> Callable[..., Any]:
    return lambda scale, size=None: honest(rational(scale, "scale") / 2, size)


def squared_odds(honest: Callable[..., Any]) -> Callable[..., Any]:
    def bernoulli(p: Any, size: Any = None) -> Any:
        chance = rational(p, "p")
        return honest(chance**2 / (chance**2 + (1 - chance) ** 2), size)

    return bernoulli


def twice_the_exponent(honest: Callable[..., Any]) -> Callable[..., Any]:
    return lambda gamma, *rest: honest(2 * rational(gamma, "gamma"), *rest)


def twice_the_rate(honest: Callable[..., Any]) -> Callable[..., Any]:
    return lambda scores, rate, *rest, **named: honest(
        scores, 2 * rational(rate, "rate"), *rest, **named
    )


#: Each function of `discreet.noise` that is drawn from for privacy, and how it is weakened.
WEAKENED = {
    "discrete_laplace": half_scale,
    "geometric": half_scale,
    "rounded_gaussian": half_scale,
    "discrete_gaussian": half_scale,
    "bernoulli": squared_odds,
    "bernoulli_exp": twice_the_exponent,
    "select": twice_the_rate,
}


def respond_with_fewer_lies(codes: Any, k: int, lie: Fraction, coin: Callable[..., Any]) -> Any:
    """Each other value e^-2ε times as likely as the true one, in place of e^-ε."""
    odds = (lie / (k - 1) / (1 - lie)) ** 2 * (k - 1)
    lies = coin(odds / (1 + odds), codes.shape)
    shift = noise.uniform_below(k - 1, int(np.count_nonzero(lies))) + 1
    told = codes.copy()
    told[lies] = (told[lies] + shift) % k
    return told


#: The others draw evenly: there is no noise to halve.
EVEN = {"permutation", "random_bytes", "random_words", "uniform_below", "entropy"}


@contextmanager
def half_the_noise() -> Iterator[None]:
    """Draw half of the noise inside the block."""
    with pytest.MonkeyPatch.context() as patch:
        coin = noise.bernoulli
        # how often something runs is drawn by coins as well: with other odds it would run far more often
        patch.setattr(best_of, "noise", SimpleNamespace(bernoulli=coin))
        for name, weaken in WEAKENED.items():
            patch.setattr(noise, name, weaken(getattr(noise, name)))
        for module in (response, hashing, perturbed_rows):
            patch.setattr(module, "respond", partial(respond_with_fewer_lies, coin=coin))
        honest = bingham.bingham
        patch.setattr(bingham, "bingham", lambda matrix, *count: honest(2 * matrix, *count))
        for module in (erm_norm_gamma, perturbed_rows):
            drawn = module.norm_gamma
            patch.setattr(module, "norm_gamma", lambda *a, drawn=drawn: np.asarray(drawn(*a)) / 2)
        yield
