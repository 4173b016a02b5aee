"""The integer sum of a batch, block by block, with products of matrices put off until several blocks wait.

A product for many persons at once reads and writes the sum once, where one for each block would do it each
time. All numbers are whole, so it makes no difference to the sum.

Proof page: ``docs/proofs/deep.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from discreet.deep.grid import MAX_BLOCK, Products, Whole

__all__ = ["IntegerTotal", "Placed"]

Integers = npt.NDArray[np.int64]
#: So many times the numbers of a sum are kept in factors before they are multiplied.
MAX_WAITING = 3


@final
@dataclass(frozen=True)
class Placed:
    """What the persons of a block add to some of the parameters' numbers, from `start` on."""

    start: int
    stop: int
    whole: Whole


@final
class IntegerTotal:
    """A sum over all persons of a batch, exact modulo 2^64.

    Parameters
    ----------
    size : int
        How many numbers the trained parameters have.

    Privacy
    -------
    Whole numbers of up to `MAX_BLOCK` persons add up in float64 without rounding, those of more in 64-bit
    integers: a person adds exactly what their own block gave.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._integers: Integers | None = None
        self._floats: npt.NDArray[np.float64] | None = None
        self._persons = 0
        self._waiting: dict[tuple[int, int], list[Products]] = {}

    def add_integers(self, found: Integers) -> None:
        """Add a block that was added up before."""
        self._integers = found if self._integers is None else self._integers + found

    def add(self, placed: Iterable[Placed], persons: int) -> None:
        """Add what a block of at most so many persons adds."""
        if self._persons + persons > MAX_BLOCK:
            self._settle()
        self._persons += persons
        if self._floats is None:
            self._floats = np.zeros(self._size)
        for each in placed:
            if isinstance(each.whole, Products):
                self._put_off((each.start, each.stop), each.whole)
            else:
                self._floats[each.start : each.stop] += each.whole

    def total(self) -> Integers:
        """The sum; zeros if nothing was added."""
        self._settle()
        return np.zeros(self._size, np.int64) if self._integers is None else self._integers

    def _put_off(self, where: tuple[int, int], products: Products) -> None:
        """Keep factors for later, but no more than some times the numbers of their sum."""
        waiting = self._waiting.setdefault(where, [])
        waiting.append(products)
        if sum(each.size for each in waiting) >= MAX_WAITING * (where[1] - where[0]):
            self._multiply(where)

    def _multiply(self, where: tuple[int, int]) -> None:
        assert self._floats is not None
        self._floats[slice(*where)] += Products.join(self._waiting.pop(where)).total()

    def _settle(self) -> None:
        """Turn what was added so far into integers, which have no largest number of persons."""
        for where in list(self._waiting):
            self._multiply(where)
        if self._floats is not None:
            self.add_integers(self._floats.astype(np.int64))
        self._floats, self._persons = None, 0
