"""What a release really tells: the noised sums themselves, before anything is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from readings import Floats

from discreet import mechanisms, testing
from discreet.queries.additive import PreparedSums


class Noised(NamedTuple):
    """Sums that were noised once: by which noise, before it and after it."""

    distribution: Any
    totals: Any
    noised: Any


@dataclass(frozen=True)
class Part:
    """The noise of one part of a query in several parts, which draws for all of them at once."""

    add: Callable[[Any, Any], Any] = field(compare=False)
    noise: Any
    weight: int

    def run(self, totals: Any) -> Any:
        return self.add(totals, self.noise.run(np.zeros_like(totals)))

    def spread(self) -> tuple[str, float]:
        kind, spread = spread_of(self.noise)
        return kind, spread / self.weight


def spread_of(distribution: Any) -> tuple[str, float]:
    """What kind of noise it is, and how far it goes."""
    if isinstance(distribution, Part):
        return distribution.spread()
    if hasattr(distribution, "sigma"):
        return "Gaussian", float(distribution.sigma)
    if hasattr(distribution, "scale"):
        return "Laplace", float(distribution.scale)
    return "Laplace", distribution.width / float(distribution.epsilon)  # stairs, nearly


@contextmanager
def listen() -> Iterator[list[Noised]]:
    """Collect all sums that are noised inside the block.

    What is computed from them can only tell less; an attacker who sees them has the most power.
    """
    heard: list[Noised] = []
    shared: list[Noised] = []
    with pytest.MonkeyPatch.context() as patch:
        for kind in {type(distribution) for distribution in testing.DISTRIBUTIONS} - {
            mechanisms.NoNoise
        }:

            def run(distribution: Any, totals: Any, honest: Any = kind.run) -> Any:
                noised = honest(distribution, totals)
                before = np.array(totals, copy=True)
                heard.append(Noised(distribution, before, np.array(noised, copy=True).ravel()))
                return noised

            patch.setattr(kind, "run", run)
        add = PreparedSums.add_noise

        def add_noise(part: Any, totals: Any, drawn: Any) -> Any:
            if heard and not isinstance(heard[-1].distribution, Part):
                shared.append(heard.pop())  # the noise of all parts, on zeros: nobody is told it
            noise = Part(partial(add, part), shared[-1].distribution, part._weight)
            heard.append(
                Noised(noise, np.array(totals, copy=True), add(part, totals, drawn).ravel())
            )
            return add(part, totals, drawn)

        patch.setattr(PreparedSums, "add_noise", add_noise)
        yield heard


def tell(heard: Sequence[Noised]) -> list[Any]:
    """What an attacker sees of them."""
    return [sums.noised for sums in heard]


def are_alike(first: Sequence[Noised], second: Sequence[Noised]) -> bool:
    """Whether the same noise was added to the same sums, in the same order."""
    return len(first) == len(second) and all(
        one.distribution == other.distribution and np.array_equal(one.totals, other.totals)
        for one, other in zip(first, second, strict=True)
    )


def draw_again(heard: Sequence[Noised], runs: int) -> Floats:
    """The same sums with fresh noise: a row for each run."""
    parts = [
        sums.distribution.run(np.repeat(np.asarray(sums.totals)[None], runs, axis=0))
        for sums in heard
    ]
    return np.concatenate(
        [np.asarray(part).reshape(runs, -1) for part in parts], axis=1, dtype=np.float64
    )
