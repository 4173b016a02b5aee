"""Attacks on the bounds of one-run audits: mechanisms with a known distribution of right guesses."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr
from scipy.stats import binom

from discreet.audit.exact import statement
from discreet.audit.one_run import Guesses, published_p_value
from discreet.audit.registry import Part, attack
from discreet.audit.results import AuditResult
from discreet.measures import ApproxDP, GaussianDP, PureDP

Floats = npt.NDArray[np.float64]


def responses(m: int, epsilon: float) -> Floats:
    """How many of m coins randomised response reveals: the worst of ε-DP."""
    return np.asarray(binom.pmf(np.arange(m + 1), m, 1 / (1 + math.exp(-epsilon))), np.float64)


def steep(m: int, v: int, epsilon: float, delta: float) -> Floats:
    """The worst of (ε, δ)-DP for "at least v are right": it jumps at v (``docs/proofs/one_run.md``)."""
    distribution = responses(m, epsilon)
    jump = min(m * delta / (v * distribution[v]), 1 / distribution[v:].sum())
    heights = np.where(np.arange(m + 1) >= v, jump, 0.0) + 1 - jump * distribution[v:].sum()
    return np.asarray(heights * distribution, np.float64)


def excess(m: int, v: int, epsilon: float, delta: float) -> float:
    """δ(ε) of `steep`, as a mechanism on coins, when one coin is flipped."""
    distribution = steep(m, v, epsilon, delta)
    each = distribution / [math.comb(m, k) for k in range(m + 1)]
    found = 0.0
    for other in range(m):  # right guesses among the other coins
        up, down = each[other + 1], each[other]
        both = max(up - math.exp(epsilon) * down, 0.0) + max(down - math.exp(epsilon) * up, 0.0)
        found += math.comb(m - 1, other) * both
    return found


def _shown(title: str, chance: float, bound: float) -> AuditResult:
    return statement(
        title,
        f"a probability of at most {bound:.6g}",
        chance <= bound * (1 + 1e-9),
        f"it is {chance:.6g}",
        "exact probabilities",
    )


@attack("one-run-bound")
def one_run_bound() -> Iterator[Part]:
    for m, v, epsilon in ((20, 18, 1.0), (500, 390, 1.0), (2000, 1100, 0.1)):
        chance = float(responses(m, epsilon)[v:].sum())
        title = f"randomised response, {v} of {m} right, ε = {epsilon:g}"
        yield _shown(title, chance, Guesses(m, m, v).p_value(PureDP(epsilon)))
    for m, v, epsilon, delta in ((2, 1, 1.0, 0.02), (12, 10, 0.5, 0.01), (60, 52, 1.0, 1e-3)):
        assert excess(m, v, epsilon, delta) <= delta * (1 + 1e-9)
        chance = float(steep(m, v, epsilon, delta)[v:].sum())
        title = f"the steepest distribution, {v} of {m} right, ε = {epsilon:g}, δ = {delta:g}"
        yield _shown(title, chance, Guesses(m, m, v).p_value(ApproxDP(epsilon, delta)))
    for m, v, mu in ((20, 18, 1.0), (500, 400, 1.0), (500, 480, 3.0)):
        chance = float(binom.sf(v - 1, m, ndtr(mu / 2)))
        title = f"a Gaussian for each coin, {v} of {m} right, μ = {mu:g}"
        yield _shown(title, chance, Guesses(m, m, v).p_value(GaussianDP(mu**2)))


@attack("one-run-delta-as-published")
def published_term() -> Iterator[Part]:
    m, v, epsilon, delta = 2, 1, 1.0, 0.02
    chance = float(steep(m, v, epsilon, delta)[v:].sum())
    bound = published_p_value(Guesses(m, m, v), ApproxDP(epsilon, delta))
    private = excess(m, v, epsilon, delta) <= delta * (1 + 1e-9)
    yield statement(
        "the steepest distribution, 1 of 2 right, ε = 1, δ = 0.02",
        f"a probability of at most {bound:.6g}",
        not private or chance <= bound,
        f"it is {chance:.6g}, and the distribution is (1, 0.02)-DP",
        "exact probabilities",
    )
