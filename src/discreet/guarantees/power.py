"""How much an attack notices: the smallest weakening of the toolkit's noise that it catches.

A *factor* of 0.75 means that every draw is as if its scale were three quarters of what was asked for, while
all that is stated, planned and charged stays right. A case that catches only small factors, or none, would
not notice much of a mistake.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from typing import Any, final
from unittest.mock import patch

from discreet import noise
from discreet.audit.registry import Case
from discreet.guarantees import draws
from discreet.guarantees.selection import attacks as selection_attacks
from discreet.mechanisms.local import hashing, means, memoised, response, unary
from discreet.models.erm import norm_gamma as erm_norm_gamma
from discreet.noise import bingham, entropy
from discreet.publish import rows as published_rows
from discreet.publish.masks import plan as published_masks

__all__ = ["FACTORS", "measure_power", "weakened_noise"]

#: Weakenings that are tried, from the smallest on.
FACTORS = (0.95, 0.9, 0.75, 0.5, 0.25, 0.1, 0.01)


@contextmanager
def weakened_noise(factor: float, seed: int = 0) -> Iterator[None]:
    """Draw less noise than is asked for inside the block, from a seed, in this thread.

    Parameters
    ----------
    factor : float
        Scales are multiplied by it; rates of selections and odds of lies are those of ε/factor.
    seed : int
        Draws come from it, so that releases are marked *not private*.

    Privacy
    -------
    None: this is the mistake that attacks must notice. Other threads draw as always.
    """
    if not 0 < factor <= 1:
        raise ValueError(f"factor must be greater than 0, and at most 1, got {factor!r}.")
    share, owner = Fraction(str(factor)), threading.get_ident()

    def swap(stack: ExitStack, place: Any, name: str, change: Callable[..., Any]) -> None:
        honest = getattr(place, name)

        def draw(*arguments: Any, **options: Any) -> Any:
            if threading.get_ident() != owner:
                return honest(*arguments, **options)
            return change(honest, *arguments, **options)

        setattr(place, name, draw)
        stack.callback(setattr, place, name, honest)

    with ExitStack() as stack:
        stack.enter_context(entropy.fixed(seed))
        stack.enter_context(draws.weakened(factor))
        for place, name, change in _CHANGES:
            swap(stack, place, name, lambda *a, change=change, **o: change(share, *a, **o))
        for module in _LIARS:
            lying = _Lying()
            swap(stack, lying, "bernoulli", lambda *a, **o: _lie(share, *a, **o))
            stack.enter_context(patch.object(module, "noise", lying))
        yield


@final
class _Lying:
    """The package `noise` for a module whose coins are lies."""

    bernoulli = staticmethod(noise.bernoulli)

    def __getattr__(self, name: str) -> Any:
        return getattr(noise, name)


def _scale(share: Fraction, honest: Any, scale: Any, *rest: Any, **options: Any) -> Any:
    return honest(Fraction(str(scale)) * share, *rest, **options)


def _rate(share: Fraction, honest: Any, scores: Any, rate: Any, *rest: Any, **options: Any) -> Any:
    return honest(scores, Fraction(rate) / share, *rest, **options)


def _exponent(share: Fraction, honest: Any, exponent: Any, *rest: Any) -> Any:
    return honest(Fraction(exponent) / share, *rest)


def _lie(share: Fraction, honest: Any, chance: Any, *rest: Any) -> Any:
    """A coin below one half turns a report round: its odds e^-ε become e^(-ε/factor)."""
    p = float(chance)
    if 0 < p < 0.5:
        odds = (p / (1 - p)) ** float(1 / share)
        chance = Fraction(odds / (1 + odds)).limit_denominator(10**9)
    return honest(chance, *rest)


def _respond(share: Fraction, honest: Any, codes: Any, k: int, lie: Any) -> Any:
    """Of k values each lie has odds e^-ε against the truth: they become e^(-ε/factor)."""
    odds = (float(lie) / (1 - float(lie)) / (k - 1)) ** float(1 / share)
    lies = (k - 1) * odds / (1 + (k - 1) * odds)
    if lies < 0.5:  # its coin is weakened, too
        kept = (lies / (1 - lies)) ** float(share)
        lies = kept / (1 + kept)
    return honest(codes, k, Fraction(lies).limit_denominator(10**9))


def _matrix(share: Fraction, honest: Any, matrix: Any, *rest: Any) -> Any:
    return honest(matrix / float(share), *rest)


def _size(share: Fraction, honest: Any, count: int, size: int, scale: float) -> Any:
    return honest(count, size, scale * float(share))


#: Where the toolkit's mechanisms look up their draws.
_CHANGES: tuple[tuple[Any, str, Any], ...] = (
    (noise, "discrete_laplace", _scale),
    (noise, "geometric", _scale),
    (noise, "rounded_gaussian", _scale),
    (noise, "discrete_gaussian", _scale),
    (noise, "select", _rate),
    (noise, "bernoulli_exp", _exponent),
    (response, "respond", _respond),
    (hashing, "respond", _respond),
    (published_rows, "respond", _respond),
    (published_masks, "respond", _respond),
    (bingham, "bingham", _matrix),
    (erm_norm_gamma, "norm_gamma", _size),
    (published_rows, "norm_gamma", _size),
)

#: Modules whose coins turn reports round. Elsewhere coins decide who takes part, or how often something runs.
_LIARS = (means, memoised, response, unary, selection_attacks)


def measure_power(case: Case, confidence: float, effort: float = 1.0) -> float:
    """The largest of `FACTORS` at which a case calls the claim violated; 0 if it does at none.

    All are tried, from the largest on: what is caught at one of them isn't always caught at the next, since
    less noise can also hide the events in which the inputs differ most.
    """
    for seed, factor in enumerate(FACTORS):
        with weakened_noise(factor, seed=seed):
            if case.run(confidence, effort).is_violated:
                return factor
    return 0.0
