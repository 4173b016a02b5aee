"""Attacks on the source of noise: draws that are repeated."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import noise
from discreet.audit.exact import statement
from discreet.audit.registry import Case, Part, attack
from discreet.guarantees.additive.attacks import plus
from discreet.mechanisms import GaussianDistribution, LaplaceDistribution
from discreet.noise import entropy


@attack("noise-never-comes-twice")
def noise_never_comes_twice() -> Iterator[Part]:
    for distribution in (LaplaceDistribution(Fraction(50)), GaussianDistribution(Fraction(50))):
        # the inputs are equal: what is looked for is a repeated draw
        yield Case(
            f"{distribution}, two calls and a fork",
            plus(distribution),
            (0, 0),
            0.0,
            4_000,
            {"fork": True},
            reason="both inputs are equal: what is looked for is a draw that comes again",
        )
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: noise.random_bytes(16), range(64)))
    yield statement(
        "128 bits, 64 times in 4 threads",
        "all draws differ",
        len(set(drawn)) == len(drawn),
        f"{len(set(drawn))} of {len(drawn)} draws are different",
    )
    acts: dict[str, Callable[[Any], Any]] = {
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "pickle": pickle.dumps,
    }
    for name, act in acts.items():
        yield statement(
            f"{name} of the stream", "is refused", _refuses(act), "whether it raises TypeError"
        )
    first, second = (np.asarray(noise.random_words(256)) for _ in range(2))
    same = int((first == second).sum())
    yield statement("256 words, twice", "all differ", same == 0, f"{same} words are equal")


def _refuses(act: Callable[[Any], Any]) -> bool:
    try:
        act(entropy.current())
    except TypeError:
        return True
    return False
