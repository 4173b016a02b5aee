"""Figures 2.1, 3.1, 4.1, 4.2 and 4.3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import curves
import numpy as np
from harness import Study
from scipy.stats import laplace

from discreet import testing


def draw_all(study: Study, folder: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    for name, size, draw in (
        ("figure_2_1.png", (9, 3.6), laplace_distributions),
        ("figure_3_1.png", (10, 3.6), renyi_curves),
        ("figure_4_1.png", (9, 3.6), errors_by_dimension),
        ("figure_4_2.png", (5, 3.6), basis_polynomials),
        ("figure_4_3.png", (11, 6.4), private_curves),
    ):
        figure = plt.figure(figsize=size, layout="constrained")
        draw(figure, study)
        figure.savefig(folder / name, dpi=80)
        plt.close(figure)


def laplace_distributions(figure: Any, study: Study) -> None:
    """Densities and distribution functions of Laplace noise."""
    left, right = figure.subplots(1, 2)
    at = np.linspace(-10, 10, 400)
    for place, scale in ((0, 1), (0, 2), (0, 4), (-5, 4)):
        left.plot(at, laplace(place, scale).pdf(at), label=f"μ = {place}, b = {scale}")
        right.plot(at, laplace(place, scale).cdf(at))
    left.set(title="Density", xlabel="x")
    right.set(title="Distribution function", xlabel="x")
    left.legend(fontsize=8)


def renyi_curves(figure: Any, study: Study) -> None:
    """Rényi divergences against their order, by the formulas of section 3.2.3."""
    axes = figure.subplots(1, 3, sharey=True)
    order = np.linspace(1.05, 10, 200)
    for p in (0.51, 0.6, 0.75):
        moment = p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)
        axes[0].plot(order, np.log(moment) / (order - 1), label=f"p = {p:g}")
    for b in (2, 3, 5):
        high, low = np.exp((order - 1) / b), np.exp(-order / b)
        moment = order / (2 * order - 1) * high + (order - 1) / (2 * order - 1) * low
        axes[1].plot(order, np.log(moment) / (order - 1), label=f"b = {b}")
    for sigma in (3, 5, 10):
        axes[2].plot(order, order / (2 * sigma**2), label=f"σ = {sigma}")
    for axis, title in zip(axes, ("Randomised response", "Laplace", "Gaussian"), strict=True):
        axis.set(title=title, xlabel="order α", ylabel="ε(α)" if axis is axes[0] else "")
        axis.legend(fontsize=8)


def errors_by_dimension(figure: Any, study: Study) -> None:
    """How far the Gaussian mechanism errs where its sensitivity is √d/n, with quartiles of 400 draws."""
    axes = figure.subplots(1, 2, sharey=True)
    dimension = np.arange(1, 51)
    draw = np.random.default_rng(0)
    for axis, epsilon in zip(axes, (1, 3), strict=True):
        for n in (100, 500, 5000):
            sigma = np.sqrt(dimension) / n * np.sqrt(2 * np.log(1.25e4)) / epsilon
            low, middle, high = np.quantile(
                np.abs(draw.normal(0, sigma, (400, len(dimension)))), [0.25, 0.5, 0.75], axis=0
            )
            axis.plot(dimension, middle, label=f"n = {n}")
            axis.fill_between(dimension, low, high, alpha=0.2)
        axis.set(title=f"ε = {epsilon}, δ = 10⁻⁴", xlabel="d", yscale="log")
    axes[0].set_ylabel("distance from the mean")
    axes[0].legend(fontsize=8)


def basis_polynomials(figure: Any, study: Study) -> None:
    """Bernstein's basis of degree 2."""
    axis = figure.subplots()
    at = np.linspace(0, 1, 100)
    for i, line in enumerate(((1 - at) ** 2, 2 * at * (1 - at), at**2)):
        axis.plot(at, line, label=f"i = {i}")
    axis.set(title="Bernstein polynomials of degree 2", xlabel="t")
    axis.legend(fontsize=8)


def private_curves(figure: Any, study: Study) -> None:
    """The target, its polynomial without noise, and the private one, of order 4."""
    axes = figure.subplots(2, 3, sharex=True)
    for row, epsilon in zip(axes, (1, 3), strict=True):
        for axis, n in zip(row, (100, 500, 5000), strict=True):
            with testing.fixed_noise(n):
                found = curves.repaired(n, epsilon, 4, np.random.default_rng(n))
            for line, label, style in zip(
                found, ("target", "polynomial", "private"), ("k-", "b--", "r-"), strict=True
            ):
                axis.plot(curves.AT, line, style, label=label, linewidth=1)
            axis.set(title=f"n = {n}, ε = {epsilon}")
    axes[0, 0].legend(fontsize=8)
