"""Section 4.4: a curve by kernel regression, and its Bernstein polynomials, as published and repaired."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import comb

from discreet.mechanisms import Bernstein, Gaussian, Laplace, PriestleyChao, sensitivity_sampler

Floats = npt.NDArray[np.float64]

DEGREE = 25
NODES = np.linspace(0.0, 1.0, DEGREE + 1)
AT = np.linspace(0.0, 1.0, 50)
#: The thesis' kernel lacks the factor 1/√(2π).
KERNEL = math.sqrt(2 * math.pi)
REGRESSION = PriestleyChao("-1.2", "1.2", "0.1")


def basis(at: Floats) -> Floats:
    """The Bernstein polynomials of degree 25 (equation 4.1), a column for each."""
    i = np.arange(DEGREE + 1)
    return np.asarray(comb(DEGREE, i) * at[:, None] ** i * (1 - at[:, None]) ** (DEGREE - i))


def polynomial(values: Floats, order: int, at: Floats = AT) -> Floats:
    """The iterated Bernstein polynomial of the values at the nodes: I - (I - B)^h."""
    left, found = values, np.zeros(len(at))
    for _ in range(order):
        found = found + basis(at) @ left
        left = left - basis(NODES) @ left
    return found


def rows(n: int, draw: np.random.Generator) -> tuple[Floats, Floats]:
    """The thesis' data."""
    x = draw.random(n)
    return x, x * np.sin(10 * x) + draw.normal(0, 0.2, n)


def regression(data: Floats, at: Floats) -> Floats:
    """`pck_regression` of the appendix."""
    ordered = data[np.argsort(data[:, 0])]
    weights = np.diff(ordered[:, 0]) * ordered[1:, 1]
    distance = (at[:, None] - ordered[1:, 0]) / 0.1
    return np.asarray(np.exp(-(distance**2) / 2) @ weights / 0.1)


def plausible(draw: np.random.Generator, n: int) -> Floats:
    """The appendix's sampler of "plausible" data, which is not the distribution of its data."""
    x = draw.random(n)
    y = np.zeros(n)
    if draw.random() < 0.95:
        y = y + x
    if draw.random() < 0.5:
        y = y * np.sin(x)
    if draw.random() < 0.5:
        y = y * np.cos(x)
    return np.column_stack([x, y + draw.normal(0, 0.2, n)])


@cache
def sampled_sensitivity(n: int) -> float:
    """What 500 pairs of plausible data say (γ = 0.2): a promise for random data, not for a person."""
    draw = np.random.default_rng(n)
    found = sensitivity_sampler(
        lambda data: regression(data, NODES), lambda size: plausible(draw, size), n, "0.2", 500
    )
    return float(found.value)


def published(n: int, epsilon: float, draw: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """The target, its polynomial, and the polynomial with noise for a sampled sensitivity."""
    data = np.column_stack(rows(n, draw))
    values = regression(data, NODES)
    scale = sampled_sensitivity(n) * (DEGREE + 1) / epsilon
    noised = values + draw.laplace(0, scale, DEGREE + 1)
    return regression(data, AT), polynomial(values, 1), polynomial(noised, 1)


def repaired(
    n: int, epsilon: float, order: int, draw: np.random.Generator, delta: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """The same with a proved sensitivity, exact noise, and y clipped to public bounds; Gaussian with a δ."""
    x, y = rows(n, draw)
    noise = Gaussian(epsilon, delta) if delta else Laplace(epsilon)
    mechanism = Bernstein(noise, DEGREE, order=order)
    target = REGRESSION.exact(x, y, AT)
    clean = polynomial(REGRESSION.exact(x, y, mechanism.nodes[:, 0]), order)
    private = np.asarray(REGRESSION.fit(x, y, mechanism)(AT))
    return KERNEL * target, KERNEL * clean, KERNEL * private
