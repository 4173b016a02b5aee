"""Uniform integers, permutations, and raw random words."""

from __future__ import annotations

import operator
from typing import Final, SupportsIndex, overload

import numpy as np

from discreet.noise import entropy
from discreet.noise.arrays import BLOCK, Integers, Size, Words, blocks, fill_shape

__all__ = ["fill_below", "permutation", "random_bytes", "random_words", "uniform_below"]

_LARGEST_PERMUTATION: Final = 1 << 32


def _count(name: str, value: SupportsIndex, minimum: int, maximum: int) -> int:
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be an int, not a bool")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, not {type(value).__name__}") from None
    if not minimum <= number <= maximum:
        raise ValueError(f"{name} must lie between {minimum} and {maximum}; got {number}")
    return number


def random_words(n: SupportsIndex) -> Words:
    """Return `n` independent uniform 64-bit words.

    Examples
    --------
    >>> from discreet import noise
    >>> noise.random_words(3).dtype.name
    'uint64'
    """
    return entropy.current().words(_count("n", n, 0, 1 << 40))


def random_bytes(n: SupportsIndex) -> bytes:
    """Return `n` independent uniform bytes.

    Examples
    --------
    >>> from discreet import noise
    >>> len(noise.random_bytes(16))
    16
    """
    size = _count("n", n, 0, 1 << 40)
    return entropy.current().words(-(-size // 8)).tobytes()[:size]


@overload
def uniform_below(n: SupportsIndex, size: None = None) -> int: ...
@overload
def uniform_below(n: SupportsIndex, size: int | tuple[int, ...]) -> Integers: ...
def uniform_below(n: SupportsIndex, size: Size = None) -> Integers | int:
    """Draw integers from 0 to n - 1, all equally likely.

    Parameters
    ----------
    n : int
        From 1 to 2**63.
    size : int, tuple of int or None
        Shape of the result; None gives one Python int.

    Examples
    --------
    >>> from discreet import noise
    >>> noise.uniform_below(6) in range(6)
    True
    >>> sorted(set(noise.uniform_below(6, size=1_000).tolist()))
    [0, 1, 2, 3, 4, 5]
    """
    bound = _count("n", n, 1, 1 << 63)
    return fill_shape(size, lambda out: fill_below(bound, out))


def fill_below(bound: int, out: Integers) -> None:
    """Overwrite a flat array by uniform integers below `bound`, which must have been checked."""
    stream = entropy.current()
    words: Words = np.empty(min(out.size, BLOCK), np.uint64)
    # Words from the last, incomplete run of `bound` are drawn again, so that every remainder belongs to
    # the same number of words.
    surplus = (1 << 64) % bound
    last = np.uint64((1 << 64) - surplus - 1)
    divisor = np.uint64(bound)
    for block in blocks(out.size):
        part = out[block]
        head = words[: part.size]
        stream.fill(head)
        if surplus:
            rejected = np.flatnonzero(head > last)
            while rejected.size:
                head[rejected] = stream.words(rejected.size)
                rejected = rejected[head[rejected] > last]
        # word - (word // bound) * bound: faster in NumPy than the remainder, and the same
        quotients = head // divisor
        np.multiply(quotients, divisor, out=quotients)
        np.subtract(head, quotients, out=part.view(np.uint64))


def permutation(n: SupportsIndex) -> Integers:
    """Return the integers from 0 to n - 1 in an order drawn uniformly from all n! orders.

    Notes
    -----
    Random words are sorted. Given that all are different, each of their orders is equally likely,
    by symmetry; if two are equal, all are drawn again.

    Examples
    --------
    >>> from discreet import noise
    >>> sorted(noise.permutation(4).tolist())
    [0, 1, 2, 3]
    """
    size = _count("n", n, 0, _LARGEST_PERMUTATION)
    stream = entropy.current()
    while True:
        words = stream.words(size)
        order: Integers = np.argsort(words).astype(np.int64, copy=False)
        ordered = words[order]
        if not np.any(ordered[1:] == ordered[:-1]):
            return order
