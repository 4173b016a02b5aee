"""Why some intervals for means are covered more often than 0.97: no rule can do otherwise.

Two limits of docs/proofs/answers.md, section 5, computed: of a scatter that noise hides, and of few rows.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import ndtr, ndtri

LEAST = 0.94


def densities(scatters, ratio, statistics, found):
    """Of (T, q) by scatter: T has the variance `ratio` + scatter, q the mean scatter and the variance 1."""
    spread = np.sqrt(ratio + scatters)[:, None, None]
    on_statistic = np.exp(-0.5 * (statistics[None, :, None] / spread) ** 2) / spread
    on_found = np.exp(-0.5 * (found[None, None, :] - scatters[:, None, None]) ** 2)
    return on_statistic * on_found / (2 * np.pi)


def grid(many, ratio):
    """Midpoints of cells, evenly spaced on T in deviations of T for a small and a large scatter at once."""
    edges = np.sinh(
        np.linspace(-1, 1, many + 1) * np.arcsinh(9 * np.sqrt(ratio + 30) / np.sqrt(ratio))
    )
    edges *= np.sqrt(ratio)
    q = np.linspace(-6, 40, many + 1)
    area = np.diff(edges)[:, None] * np.diff(q)[None, :]
    return (edges[1:] + edges[:-1]) / 2, (q[1:] + q[:-1]) / 2, area


def find_limit(ratio):
    """The least that the largest coverage can be, over all rules, random ones too: a bound from below.

    A rule says for each (T, q) with which probability the interval has the right mean in it. It is never
    narrower than the noise on T alone needs. Linear programming on a coarse grid finds weights of scatters;
    by weak duality any weights give a bound, here on a grid that is so fine that its error doesn't count.
    """
    scatters = np.concatenate([[0.0], np.geomspace(0.05, 25, 14)])
    t, q, area = grid(61, ratio)
    chances = (densities(scatters, ratio, t, q) * area).reshape(len(scatters), -1)
    always = np.repeat(np.abs(t) <= -ndtri(0.025) * np.sqrt(ratio), len(q)).astype(float)
    ones, zeros = np.ones((len(scatters), 1)), np.zeros((len(scatters), 1))
    solved = linprog(
        np.append(np.zeros(chances.shape[1]), 1.0),
        A_ub=np.vstack([np.hstack([chances, -ones]), np.hstack([-chances, zeros])]),
        b_ub=np.append(np.zeros(len(scatters)), np.full(len(scatters), -LEAST)),
        bounds=[(low, 1.0) for low in always] + [(0.0, 1.0)],
        method="highs",
    )
    above, below = -solved.ineqlin.marginals.reshape(2, -1)
    above = above / above.sum()
    t, q, area = grid(1201, ratio)
    weighted = np.tensordot(above - below, densities(scatters, ratio, t, q), 1) * area
    inside = np.abs(t)[:, None] <= -ndtri(0.025) * np.sqrt(ratio)
    accepted = np.where(inside, weighted, np.minimum(weighted, 0.0)).sum()
    return float(accepted + LEAST * below.sum())


def test_a_scatter_that_noise_hides_is_covered_more_often_by_every_rule():
    """The ratio is that of the noise's variance on T to its deviation on the scatter: 1.6/ε in the middle."""
    limits = {ratio: find_limit(ratio) for ratio in (1.6, 0.32, 0.16, 0.05)}
    assert limits[1.6] < 0.96  # at ε = 1 the bar of 0.97 can be held, and is
    assert limits[0.16] > 0.97  # at ε = 10 it can't
    assert limits[0.05] > limits[0.16] > limits[0.32] > limits[1.6]


@pytest.mark.parametrize(
    ("rows", "is_possible"), [(5, False), (10, False), (15, False), (50, True)]
)
def test_no_critical_value_serves_normal_and_exponential_values_of_few_rows(rows, is_possible):
    """Intervals that move and stretch with the values are mean ± c·deviation, if only these are known."""
    draw, needed = np.random.default_rng(rows), {}
    for name, values, mean in (
        ("exponential", draw.exponential(1, (20_000, rows)), 1),
        ("normal", draw.normal(0, 1, (20_000, rows)), 0),
    ):
        student = np.abs(values.mean(axis=1) - mean) / values.std(axis=1, ddof=1) * np.sqrt(rows)
        needed[name] = np.quantile(student, [LEAST, 0.97])
    assert (needed["exponential"][0] < needed["normal"][1]) == is_possible


def test_the_densities_are_those_of_chances():
    t, q, area = grid(301, 0.5)
    found = (densities(np.array([0.0, 4.0]), 0.5, t, q) * area).sum(axis=(1, 2))
    assert found == pytest.approx([1, 1], abs=1e-3)
    part = np.abs(t)[:, None] <= np.sqrt(0.5)
    share = (densities(np.array([0.0]), 0.5, t, q)[0] * area * part).sum()
    assert share == pytest.approx(2 * ndtr(1) - 1, abs=0.02)
