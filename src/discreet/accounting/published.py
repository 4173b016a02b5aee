"""Formulas of composition and conversion as they were published, beside the tightest that we know.

The published ones are those of Ferrari 2022, chapter 3 (after Duchi's lecture notes and Mironov 2017).
Nothing is charged by them: they are here to be compared, and some are wrong as printed. Those are
called ``…_as_printed``, and `discreet.guarantees` says what is wrong with them. Proof page:
``docs/proofs/meaning.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting import curves
from discreet.accounting.composition import advanced, optimal
from discreet.measures import PureDP
from discreet.measures.convert import randomised_response_curve, renyi_epsilon
from discreet.rational import rational

__all__ = [
    "COMPARISONS",
    "Comparison",
    "advanced_composition",
    "advanced_composition_as_printed",
    "best_composition",
    "gaussian_curve",
    "gaussian_sigma_as_printed",
    "laplace_curve",
    "pure_to_renyi",
    "renyi_group",
    "renyi_group_as_printed",
    "renyi_to_approx",
    "response_curve",
]


def gaussian_sigma_as_printed(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """L√(2 log(1.25/δ)), without 1/ε (Ferrari 2022, Theorem 3.1.3): false for every ε < 1."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta))


def response_curve(keep: float, order: float) -> float:
    """D_α of binary randomised response that keeps the truth with this probability (table 3.2)."""
    p, q = keep, 1 - keep
    return math.log(p**order * q ** (1 - order) + q**order * p ** (1 - order)) / (order - 1)


def laplace_curve(scale: float, order: float) -> float:
    """D_α of continuous Laplace noise at sensitivity 1 (table 3.2; Mironov 2017, Proposition 6)."""
    up = order / (2 * order - 1) * math.exp((order - 1) / scale)
    down = (order - 1) / (2 * order - 1) * math.exp(-order / scale)
    return math.log(up + down) / (order - 1)


def gaussian_curve(sigma: float, order: float) -> float:
    """D_α = α/2σ² of Gaussian noise at sensitivity 1 (table 3.2; Mironov 2017, Proposition 7)."""
    return order / (2 * sigma**2)


def pure_to_renyi(epsilon: float, order: float) -> float:
    """min(3αε²/2, ε) (Ferrari 2022, Proposition 3.3.1): correct, but three times too large for small ε."""
    return min(1.5 * order * epsilon**2, epsilon)


def renyi_to_approx(order: float, value: float, delta: float) -> float:
    """ε + log(1/δ)/(α - 1) (Mironov 2017, Proposition 3; Ferrari 2022, Theorem 3.3.4)."""
    return value + math.log(1 / delta) / (order - 1)


def advanced_composition(epsilon: float, count: int, delta: float) -> float:
    """3kε²/2 + ε√(6k log(1/δ)): what the proof of Ferrari 2022, Theorem 3.4.4 gives."""
    return 1.5 * count * epsilon**2 + epsilon * math.sqrt(6 * count * math.log(1 / delta))


def advanced_composition_as_printed(epsilon: float, count: int, delta: float) -> float:
    """3kε²/2 + √(6k log(1/δ)), without the ε before the root (Ferrari 2022, Theorem 3.4.4).

    True, since it exceeds the correct one for ε <= 1 and kε for ε >= 2/3, but it says next to nothing.
    """
    return 1.5 * count * epsilon**2 + math.sqrt(6 * count * math.log(1 / delta))


def best_composition(epsilon: float, count: int, delta: float) -> float:
    """The least ε of `count` ε-DP answers at δ: by optimal composition, or by zCDP where that is smaller.

    Optimal composition (Kairouz, Oh & Viswanath 2015) lists only every second multiple of ε.
    """
    one = PureDP(rational(epsilon, "epsilon"))
    slack = rational(delta, "delta")
    pairs = (optimal(one, count, slack), advanced(one, count, slack))
    return min(float(pair.epsilon) for pair in pairs)


def renyi_group(order: float, value: float, c: int) -> tuple[float, float]:
    """(α/2^c, 3^c·ε) of a map that is 2^c-stable, for α >= 2^(c+1) (Mironov 2017, Proposition 2)."""
    if order < 2 ** (c + 1):
        raise ValueError(f"order must be at least 2^(c+1) = {2 ** (c + 1)}, got {order!r}.")
    return order / 2**c, 3**c * value


def renyi_group_as_printed(order: float, value: float, c: int) -> tuple[float, float]:
    """(α/2, 3^c·ε) (Ferrari 2022, Theorem 3.2.5): false from c = 3 on."""
    return order / 2, 3**c * value


@dataclass(frozen=True)
class Comparison:
    """A published formula and the tightest known one, functions of the same numbers."""

    name: str
    source: str
    published: Callable[..., float]
    tightest: Callable[..., float]


def _exact(value: float) -> Fraction:
    return rational(value, "epsilon")


COMPARISONS: tuple[Comparison, ...] = (
    Comparison(
        "pure DP to Rényi: ε, α",
        "Ferrari 2022, Proposition 3.3.1; Mironov 2017, Table II",
        pure_to_renyi,
        lambda epsilon, order: randomised_response_curve(_exact(epsilon), order),
    ),
    Comparison(
        "Rényi to (ε, δ): α, ε, δ",
        "Ferrari 2022, Theorem 3.3.4; Canonne, Kamath & Steinke 2020, Proposition 12",
        renyi_to_approx,
        lambda order, value, delta: renyi_epsilon(order, value, rational(delta, "delta")),
    ),
    Comparison(
        "basic composition: ε, k, δ",
        "Ferrari 2022, Theorem 3.4.1; Kairouz, Oh & Viswanath 2015, Theorem 3",
        lambda epsilon, count, delta: epsilon * count,
        best_composition,
    ),
    Comparison(
        "advanced composition: ε, k, δ",
        "Ferrari 2022, Theorem 3.4.4, corrected; Kairouz, Oh & Viswanath 2015, Theorem 3",
        advanced_composition,
        best_composition,
    ),
    Comparison(
        "Laplace noise of scale 1/ε, as Rényi: ε, α",
        "Ferrari 2022, table 3.2; the discrete distribution of the same scale, sensitivity 1",
        lambda epsilon, order: epsilon,
        lambda epsilon, order: curves.discrete_laplace(1 / _exact(epsilon), 1, order),
    ),
)
