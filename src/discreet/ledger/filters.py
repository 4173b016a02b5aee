"""Privacy filters: which charges still fit. Proof page: ``docs/proofs/ledger.md``.

A filter has no state and knows no database. It prices an event as amounts by name, turns a limit
into caps by the same names, and says whether totals are within caps. It is fixed when the ledger
opens and stored in the first entry.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any, ClassVar

from discreet.accounting import NoBound, cost, satisfies
from discreet.events import Event
from discreet.ledger.amounts import Amount, Amounts, float_above, float_below, in_steps
from discreet.ledger.caps import order_cap, orders_for, rho_cap
from discreet.ledger.splitting import split_delta
from discreet.measures import ZCDP, ApproxDP, GaussianDP, Measure, PureDP, Renyi
from discreet.rational import readable

__all__ = ["BasicFilter", "Filter", "PureFilter", "RenyiFilter", "ZCDPFilter", "filter_from_dict"]


class Filter(ABC):
    """A way to add up charges and to tell when a limit is reached."""

    composition: ClassVar[str]
    #: The amounts that a charge has, in order.
    names: tuple[str, ...]

    @abstractmethod
    def caps(self, limit: Measure) -> Amounts:
        """A limit as amounts; `ValueError` for a measure that this filter doesn't bound."""

    @abstractmethod
    def price(self, event: Event, measure: Measure | None) -> Amounts:
        """What a charge books, after checking that the event costs at most `measure`."""

    @abstractmethod
    def measure(self, amounts: Amounts) -> Measure:
        """Amounts spent as a measure, rounded up."""

    @abstractmethod
    def left(self, totals: Amounts, caps: Amounts) -> Measure:
        """What remains as a measure, rounded down."""

    def fits(self, totals: Amounts, caps: Amounts) -> bool:
        """Whether a ledger with these totals keeps its limit."""
        return all(totals[name] <= caps[name] for name in self.names)

    def fill(self, totals: Amounts, caps: Amounts) -> float:
        """How full the limit is, from 0 to 1. Not a guarantee: a filter is not an odometer."""
        return max(_share(totals[name], caps[name]) for name in self.names)

    def reserve_of(self, amounts: Amounts) -> Amount:
        """The part of the amounts that the δ set aside at opening pays for."""
        return Fraction(0)

    def to_dict(self) -> dict[str, Any]:
        """The filter as plain data, for the first entry."""
        return {"composition": self.composition}


def _share(total: Amount, cap: Amount) -> float:
    if not total:
        return 0.0
    return float_above(total / cap) if cap else math.inf


def check_measure(event: Event, measure: Measure) -> None:
    """Raise unless the event provably costs at most `measure`; say what it does cost."""
    if not isinstance(measure, PureDP | ApproxDP | ZCDP | GaussianDP | Renyi):
        raise TypeError(
            f"measure must be a measure such as dp.PureDP(0.1), not {type(measure).__name__}."
        )
    if satisfies(event, measure):
        return
    try:
        if isinstance(measure, ApproxDP):
            really = repr(cost(event, ApproxDP, delta=measure.delta))
        elif isinstance(measure, Renyi):
            really = repr(cost(event, Renyi, orders=measure.orders))
        else:
            really = repr(cost(event, type(measure)))
    except NoBound as error:
        really = f"no {type(measure).__name__} that is known ({error})"
    raise ValueError(f"measure is {measure!r}, but the event costs {really}.")


def _pure_epsilon(event: Event, advice: str) -> Amount:
    try:
        return cost(event, PureDP).epsilon
    except NoBound as error:
        raise NoBound(f"{error} {advice}") from None


class BasicFilter(Filter):
    """Σε and Σδ, each within its own part of an `ApproxDP` limit.

    Privacy
    -------
    Adaptive (εᵢ, δᵢ) whose sums never pass (ε, δ) are (ε, δ)-DP together (Rogers, Roth, Ullman & Vadhan
    2016).
    """

    composition = "basic"
    names = ("epsilon", "delta")

    def caps(self, limit: Measure) -> Amounts:
        match limit:
            case ApproxDP(epsilon=epsilon, delta=delta):
                return {"epsilon": epsilon, "delta": delta}
            case PureDP(epsilon=epsilon):
                return {"epsilon": epsilon, "delta": Fraction(0)}
        raise ValueError(
            f"limit must be dp.ApproxDP(epsilon, delta) with composition='basic', got {limit!r}."
        )

    def price(self, event: Event, measure: Measure | None) -> Amounts:
        match measure:
            case None:
                inner, delta = split_delta(event)
                advice = "Give measure=dp.ApproxDP(epsilon, delta): the pair to book."
                return {"epsilon": _pure_epsilon(inner, advice), "delta": delta}
            case PureDP() | ApproxDP():
                check_measure(event, measure)
                return self.caps(measure)
        raise ValueError(
            f"measure is {measure!r}, but this ledger adds up pairs (ε, δ): ask with dp.ApproxDP(epsilon, "
            "delta) or dp.PureDP(epsilon), or open it with composition='zcdp'."
        )

    def measure(self, amounts: Amounts) -> ApproxDP:
        return ApproxDP(amounts["epsilon"], Fraction(min(amounts["delta"], Fraction(1))))

    def left(self, totals: Amounts, caps: Amounts) -> ApproxDP:
        return ApproxDP(*(Fraction(caps[name] - totals[name]) for name in self.names))


class PureFilter(Filter):
    """Σε within a `PureDP` limit.

    Privacy
    -------
    The case δ = 0 of `BasicFilter`.
    """

    composition = "pure"
    names = ("epsilon",)

    def caps(self, limit: Measure) -> Amounts:
        match limit:
            case PureDP(epsilon=epsilon):
                return {"epsilon": epsilon}
        raise ValueError(
            f"limit must be dp.PureDP(epsilon) with composition='pure', got {limit!r}."
        )

    def price(self, event: Event, measure: Measure | None) -> Amounts:
        match measure:
            case None:
                advice = (
                    "This ledger has a dp.PureDP limit and accepts pure events alone: open it with an (ε, δ) "
                    "limit, as in dp.Ledger(limit=dp.ApproxDP(1, 1e-6))."
                )
                return {"epsilon": _pure_epsilon(event, advice)}
            case PureDP(epsilon=epsilon) | ApproxDP(epsilon=epsilon, delta=0):
                check_measure(event, measure)
                return {"epsilon": epsilon}
        instead = "dp.PureDP(0.5)"
        if isinstance(measure, ApproxDP):
            instead = f"dp.PureDP({readable(measure.epsilon)})"
        raise ValueError(
            f"measure is {measure!r}, but this ledger has a dp.PureDP limit and adds up pure DP alone: open "
            f"it with an (ε, δ) limit, as in dp.Ledger(limit=dp.ApproxDP(1, 1e-6)), or ask with {instead}."
        )

    def measure(self, amounts: Amounts) -> PureDP:
        return PureDP(amounts["epsilon"])

    def left(self, totals: Amounts, caps: Amounts) -> PureDP:
        return PureDP(caps["epsilon"] - totals["epsilon"])


class _ReservingFilter(Filter, ABC):
    """A filter whose events may bring a δ of their own, paid from a pot set aside at opening."""

    def __init__(self, delta: Fraction | None, reserve: Fraction) -> None:
        #: δ of the ledger's limit, None for a limit in ZCDP; and the part of it set aside.
        self.delta, self.reserve = delta, reserve

    def pot(self, delta: Fraction) -> Fraction:
        """The part of a limit's δ set aside: the same share for sub-accounts as for the ledger."""
        return self.reserve * delta / self.delta if self.delta else Fraction(0)

    def reserve_of(self, amounts: Amounts) -> Amount:
        return amounts["delta"]

    def price(self, event: Event, measure: Measure | None) -> Amounts:
        if measure is not None:
            check_measure(event, measure)
        inner, delta = split_delta(event)
        return {**self._loss(inner), "delta": delta}

    @abstractmethod
    def _loss(self, event: Event) -> Amounts:
        """The amounts of an event without δ of its own."""

    def to_dict(self) -> dict[str, Any]:
        delta = None if self.delta is None else str(self.delta)
        return {**super().to_dict(), "delta": delta, "reserve": str(self.reserve)}


class ZCDPFilter(_ReservingFilter):
    """Σρ within ρ_max; an `ApproxDP` limit becomes a ρ_max once.

    Privacy
    -------
    Adaptive ρᵢ whose sum never passes ρ are together ρ-zCDP (Feldman & Zrnic 2021; Lécuyer 2021); declared
    δᵢ are paid from the reserve.
    """

    composition = "zcdp"
    names = ("rho", "delta")

    def caps(self, limit: Measure) -> Amounts:
        match limit:
            case ZCDP(rho=rho):
                return {"rho": rho, "delta": self.reserve}
            case ApproxDP(epsilon=epsilon, delta=delta) if self.delta and delta:
                pot = self.pot(delta)
                return {"rho": rho_cap(Fraction(epsilon), delta - pot), "delta": pot}
        kinds = "dp.ZCDP or dp.ApproxDP" if self.delta else "dp.ZCDP"
        raise ValueError(f"limit must be {kinds} with composition='zcdp', got {limit!r}.")

    def _loss(self, event: Event) -> Amounts:
        try:
            return {"rho": cost(event, ZCDP).rho}
        except NoBound as error:
            raise NoBound(f"{error} This ledger counts in dp.ZCDP.") from None

    def fill(self, totals: Amounts, caps: Amounts) -> float:
        return _share(totals["rho"], caps["rho"])

    def measure(self, amounts: Amounts) -> ZCDP:
        return ZCDP(amounts["rho"])

    def left(self, totals: Amounts, caps: Amounts) -> ZCDP:
        return ZCDP(caps["rho"] - totals["rho"])


class RenyiFilter(_ReservingFilter):
    """A few fixed orders, each with its own share of δ; a charge fits while one order does.

    Parameters
    ----------
    delta, reserve : Fraction
        δ of the ledger's limit, and the part set aside for events with a δ of their own.
    shares : mapping of order to fraction
        Each finite order's share of what is left of δ; they add up to at most 1. Order ∞ has 0.

    Privacy
    -------
    At a fixed order the sums are a filter (Feldman & Zrnic 2021; Lécuyer 2021); every outcome lies within
    at least one order's cap, and the shares add up. One order within the *full* δ would not be enough.
    """

    composition = "renyi"

    def __init__(
        self, delta: Fraction, reserve: Fraction, shares: Mapping[float, Fraction]
    ) -> None:
        super().__init__(delta, reserve)
        if sum(share for order, share in shares.items() if math.isfinite(order)) > 1:
            raise ValueError("shares of delta must add up to at most 1.")
        self.shares = dict(shares)
        self.orders = tuple(self.shares)
        self._keys = {order: f"{order:g}" for order in self.orders}
        self.names = (*self._keys.values(), "delta")

    def caps(self, limit: Measure) -> Amounts:
        match limit:
            case ApproxDP(epsilon=epsilon, delta=delta) if delta:
                pot = self.pot(delta)
                caps = {
                    key: order_cap(order, Fraction(epsilon), self.shares[order] * (delta - pot))
                    for order, key in self._keys.items()
                }
                return {**caps, "delta": pot}
        raise ValueError(
            f"limit must be dp.ApproxDP with delta > 0 and composition='renyi', got {limit!r}."
        )

    def _loss(self, event: Event) -> Amounts:
        curve = cost(event, Renyi, orders=self.orders).curve
        loss: Amounts = {key: in_steps(curve[order]) for order, key in self._keys.items()}
        if "inf" in loss:
            # exact where there is a pure cost, so that ten charges of 0.1 fit 1.0 here too
            with suppress(NoBound):
                loss["inf"] = cost(event, PureDP).epsilon
        return loss

    def fits(self, totals: Amounts, caps: Amounts) -> bool:
        if totals["delta"] > caps["delta"]:
            return False
        return any(totals[key] <= caps[key] for key in self._keys.values())

    def fill(self, totals: Amounts, caps: Amounts) -> float:
        return min(_share(totals[key], caps[key]) for key in self._keys.values())

    def measure(self, amounts: Amounts) -> Renyi:
        return Renyi({order: float_above(amounts[key]) for order, key in self._keys.items()})

    def left(self, totals: Amounts, caps: Amounts) -> Renyi:
        return Renyi(
            {
                order: float_below(max(Fraction(0), caps[key] - totals[key]))
                for order, key in self._keys.items()
            }
        )

    def to_dict(self) -> dict[str, Any]:
        shares = {key: str(self.shares[order]) for order, key in self._keys.items()}
        return {**super().to_dict(), "shares": shares}


def new_filter(composition: str, limit: Measure, reserve: Fraction) -> Filter:
    """The filter of a new ledger."""
    delta = limit.delta if isinstance(limit, ApproxDP) else None
    match composition:
        case "basic":
            return BasicFilter()
        case "pure":
            return PureFilter()
        case "zcdp":
            return ZCDPFilter(delta, reserve)
        case "renyi" if isinstance(limit, ApproxDP) and limit.delta:
            free = limit.delta - reserve
            return RenyiFilter(limit.delta, reserve, orders_for(Fraction(limit.epsilon), free))
        case "renyi":
            raise ValueError(
                f"limit must be dp.ApproxDP with delta > 0 and composition='renyi', got {limit!r}."
            )
    raise ValueError(
        f"composition must be 'basic', 'pure', 'zcdp' or 'renyi', got {composition!r}."
    )


def filter_from_dict(data: Mapping[str, Any]) -> Filter:
    """The inverse of `Filter.to_dict`."""
    match data:
        case {"composition": "basic"}:
            return BasicFilter()
        case {"composition": "pure"}:
            return PureFilter()
        case {"composition": "zcdp", "delta": delta, "reserve": reserve}:
            return ZCDPFilter(None if delta is None else Fraction(delta), Fraction(reserve))
        case {"composition": "renyi", "delta": delta, "reserve": reserve, "shares": shares}:
            by_order = {float(order): Fraction(share) for order, share in shares.items()}
            return RenyiFilter(Fraction(delta), Fraction(reserve), dict(sorted(by_order.items())))
    raise ValueError(f"no filter is written like this: {dict(data)!r}.")
