"""The measures of privacy loss. Each has a partial order and, where composition adds, a sum.

Totals are fractions, so sums are exact; Rényi values are floats rounded up.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from types import MappingProxyType
from typing import Any

from discreet.rational import (
    Number,
    as_integer,
    float_above,
    non_negative,
    non_negative_or_infinite,
    probability,
    rational,
    readable,
    square_root_above,
)

#: The orders at which Rényi curves are tabulated unless others are asked for.
ORDERS: tuple[float, ...] = (
    *(1 + k / 10 for k in range(1, 20)), *range(3, 65), 80, 96, 128, 192, 256, 512, 1024, math.inf,
)  # fmt: skip


class Measure(ABC):
    """A statement of how much two neighbouring data sets' answers can differ.

    Examples
    --------
    >>> from discreet import measures
    >>> budget = measures.PureDP(0.5)
    >>> isinstance(budget, measures.Measure), budget.times(3)
    (True, PureDP(epsilon=1.5))
    >>> measures.PureDP(0.5) <= measures.PureDP(1)
    True
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The measure as plain data."""

    @abstractmethod
    def _at_most(self, other: Any) -> bool:
        """Whether this is at least as private as `other`, of the same kind."""

    @abstractmethod
    def times(self, count: int) -> Measure:
        """The loss of `count` answers with this loss each."""

    def __le__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._at_most(other)

    def __ge__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return other <= self

    def __lt__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self <= other and not other <= self

    def __gt__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return other < self


@dataclass(frozen=True, repr=False)
class PureDP(Measure):
    """ε-differential privacy: probabilities of any outcome differ by a factor of at most e^ε.

    Source: Dwork, McSherry, Nissim & Smith 2006, Definition 1.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.PureDP(0.5)
    PureDP(epsilon=0.5)
    >>> dp.PureDP("1/3").epsilon
    Fraction(1, 3)
    """

    epsilon: Fraction | float

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", non_negative_or_infinite(epsilon, "epsilon"))

    def _at_most(self, other: PureDP) -> bool:
        return self.epsilon <= other.epsilon

    def __add__(self, other: PureDP) -> PureDP:
        if not isinstance(other, PureDP):
            return NotImplemented
        return PureDP(self.epsilon + other.epsilon)

    def times(self, count: int) -> PureDP:
        return PureDP(self.epsilon * count) if as_integer(count, "count") else PureDP(0)

    def to_dict(self) -> dict[str, Any]:
        return {"measure": "PureDP", "epsilon": str(self.epsilon)}

    def __repr__(self) -> str:
        return f"PureDP(epsilon={readable(self.epsilon)})"


@dataclass(frozen=True, repr=False)
class ApproxDP(Measure):
    """(ε, δ)-differential privacy. Source: Dwork, Kenthapadi, McSherry, Mironov & Naor 2006.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.Ledger(limit=dp.ApproxDP(1, 1e-6)).limit
    ApproxDP(epsilon=1, delta=1e-06)
    """

    epsilon: Fraction | float
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number | None = None) -> None:
        if delta is None:
            raise TypeError(
                f"delta must be given, as in dp.ApproxDP({epsilon}, 1e-6); without one it is "
                f"dp.PureDP({epsilon})."
            )
        object.__setattr__(self, "epsilon", non_negative_or_infinite(epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(delta, "delta"))

    def _at_most(self, other: ApproxDP) -> bool:
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def __add__(self, other: ApproxDP) -> ApproxDP:
        if not isinstance(other, ApproxDP):
            return NotImplemented
        return ApproxDP(self.epsilon + other.epsilon, min(Fraction(1), self.delta + other.delta))

    def times(self, count: int) -> ApproxDP:
        if not as_integer(count, "count"):
            return ApproxDP(0, Fraction(0))
        return ApproxDP(self.epsilon * count, min(Fraction(1), self.delta * count))

    def to_dict(self) -> dict[str, Any]:
        return {"measure": "ApproxDP", "epsilon": str(self.epsilon), "delta": str(self.delta)}

    def __repr__(self) -> str:
        return f"ApproxDP(epsilon={readable(self.epsilon)}, delta={readable(self.delta)})"


@dataclass(frozen=True, repr=False)
class ZCDP(Measure):
    """ρ-zero-concentrated DP: D_α <= ρα for all α > 1. Source: Bun & Steinke 2016, Definition 1.1.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.convert(dp.ZCDP(0.1), dp.ApproxDP, delta=1e-6).epsilon < 2.4
    True
    """

    rho: Fraction | float

    def __init__(self, rho: Number) -> None:
        object.__setattr__(self, "rho", non_negative_or_infinite(rho, "rho"))

    def _at_most(self, other: ZCDP) -> bool:
        return self.rho <= other.rho

    def __add__(self, other: ZCDP) -> ZCDP:
        if not isinstance(other, ZCDP):
            return NotImplemented
        return ZCDP(self.rho + other.rho)

    def times(self, count: int) -> ZCDP:
        return ZCDP(self.rho * count) if as_integer(count, "count") else ZCDP(0)

    def to_dict(self) -> dict[str, Any]:
        return {"measure": "ZCDP", "rho": str(self.rho)}

    def __repr__(self) -> str:
        return f"ZCDP(rho={readable(self.rho)})"


@dataclass(frozen=True, repr=False)
class GaussianDP(Measure):
    """μ-Gaussian DP, by its square: trade-off no worse than N(0,1) against N(μ,1).

    Source: Dong, Roth & Su 2022, Definition 2.6; composition adds the squares (Corollary 3.3).

    Examples
    --------
    >>> import discreet as dp
    >>> dp.GaussianDP(0.25).mu
    0.5
    """

    mu_squared: Fraction

    def __init__(self, mu_squared: Number) -> None:
        object.__setattr__(self, "mu_squared", non_negative(mu_squared, "mu_squared"))

    @property
    def mu(self) -> float:
        """The distance of the two normal distributions, as a float."""
        if Fraction(1, 10**300) < self.mu_squared < 10**300:
            return math.sqrt(self.mu_squared)
        return float_above(square_root_above(self.mu_squared))

    def _at_most(self, other: GaussianDP) -> bool:
        return self.mu_squared <= other.mu_squared

    def __add__(self, other: GaussianDP) -> GaussianDP:
        if not isinstance(other, GaussianDP):
            return NotImplemented
        return GaussianDP(self.mu_squared + other.mu_squared)

    def times(self, count: int) -> GaussianDP:
        return GaussianDP(self.mu_squared * as_integer(count, "count"))

    def to_dict(self) -> dict[str, Any]:
        return {"measure": "GaussianDP", "mu_squared": str(self.mu_squared)}

    def __repr__(self) -> str:
        return f"GaussianDP(mu={readable(square_root_above(self.mu_squared))})"


class Renyi(Measure):
    """A Rényi curve: an upper bound on D_α for each listed order α > 1 (∞ is pure DP).

    Parameters
    ----------
    curve : mapping of order to bound
        Bounds are floats that were rounded up. Source: Mironov 2017, Definition 4.

    Examples
    --------
    >>> import discreet as dp
    >>> curve = dp.Renyi({2: 0.1, 8: 0.4, 32: 1.6})
    >>> dp.convert(curve, dp.ApproxDP, delta=1e-6).epsilon < 3
    True
    """

    def __init__(self, curve: Mapping[float, float]) -> None:
        if not isinstance(curve, Mapping) or not all(
            isinstance(number, Real) for item in curve.items() for number in item
        ):
            raise TypeError(
                "curve must be a mapping of orders to bounds, such as {2: 0.1, 8: 0.4}."
            )
        checked: dict[float, float] = {}
        for order, value in sorted(curve.items()):
            if not order > 1:
                raise ValueError(f"curve: orders must be greater than 1, got {order!r}.")
            if not value >= 0:
                raise ValueError("curve: values must be at least 0.")
            checked[float(order)] = float(value)
        if not checked:
            raise ValueError("curve must have at least one order.")
        self.curve: Mapping[float, float] = MappingProxyType(checked)

    @property
    def orders(self) -> tuple[float, ...]:
        """The orders at which the curve is known."""
        return tuple(self.curve)

    def at(self, order: float) -> float:
        """The curve's bound at any order, listed or not: D_α rises with α.

        Source: van Erven & Harremoës 2014, Theorem 3.
        """
        return min((value for o, value in self.curve.items() if o >= order), default=math.inf)

    def _at_most(self, other: Renyi) -> bool:
        return all(o in self.curve and self.curve[o] <= v for o, v in other.curve.items())

    def __add__(self, other: Renyi) -> Renyi:
        if not isinstance(other, Renyi):
            return NotImplemented
        shared = [order for order in self.curve if order in other.curve]
        if not shared:
            raise ValueError("these two curves have no order in common.")
        return Renyi({o: _up(self.curve[o] + other.curve[o]) for o in shared})

    def times(self, count: int) -> Renyi:
        if not as_integer(count, "count"):
            return Renyi(dict.fromkeys(self.curve, 0.0))
        factor = float_above(Fraction(count))
        return Renyi({order: _up(value * factor) for order, value in self.curve.items()})

    def to_dict(self) -> dict[str, Any]:
        # JSON has no infinity, and a float's shortest decimal gives the same float back
        curve = {str(o): v if math.isfinite(v) else str(v) for o, v in self.curve.items()}
        return {"measure": "Renyi", "curve": curve}

    def __reduce__(self) -> tuple[type[Renyi], tuple[dict[float, float]]]:
        return Renyi, (dict(self.curve),)  # a mapping proxy can't be pickled

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Renyi) and dict(self.curve) == dict(other.curve)

    def __hash__(self) -> int:
        return hash(tuple(self.curve.items()))

    def __repr__(self) -> str:
        shown = [f"{order:g}: {value:.6g}" for order, value in self.curve.items()]
        if len(shown) > 6:
            shown = [*shown[:3], f"... {len(shown) - 5} more ...", *shown[-2:]]
        return f"Renyi({{{', '.join(shown)}}})"


def _up(value: float) -> float:
    """The next float: sums and products of bounds round up, unless they are zero."""
    return value if value == 0.0 else math.nextafter(value, math.inf)


def measure_from_dict(data: Mapping[str, Any]) -> Measure:
    """The inverse of `to_dict`.

    Examples
    --------
    >>> from discreet import measures
    >>> kept = measures.ApproxDP(1, 1e-6).to_dict()
    >>> measures.measure_from_dict(kept)
    ApproxDP(epsilon=1, delta=1e-06)
    """
    if not isinstance(data, Mapping):
        raise TypeError(f"data must be what `to_dict` gave, not {type(data).__name__}.")
    match data:
        case {"measure": "PureDP", "epsilon": epsilon}:
            return PureDP(_exact(epsilon))
        case {"measure": "ApproxDP", "epsilon": epsilon, "delta": delta}:
            return ApproxDP(_exact(epsilon), _exact(delta))
        case {"measure": "ZCDP", "rho": rho}:
            return ZCDP(_exact(rho))
        case {"measure": "GaussianDP", "mu_squared": mu_squared}:
            return GaussianDP(_exact(mu_squared))
        case {"measure": "Renyi", "curve": curve}:
            return Renyi({float(order): float(value) for order, value in curve.items()})
        case _:
            raise ValueError(f"no measure of privacy is written like this: {dict(data)!r}.")


def _exact(text: Any) -> Fraction | float:
    return math.inf if text == "inf" else rational(text, "data")
