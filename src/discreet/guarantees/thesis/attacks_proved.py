"""Attacks on what holds in the thesis by Ferrari and has no claim elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.stats import norm

from discreet.audit.exact import cells, exact, statement
from discreet.audit.losses import LaplaceLoss
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.guarantees.draws import Floats, corner, laplace_distribution
from discreet.guarantees.survey.attacks_proved import counters, response
from discreet.guarantees.told import ScoreOnly
from discreet.measures import ApproxDP, Renyi
from discreet.mechanisms import accuracy

_ORDERS = (1.5, 2.0, 4.0, 16.0)


@attack("thesis-coin-example")
def coin_example() -> Iterator[AuditResult]:
    yield exact(
        [0.75, 0.25], [0.25, 0.75], math.log(3), title="two coins, yes or no", labels=["yes", "no"]
    )


@attack("thesis-laplace")
def laplace_mechanism() -> Iterator[AuditResult]:
    for epsilon in (0.5, 2.0):
        edges = np.linspace(-20, 20, 4001)
        p, q = (cells(laplace_distribution(at, 1 / epsilon), edges) for at in (0.0, 1.0))
        yield exact(p, q, epsilon, title=f"one number, ε = {epsilon:g}", error=1e-15)
        first, second = corner([0.25] * 4, 1 / epsilon)
        yield exact([first], [second], epsilon, title=f"four numbers at a corner, ε = {epsilon:g}")


@attack("thesis-mean")
def mean() -> Iterator[Part]:
    n, bound, epsilon = 5, 3.0, 1.0
    scale = 2 * bound / n / epsilon
    first = np.array([3.0, 1.0, 0.0, -2.0, 3.0]).mean()
    second = np.array([3.0, 1.0, 0.0, -2.0, -3.0]).mean()
    edges = np.linspace(-20, 20, 4001)
    p, q = (cells(laplace_distribution(float(at), scale), edges) for at in (first, second))
    yield exact(p, q, epsilon, title="five values in [-3, 3], one from end to end", error=1e-15)


@attack("thesis-counts")
def counts() -> Iterator[Part]:
    yield Case("one count, ε = 1", counters(Fraction(1)), ([4], [5]), 1.0)
    pair = [4, 5, 6, 7], [5, 6, 7, 8]
    yield Case("four counts with Lap(4/ε)", counters(Fraction(4)), pair, 1.0, 60_000)


@attack("thesis-histogram")
def histogram() -> Iterator[Part]:
    yield Case("a row's bin is another, ε = 1", counters(Fraction(2)), ([4, 5, 6], [3, 6, 6]), 1.0)


def _worst_channel(epsilon: float) -> tuple[Floats, Floats]:
    """Four outcomes with log-ratios ε, ε, -ε, 0: rich enough for conditions on sets."""
    up, q = math.exp(epsilon), 0.5 / (1 + math.exp(epsilon))
    first = np.array([0.4 * up * q, 0.6 * up * q, q, 0.5])
    second = np.array([0.4 * q, 0.6 * q, up * q, 0.5])
    return first / first.sum(), second / second.sum()


@attack("thesis-conditional-testing")
def conditional_testing() -> Iterator[AuditResult]:
    for epsilon in (0.1, 1.0):
        p, q = _worst_channel(epsilon)
        sets = [np.array(bits, bool) for bits in product((0, 1), repeat=4)]
        least = min(
            p[given & told].sum() / p[given].sum() + q[given & ~told].sum() / q[given].sum()
            for given in sets
            if given.any()
            for told in sets
        )
        yield statement(
            f"all tests given all events of a channel, ε = {epsilon:g}",
            "both errors, given any event, add up to at least e^-2ε",
            least >= math.exp(-2 * epsilon) - 1e-12,
            f"the least sum is {least:.4f}, and e^-2ε = {math.exp(-2 * epsilon):.4f}",
            "all 16 × 15 pairs of events",
        )


@attack("thesis-posterior-density")
def posterior_density() -> Iterator[AuditResult]:
    for epsilon in (0.1, 1.0):
        keep = math.exp(epsilon) / (math.exp(epsilon) + 2)
        channel = np.where(np.eye(3, dtype=bool), keep, (1 - keep) / 2)
        generator = np.random.default_rng(5)
        priors = generator.dirichlet([0.3, 0.3, 0.3], 2000)
        posterior = priors[:, :, None] * channel
        ratio = channel / posterior.sum(axis=1, keepdims=True)  # posterior over prior
        worst = float(np.abs(np.log(ratio)).max())
        yield statement(
            f"three values told by randomised response, 2000 priors, ε = {epsilon:g}",
            "a posterior is within e^±ε of its prior",
            worst <= epsilon + 1e-12,
            f"the largest log-ratio is {worst:.4f}",
            "all values and answers",
        )


def _renyi_response(epsilon: float, order: float) -> float:
    p, q = response(epsilon)
    return math.log(float((p**order * q ** (1 - order)).sum())) / (order - 1)


@attack("thesis-renyi-curves")
def renyi_curves() -> Iterator[AuditResult]:
    edges = np.linspace(-12, 13, 10_001)
    sigma, scale = 1.5, 1.0
    lower = np.linspace(-14, 2, 10_001)  # there float64 keeps all digits of small probabilities
    p, q = (cells(norm(at, sigma).cdf, lower)[:-1] for at in (0.0, 1.0))
    curve = Renyi({a: a / (2 * sigma**2) for a in (1.5, 2.0, 4.0)})
    yield exact(p, q, curve, title="Gaussian noise, σ = 1.5: α/(2σ²)")
    p, q = (cells(laplace_distribution(at, scale), edges) for at in (0.0, 1.0))
    curve = Renyi({a: _renyi_laplace(a, scale) for a in _ORDERS})
    yield exact(p, q, curve, title="Laplace noise, b = 1: (3.13)", error=1e-16)
    p, q = response(1.0)
    curve = Renyi({a: _renyi_response(1.0, a) for a in _ORDERS})
    yield exact(p, q, curve, title="randomised response, ε = 1")


def _renyi_laplace(order: float, scale: float) -> float:
    """Equation (3.13)."""
    up = order / (2 * order - 1) * math.exp((order - 1) / scale)
    down = (order - 1) / (2 * order - 1) * math.exp(-order / scale)
    return math.log(up + down) / (order - 1)


@attack("thesis-adaptive-composition")
def adaptive_composition() -> Iterator[AuditResult]:
    first, after_yes, after_no = 0.7, 1.0, 0.4
    p, q = response(first)
    joint = []
    for side, index in ((p, 0), (q, 1)):
        second = [response(after_yes)[index], response(after_no)[index]]
        joint.append(np.concatenate([side[k] * second[k] for k in (0, 1)]))
    curve = {a: _renyi_response(first, a) + _renyi_response(after_yes, a) for a in _ORDERS}
    title = "the second answer's ε is chosen by the first answer"
    yield exact(joint[0], joint[1], Renyi(curve), title=title)


@attack("thesis-pure-to-renyi")
def pure_to_renyi() -> Iterator[AuditResult]:
    for epsilon in (0.1, 1.0, 3.0):
        p, q = response(epsilon)
        curve = Renyi({a: min(1.5 * a * epsilon**2, epsilon) for a in _ORDERS})
        yield exact(p, q, curve, title=f"the worst ε-DP answer, ε = {epsilon:g}")


@attack("thesis-renyi-to-approximate")
def renyi_to_approximate() -> Iterator[AuditResult]:
    sigma = 2.0
    edges = np.linspace(-18, 19, 20_001)
    p, q = (cells(norm(at, sigma).cdf, edges) for at in (0.0, 1.0))
    for order, delta in ((5.0, 1e-5), (20.0, 1e-5), (10.0, 0.01)):
        epsilon = order / (2 * sigma**2) + math.log(1 / delta) / (order - 1)
        title = f"Gaussian noise, σ = 2, at order {order:g}, δ = {delta:g}"
        yield exact(p, q, ApproxDP(epsilon, delta), title=title)


@attack("thesis-basic-composition")
def basic_composition() -> Iterator[AuditResult]:
    p, q = response(0.5)
    triple = [np.multiply.outer(np.multiply.outer(side, side), side) for side in (p, q)]
    yield exact(triple[0], triple[1], 1.5, title="three 0.5-DP answers")
    curve = Renyi({a: 3 * _renyi_response(0.5, a) for a in _ORDERS})
    yield exact(triple[0], triple[1], curve, title="the same as Rényi divergences")
    delta, rest = 0.01, 0.99 / (1 + math.exp(0.5))
    worst = np.array([delta, rest * math.exp(0.5), rest, 0.0])
    pair = [np.multiply.outer(side, side) for side in (worst, worst[::-1])]
    yield exact(pair[0], pair[1], ApproxDP(1, "2/100"), title="two (0.5, 0.01)-DP answers")


@attack("thesis-gaussian-at-three")
def gaussian_at_three() -> Iterator[AuditResult]:
    for epsilon in (1.0, 3.0):
        sigma = accuracy.published_gaussian_sigma(epsilon, 1e-4)
        edges = np.linspace(-9 * sigma, 9 * sigma + 1, 20_001)
        p, q = (cells(norm(at, sigma).cdf, edges) for at in (0.0, 1.0))
        title = f"σ = L√(2 log(1.25/δ))/ε at ({epsilon:g}, 0.0001)"
        yield exact(p, q, ApproxDP(epsilon, "1/10000"), title=title, error=1e-15)


@attack("thesis-bernstein-approximate")
def bernstein_approximate() -> Iterator[Part]:
    values, delta, step = 26, 1e-4, 1000
    # Theorem 4.4.7 with l = 1, ε = 1
    scale = 2 * math.sqrt(2 * values * math.log(1 / delta)) * step
    pair = np.zeros(values, np.int64), np.full(values, step)
    released = counters(Fraction(math.ceil(scale)))
    title = "26 values that all move by L, (1, 0.0001)"
    losses = LaplaceLoss.between(math.ceil(scale), *pair)

    def ratio(found: Floats) -> Floats:
        return np.asarray((abs(found - pair[1]) - abs(found - pair[0])).sum(axis=1), np.float64)

    told = ScoreOnly(released, ratio)
    yield Case(title, told, pair, ApproxDP(1, "1/10000"), 100_000, losses=losses)
