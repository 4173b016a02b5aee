"""Coins: with a rational probability, or with probability exp(-gamma)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from discreet.noise import entropy, lazy
from discreet.noise.arrays import Integers, Size, shape_of
from discreet.noise.enclosures import exp_minus
from discreet.noise.lazy import LazyUniform
from discreet.rational import Number, non_negative

__all__ = ["bernoulli", "bernoulli_exp"]

Coins: TypeAlias = NDArray[np.bool_]


@overload
def bernoulli(p: Number, size: None = None) -> bool: ...
@overload
def bernoulli(p: Number, size: int | tuple[int, ...]) -> Coins: ...
def bernoulli(p: Number, size: Size = None) -> Coins | bool:
    """Draw booleans that are True with probability exactly `p`.

    Parameters
    ----------
    p : int, float, Fraction, Decimal or str
        Between 0 and 1. A float stands for the decimal that it prints as: 0.1 is one tenth.
    size : int, tuple of int or None
        Shape of the result; None gives one Python bool.

    Notes
    -----
    A uniform real U is compared with p digit by digit in base 256, and a digit of U is drawn only
    where all before it were equal to those of p: 256/255 random bytes per coin.

    Examples
    --------
    >>> from discreet import noise
    >>> noise.bernoulli(1), noise.bernoulli(0)
    (True, False)
    >>> 200 < int(noise.bernoulli("1/3", 1_000).sum()) < 470
    True
    """
    probability = non_negative(p, "p")
    if probability > 1:
        raise ValueError(f"p must lie between 0 and 1; got {p}")
    shape = shape_of(size)
    coins = _below(probability, math.prod(shape))
    return bool(coins[0]) if size is None else coins.reshape(shape)


def _below(probability: Fraction, size: int) -> Coins:
    if probability == 1:
        return np.ones(size, np.bool_)
    coins = np.zeros(size, np.bool_)
    stream = entropy.current()
    pending: Integers | None = None  # None: every coin
    count, rest = size, probability
    while count and rest:  # rest = 0: p ends here, so whoever is still equal has U >= p
        digit = int(rest * 256)
        rest = rest * 256 - digit
        drawn = stream.words(-(-count // 8)).view(np.uint8)[:count]
        coins[slice(None) if pending is None else pending] = drawn < digit
        equal = np.flatnonzero(drawn == digit)
        pending = equal if pending is None else pending[equal]
        count = pending.size
    return coins


@overload
def bernoulli_exp(gamma: Number, size: None = None) -> bool: ...
@overload
def bernoulli_exp(gamma: Number, size: int | tuple[int, ...]) -> Coins: ...
def bernoulli_exp(gamma: Number, size: Size = None) -> Coins | bool:
    """Draw booleans that are True with probability exactly ``exp(-gamma)``.

    Parameters
    ----------
    gamma : int, float, Fraction, Decimal or str
        Zero or positive. A float stands for the decimal that it prints as: 0.1 is one tenth.
    size : int, tuple of int or None
        Shape of the result; None gives one Python bool.

    Notes
    -----
    No floating point: 64 bits of U are compared with integers that enclose 2**64 exp(-gamma), and
    the one in 2**62 that falls between these draws further bits.

    Examples
    --------
    >>> from discreet import noise
    >>> 250 < int(noise.bernoulli_exp(1, 1_000).sum()) < 490  # e^-1 is 0.37
    True
    """
    exponent = non_negative(gamma, "gamma")
    shape = shape_of(size)
    coins = _below_exp(exponent, math.prod(shape))
    return bool(coins[0]) if size is None else coins.reshape(shape)


def _below_exp(exponent: Fraction, size: int) -> Coins:
    if exponent == 0:
        return np.ones(size, np.bool_)
    numerator, denominator = exponent.numerator, exponent.denominator
    low, high = exp_minus(numerator, denominator, 64)  # low < 2**64 since exponent > 0
    words = entropy.current().words(size)
    if size == 1 and not lazy.slack and not low <= int(words[0]) < high:
        return np.array([int(words[0]) < low])  # one coin, as most are tossed: without doubt
    coins: Coins = words < np.uint64(low)
    if lazy.slack:
        doubtful = np.arange(size)
    else:  # low <= word < high, by subtraction modulo 2**64
        doubtful = np.flatnonzero(words - np.uint64(low) < np.uint64(high - low))
    for index in doubtful.tolist():
        uniform = LazyUniform(int(words[index]), 64)
        coins[index] = uniform.below(lambda bits: exp_minus(numerator, denominator, bits))
    return coins
