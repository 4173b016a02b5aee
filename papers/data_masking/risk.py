"""Propositions 2 and 5: how much log loss masks and blurred rows cost, and what the paper's bounds say.

As published: L is the regularised log loss on the true rows (the paper prints its negative, with a ridge of
the wrong sign), w its minimiser, w′ the weights that masked or blurred rows teach. A masked table teaches
its noisy weights, so no masks are made here.
"""

from __future__ import annotations

import math

import numpy as np
from algorithms import STRENGTH, Floats, clipped, logistic, norm_gamma
from harness import Study, markdown, seed_of
from study import STUDY

__all__ = ["BUDGETS", "DELTA", "ROWS", "bounds"]

FEATURES, TABLES, DELTA = 8, 100, 0.1
ROWS = (100, 200, 1000)
BUDGETS = (0.1, 0.5, 1.0, 10.0)


def loss(w: Floats, x: Floats, signs: Floats) -> Floats:
    """The regularised log loss of each table at its weights."""
    scores = np.einsum("tnd,td->tn", x * signs[:, :, None], w)
    return np.asarray(
        np.logaddexp(0, -scores).mean(axis=1) + STRENGTH / 2 * (w**2).sum(axis=1), np.float64
    )


def bounds(count: int, epsilon: float) -> tuple[float, float]:
    """What propositions 2 and 5 print for δ = 0.1: of masked data, and of input perturbation."""
    far = 2 * FEATURES * math.log(FEATURES / DELTA) / (STRENGTH * epsilon)
    return (far / count) ** 2 * (STRENGTH + 1) / 2, far**2 * (STRENGTH + 1) / 2


@STUDY.experiment(ROWS, BUDGETS, repeats=20)
def risk(count: int, epsilon: float, *, seed: int) -> dict[str, float]:
    """Excess loss on 100 made-up tables of eight features: means, and what nine tables in ten stay below."""
    draw = np.random.default_rng(seed_of(count, epsilon, seed))
    x = clipped(draw.normal(size=(TABLES, count, FEATURES)) / math.sqrt(FEATURES), 1.0)
    likely = 1 / (1 + np.exp(-4 * x @ draw.normal(size=FEATURES)))
    signs = np.where(draw.random((TABLES, count)) < likely, 1.0, -1.0)
    exact = logistic(x, signs)
    noisy = exact + norm_gamma(draw, 2 / (STRENGTH * count * epsilon), exact.shape)
    blurred = logistic(x + norm_gamma(draw, 2 / epsilon, x.shape), signs)
    found = {}
    weights = {"masked": noisy, "blurred": blurred, "nothing": np.zeros_like(exact)}
    for (name, w), bound in zip(weights.items(), (*bounds(count, epsilon), math.inf), strict=True):
        excess = loss(w, x, signs) - loss(exact, x, signs)
        found |= {
            name: float(excess.mean()),
            f"{name}, 90 %": float(np.quantile(excess, 1 - DELTA)),
            f"{name}, within": float((excess <= bound).mean()),
        }
    return found


@STUDY.table("risk")
def risks(study: Study) -> str:
    rows = []
    for count in ROWS:
        for epsilon in BUDGETS:
            found = study.get("risk", count, epsilon)
            line = [count, f"{epsilon:g}"]
            for name, bound in zip(("masked", "blurred"), bounds(count, epsilon), strict=True):
                line += [found[name], found[f"{name}, 90 %"], f"{bound:.2g}"]
            rows.append([*line, found["nothing"]])
    head = ["N", "ε", "masked", "90 % below", "proposition 2", "blurred", "90 % below"]
    head += ["proposition 5", "weights 0"]
    found = study.get("risk", ROWS[0], BUDGETS[0])
    inside = min(
        study.get("risk", count, epsilon)[f"{name}, within"].mean
        for count in ROWS
        for epsilon in BUDGETS
        for name in ("masked", "blurred")
    )
    return (
        f"{markdown(head, rows)}\n\nMeans of L(w′) − L(w), {found['masked'].count} repetitions of {TABLES} "
        f"tables; δ = {DELTA:g}. Both bounds hold in {inside:.0%} of the tables"
        + (" or more." if inside < 1 else ".")
    )
