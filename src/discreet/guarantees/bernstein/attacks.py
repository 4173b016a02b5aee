"""Attacks on released functions and on sampled sensitivities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.stats import laplace

from discreet import accounting
from discreet.audit.exact import cells, exact
from discreet.audit.probes import sensitivity_exceeded
from discreet.audit.registry import Case, Part, attack
from discreet.guarantees.fits import exact_losses
from discreet.guarantees.queries.attacks import told_apart
from discreet.measures import GaussianDP, PureDP
from discreet.mechanisms import Bernstein, Gaussian, Laplace, PriestleyChao, sensitivity_sampler

#: A regression whose contributions are coarse, so that rounding shows if it matters.
REGRESSION = PriestleyChao(-1, 1, resolution=2**10)


@attack("bernstein")
def bernstein() -> Iterator[Part]:
    """Every value moves by the whole supremum, on all nodes at once; then a regression of one row."""
    for degree, dimension in ((4, 1), (2, 2)):
        mechanism = Bernstein(Laplace(1), degree, dimension, resolution=2**10)
        sensitivity = mechanism.sensitivity("1/4")
        claim = accounting.cost(mechanism.event(sensitivity), PureDP)
        here = np.zeros((degree + 1) ** dimension, np.int64)
        there = here + 256
        noise = mechanism.noise.distribution(sensitivity)
        run, losses = (
            told_apart(mechanism.distribution(sensitivity), here, there),
            exact_losses(noise, here, there),
        )
        title = f"all nodes, degree {degree}, dimension {dimension}"
        yield Case(title, run, (here, there), claim, 100_000, losses=losses)
        gaussian = Bernstein(Gaussian(rho="1/2"), degree, dimension, resolution=2**10)
        run = told_apart(gaussian.distribution(sensitivity), here, there)
        yield Case(f"{title}, Gaussian noise", run, (here, there), GaussianDP(1), 40_000)
    mechanism = Bernstein(Laplace(2), 3, resolution=2**10)
    words = (
        "made from the noised values, whose exact distribution is attacked beside it: it says less"
    )
    yield Case("its polynomial", _released(mechanism), (0.0, 0.25), 2.0, 6_000, reason=words)
    regression = Bernstein(Laplace(2), 8)
    nodes = regression.nodes[:, 0]
    moved = REGRESSION.sensitivity(nodes)
    claim = accounting.cost(regression.event(moved), PureDP)
    low, high = REGRESSION.contributions([0.5, 0.5], [-1.0, 1.0], nodes)
    losses = exact_losses(regression.noise.distribution(moved), low, high)
    yield Case(
        "a regression of one row", fitted(regression), (-1.0, 1.0), claim, 4_000, losses=losses
    )


def _released(mechanism: Bernstein) -> Callable[[float], Any]:
    """Release a constant function and report the sum of its coefficients."""
    return lambda level: float(
        mechanism.run(lambda nodes: np.full(len(nodes), level), "1/4").coefficients.sum()
    )


def fitted(mechanism: Bernstein) -> Callable[[float], Any]:
    """Fit one row and report the likelihood ratio between two heights of that row."""
    nodes = mechanism.nodes[:, 0]
    low, high = (REGRESSION.exact([0.5], [y], nodes) for y in (-1.0, 1.0))

    def fit(y: float) -> float:
        found = REGRESSION.fit([0.5], [y], mechanism).coefficients
        return float((np.abs(found - low) - np.abs(found - high)).sum())

    return fit


@attack("priestley-chao")
def priestley_chao() -> Iterator[Part]:
    """All pairs of strange rows, for three ranges of y."""
    xs = (0.0, 0.017, 0.5, 0.52, 1.0, -3.0, math.nan, math.inf)
    ys = (-9.0, -1.2, 0.0, 0.4, 1.5, 7.0, math.nan, -math.inf)
    rows = np.array([(x, y) for x in xs for y in ys]).T
    for regression in (REGRESSION, PriestleyChao(0, 1), PriestleyChao(1, 3, "0.02")):
        nodes = np.arange(26) / 25
        bound = regression.sensitivity(nodes)
        coded = regression.contributions(rows[0], rows[1], nodes)
        gaps = coded[:, None, :] - coded[None, :, :]
        for norm, far, limit in (
            ("l1", np.abs(gaps).sum(axis=2), bound.l1),
            ("l2_squared", (gaps**2).sum(axis=2), bound.l2_squared),
        ):
            first, second = np.unravel_index(np.argmax(far), far.shape)
            yield sensitivity_exceeded(
                lambda vector: vector,
                [(coded[first], coded[second])],
                limit,
                norm=norm,  # type: ignore[arg-type]
                title=f"y in [{regression.lower}, {regression.upper}], {norm}",
            )


@attack("sampled-sensitivity-as-sensitivity")
def sampled_sensitivity() -> Iterator[Part]:
    """The mean of 100 normal rows; a neighbour's row is 8 away, which nothing in the sample is."""
    draws = np.random.default_rng()
    found = sensitivity_sampler(np.mean, lambda n: draws.normal(size=n), 100, "0.2", m=500)
    edges = np.linspace(-0.5, 0.5, 2001)
    p, q = (cells(laplace(at, found.value).cdf, edges) for at in (0.0, 0.08))
    yield exact(
        p, q, 1.0, title=f"noise for a sampled sensitivity of {found.value:.4g}", error=1e-16
    )
