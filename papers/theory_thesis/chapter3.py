"""Chapter 3: tables 3.1 and 3.2 beside what is exact; observations 3.2.1 to 3.2.4 on random distributions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from harness import Study, markdown
from scipy.integrate import quad
from scipy.special import logsumexp
from study import STUDY

from discreet.accounting.published import (
    COMPARISONS,
    gaussian_curve,
    laplace_curve,
    renyi_group,
    renyi_group_as_printed,
    response_curve,
)

__all__ = ["OBSERVATIONS", "divergence"]

Floats = np.ndarray
ORDERS = (1.5, 2.0, 8.0)
KEEP, SCALE, SIGMA = 0.75, 2.0, 3.0

#: What each comparison is asked, in the order of its arguments.
ASKED: dict[str, tuple[tuple[float, ...], ...]] = {
    "pure DP to Rényi: ε, α": ((0.1, 2), (0.5, 8)),
    "Rényi to (ε, δ): α, ε, δ": ((8, 0.5, 1e-6), (32, 0.5, 1e-6)),
    "basic composition: ε, k, δ": ((0.1, 100, 1e-6), (0.01, 1000, 1e-6)),
    "advanced composition: ε, k, δ": ((0.1, 100, 1e-6), (0.01, 1000, 1e-6)),
    "Laplace noise of scale 1/ε, as Rényi: ε, α": ((0.5, 2), (0.5, 8)),
}


def divergence(p: Floats, q: Floats, order: float) -> Floats:
    """D_α between distributions on the same few outcomes, in the last axis (equation 3.4)."""
    return np.asarray(logsumexp(order * np.log(p) + (1 - order) * np.log(q), axis=-1) / (order - 1))


def integrate(
    first: Callable[[float], float], second: Callable[[float], float], order: float
) -> float:
    """D_α of two densities by quadrature, from their logarithms; a shift by 1 is at 0 and 1."""
    parts = [
        quad(lambda x: math.exp(order * first(x) + (1 - order) * second(x)), low, high, limit=200)[
            0
        ]
        for low, high in ((-150, 0), (0, 1), (1, 150))
    ]
    return math.log(sum(parts)) / (order - 1)


def laplace_density(place: float) -> Callable[[float], float]:
    return lambda x: -abs(x - place) / SCALE - math.log(2 * SCALE)


def gaussian_density(place: float) -> Callable[[float], float]:
    return lambda x: -(((x - place) / SIGMA) ** 2) / 2 - math.log(SIGMA * math.sqrt(2 * math.pi))


@STUDY.table()
def table_3_1(study: Study) -> str:
    """What the thesis derives from a guarantee, beside the least that is known to hold."""
    rows = []
    for comparison in COMPARISONS:
        for asked in ASKED[comparison.name]:
            told = ", ".join(f"{number:g}" for number in asked)
            printed, best = comparison.published(*asked), comparison.tightest(*asked)
            rows.append([comparison.name, comparison.source, told, f"{printed:.4g}", f"{best:.4g}"])
    for c in (1, 3):
        printed, right = renyi_group_as_printed(32, 0.1, c), renyi_group(32, 0.1, c)
        shown = (f"order {order:g}, {value:.4g}" for order, value in (printed, right))
        source = "Ferrari 2022, Theorem 3.2.5; Mironov 2017, Proposition 2"
        rows.append([f"groups of {2**c}, Rényi: α, ε, c", source, f"32, 0.1, {c}", *shown])
    head = [
        "relation",
        "printed in; tightest known in",
        "asked",
        "printed",
        "tightest known, or right",
    ]
    return markdown(head, rows)


@STUDY.table()
def table_3_2(study: Study) -> str:
    """Rényi curves as printed, beside quadrature and sums."""
    pair = np.array([KEEP, 1 - KEEP])
    lines = (
        (
            f"randomised response, p = {KEEP:g}",
            f"{math.log(KEEP / (1 - KEEP)):.4f}",
            lambda order: response_curve(KEEP, order),
            lambda order: float(divergence(pair, pair[::-1], order)),
        ),
        (
            f"Laplace, λ = {SCALE:g}",
            f"{1 / SCALE:.4f}",
            lambda order: laplace_curve(SCALE, order),
            lambda order: integrate(laplace_density(0), laplace_density(1), order),
        ),
        (
            f"Gaussian, σ = {SIGMA:g}",
            "∞",
            lambda order: gaussian_curve(SIGMA, order),
            lambda order: integrate(gaussian_density(0), gaussian_density(1), order),
        ),
    )
    rows = [
        [name, pure, *(f"{printed(order):.6f}, {found(order):.6f}" for order in ORDERS)]
        for name, pure, printed, found in lines
    ]
    head = ["mechanism", "pure ε", *(f"α = {order:g}: printed, by quadrature" for order in ORDERS)]
    return markdown(head, rows)


#: Slack of each observation, which is to be at least 0.
OBSERVATIONS = {
    "non negativity": "3.2.1, equation 3.5",
    "monotonicity": "3.2.2, equation 3.6",
    "probability preservation": "3.2.3, equation 3.7, with the exponent (α − 1)/α",
    "probability preservation, as printed": "3.2.3, equation 3.7, with the exponent α − 1/α",
    "weak triangle inequality": "3.2.4, equation 3.8",
}
TRIPLES = 2000


@STUDY.experiment(repeats=10)
def observations(*, seed: int) -> dict[str, float]:
    """Shares of 2000 random P, Q and R on six outcomes for which each observation holds, up to rounding."""
    draw = np.random.default_rng(seed)
    p, q, r = draw.dirichlet(np.full(6, 0.5), (3, TRIPLES)) + 1e-9
    p, q, r = (each / each.sum(axis=-1, keepdims=True) for each in (p, q, r))
    orders = 1 + draw.geometric(0.3, TRIPLES) * draw.random(TRIPLES)
    hoelder = 1 + draw.exponential(1, TRIPLES) + 0.05  # p of equation 3.8, whose q is p/(p - 1)
    slack: dict[str, list[float]] = {name: [] for name in OBSERVATIONS}
    for one, two, three, order, power in zip(p, q, r, orders, hoelder, strict=True):
        d = float(divergence(one, two, order))
        event = draw.random(6) < 0.5
        a, b = float(one[event].sum()), float(two[event].sum())
        bound = d + math.log(b) if b else -math.inf
        left = order - 1 / power
        triangle = left / (order - 1) * divergence(one, three, power * order)
        triangle += divergence(three, two, power / (power - 1) * left)
        for name, value in zip(
            OBSERVATIONS,
            (
                d,
                float(divergence(one, two, order * 1.3)) - d,
                math.exp(bound * (order - 1) / order) - a,
                math.exp(min(bound * (order - 1 / order), 700)) - a,
                float(triangle) - d,
            ),
            strict=True,
        ):
            slack[name].append(value)
    return {name: float((np.array(each) >= -1e-9).mean()) for name, each in slack.items()}


@STUDY.table("observations")
def checked_observations(study: Study) -> str:
    found = study.get("observations")
    rows = [
        [f"{name} ({where})", f"{found[name].mean:.2%}" + f" ± {found[name].error:.2%}"]
        for name, where in OBSERVATIONS.items()
    ]
    count = found["monotonicity"].count
    head = ["observation", "holds for"]
    return f"{markdown(head, rows)}\n\n{count} repetitions of {TRIPLES} triples of distributions."
