"""Noise that was put inside an objective before it was minimised."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.events.base import Event
from discreet.rational import Number, as_integer, non_negative, positive


@dataclass(frozen=True)
class LaplaceObjective(Event):
    """The minimiser of a convex objective plus b·w, b with Laplace noise of `scale` on each coordinate.

    `sensitivity` is the largest L1 distance of the gradients of two neighbours, `jacobian` the largest
    log-ratio of the determinants of their Hessians. Costs sensitivity/scale + jacobian of pure DP
    (Chaudhuri, Monteleoni & Sarwate 2011; proof page ``docs/proofs/erm.md``).

    Examples
    --------
    >>> from discreet import accounting, events, measures
    >>> fit = events.LaplaceObjective(scale=5, sensitivity="7/2", jacobian="1/8")
    >>> accounting.cost(fit, measures.PureDP)
    PureDP(epsilon=0.825)
    """

    scale: Fraction
    sensitivity: Fraction
    jacobian: Fraction

    def __init__(self, scale: Number, sensitivity: Number, jacobian: Number) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "sensitivity", non_negative(sensitivity, "sensitivity"))
        object.__setattr__(self, "jacobian", non_negative(jacobian, "jacobian"))


@dataclass(frozen=True)
class GaussianObjective(Event):
    """The minimiser of a convex objective plus b·w, b with normal noise N(0, sigma²) on each coordinate.

    Neighbours differ in at most `rows` rows. The gradient of a row lies in a polytope with `ways` vertices
    other than 0, of squared norm at most `row_squared`; `has_zero` says whether 0 is a vertex too.
    `jacobian` is the largest log-ratio of the determinants of the Hessians. It is counted at `epsilon`:
    (ε, δ) with δ the sum over vertices of the Gaussian mechanism's δ(ε - jacobian)
    (after Kifer, Smith & Thakurta 2012; proof page ``docs/proofs/erm.md``).

    Examples
    --------
    >>> from discreet import accounting, events
    >>> fit = events.GaussianObjective(9, 2, "1/8", 1)  # noise of 9 on rows of norm at most √2
    >>> float(accounting.delta_at(fit, 1)) < 1e-5
    True
    """

    sigma: Fraction
    row_squared: Fraction
    jacobian: Fraction
    epsilon: Fraction
    rows: int
    ways: int
    has_zero: bool

    def __init__(
        self,
        sigma: Number,
        row_squared: Number,
        jacobian: Number,
        epsilon: Number,
        rows: int = 1,
        ways: int = 1,
        has_zero: bool = True,
    ) -> None:
        object.__setattr__(self, "sigma", positive(sigma, "sigma"))
        object.__setattr__(self, "row_squared", non_negative(row_squared, "row_squared"))
        object.__setattr__(self, "jacobian", non_negative(jacobian, "jacobian"))
        object.__setattr__(self, "epsilon", non_negative(epsilon, "epsilon"))
        object.__setattr__(self, "rows", as_integer(rows, "rows", minimum=1))
        object.__setattr__(self, "ways", as_integer(ways, "ways", minimum=1))
        if not isinstance(has_zero, bool):
            raise TypeError(f"has_zero must be True or False, not {type(has_zero).__name__}.")
        object.__setattr__(self, "has_zero", has_zero)
        if self.epsilon < self.jacobian:
            raise ValueError("epsilon must be at least jacobian: below that, nothing is proved.")
