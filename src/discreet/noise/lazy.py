"""A uniform real number whose bits are revealed only when a decision needs them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log
from typing import Final, final

from discreet.noise import entropy
from discreet.noise.enclosures import Bounds

__all__ = ["LN2", "WORD_FLOOR", "LazyUniform", "slack"]

LN2: Final = log(2.0)

WORD_FLOOR: Final = 1 << 43
"""A 63-bit word below this (one in 2**20) is refined: its first bits say too little."""

slack: float = 0.0
"""Added to every floating-point error bound; tests raise it to force each draw to be refined."""


@final
class LazyUniform:
    """The real number U in [0, 1), of which the first `bits` binary digits are `head`.

    All that is known of U is ``head <= 2**bits * U < head + 1``. Further digits come from the
    entropy stream when `below` can't decide without them.
    """

    __slots__ = ("bits", "head")

    def __init__(self, head: int, bits: int) -> None:
        self.head = head
        self.bits = bits

    def reveal(self, count: int = 64) -> None:
        """Append `count` fresh random bits."""
        self.head = self.head << count | entropy.current().bits(count)
        self.bits += count

    def below(self, enclosure: Callable[[int], Bounds]) -> bool:
        """Tell whether U < p, where ``enclosure(bits)`` encloses ``2**bits * p``.

        With `bits` digits of U known and an enclosure of width w, at most w of the ``2**bits``
        values of `head` leave the question open: it ends with probability one, for every p.
        """
        while True:
            low, high = enclosure(self.bits)
            if self.head + 1 <= low:
                return True
            if self.head >= high:
                return False
            self.reveal()

    def log(self) -> float:
        """Return about ln U, after revealing enough digits for that. Only ever used to guess."""
        while self.head < WORD_FLOOR:
            self.reveal()
        return log(self.head) - self.bits * LN2

    def last_below(self, guess: int, threshold: Callable[[int, int], Bounds]) -> int:
        """Return the largest k >= 0 with k = 0 or U < p(k), for a falling sequence p(1), p(2), ...

        ``threshold(k, bits)`` encloses ``2**bits * p(k)``. The walk starts at `guess`, which
        changes the time it takes and not the result.
        """
        k = max(0, guess)
        while k > 0 and not self.below(partial(threshold, k)):
            k -= 1
        if k < max(0, guess):
            return k
        while self.below(partial(threshold, k + 1)):
            k += 1
        return k
