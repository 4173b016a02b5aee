"""The δ of objective perturbation with Gaussian noise. Proof page: ``docs/proofs/erm.md``."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.events import GaussianObjective
from discreet.measures.gaussian import gaussian_delta

__all__ = ["objective_delta"]


def objective_delta(event: GaussianObjective) -> Fraction:
    """δ at the event's ε, rounded up.

    The privacy loss is a convex function of where the changed rows' gradients lie in their polytopes, so it
    is largest at a vertex, and there it is that of the Gaussian mechanism. Choosing j of the rows to be
    at one of `ways` vertices of norm g: Σ_j C(q, j)·ways^j·δ_Gauss(ε - jacobian, μ = j·g/σ), the vertex 0
    (if it is one) counting nothing.
    """
    left = event.epsilon - event.jacobian
    ratio = event.row_squared / event.sigma**2
    total = Fraction(0)
    for moved in range(1 if event.has_zero else event.rows, event.rows + 1):
        ways = math.comb(event.rows, moved) * event.ways**moved
        total += ways * Fraction(gaussian_delta(moved**2 * ratio, left))
        if total >= 1:  # more rows only add
            return Fraction(1)
    return total
