"""The bridge to Google's dp-accounting: its events, privacy-loss distributions, subsampled curves.

Its relation flag is never used: under ``REPLACE_ONE`` its Rényi accountant reports about half of its own
privacy-loss distribution. Our events carry the sensitivity of the relation at hand, and everything is
counted there as add/remove.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.events import (
    Compose,
    DiscreteLaplace,
    Event,
    Gaussian,
    Poisson,
    RandomizedResponse,
    Repeat,
    RepeatAndSelect,
)

__all__ = ["from_dp_accounting", "loss_distribution", "sampled_gaussian_curve", "to_dp_accounting"]

#: The grid of privacy-loss distributions.
INTERVAL = 1e-4


def to_dp_accounting(event: Event) -> Any:
    """The `dp_accounting.DpEvent` with the same meaning; an error where there is none."""
    import dp_accounting as google

    match event:
        case Gaussian(sigma=sigma, sensitivity_squared=squared):
            if squared == 0:
                return google.NoOpDpEvent()
            return google.GaussianDpEvent(float(sigma) / math.sqrt(squared))
        case DiscreteLaplace(scale=scale, sensitivity=sensitivity):
            return google.dp_event.DiscreteLaplaceDpEvent(float(1 / scale), sensitivity)
        case RandomizedResponse(epsilon=epsilon, k=k):
            resampled = k / (math.exp(epsilon) + k - 1)
            return google.dp_event.RandomizedResponseDpEvent(resampled, k)
        case Poisson(probability=chance, event=inner):
            return google.PoissonSampledDpEvent(float(chance), to_dp_accounting(inner))
        case Repeat(event=inner, count=count):
            return google.SelfComposedDpEvent(to_dp_accounting(inner), count)
        case Compose(events=events):
            if not events:
                return google.NoOpDpEvent()
            return google.ComposedDpEvent([to_dp_accounting(inner) for inner in events])
        case RepeatAndSelect(event=inner, shape=shape, gamma=gamma):
            g, eta = float(gamma), float(shape)
            mean = eta * (1 - g) / (g * (1 - g**eta)) if eta else (1 / g - 1) / math.log(1 / g)
            return google.RepeatAndSelectDpEvent(to_dp_accounting(inner), mean, eta)
        case _:
            raise ValueError(f"dp-accounting has no event for {type(event).__name__}.")


def from_dp_accounting(event: Any) -> Event:
    """Our event with the same meaning; an error where there is none."""
    import dp_accounting as google

    name = type(event).__name__
    if isinstance(event, google.NoOpDpEvent):
        return Compose()
    if isinstance(event, google.GaussianDpEvent):
        return Gaussian(Fraction(event.noise_multiplier))
    if isinstance(event, google.dp_event.DiscreteLaplaceDpEvent):
        return DiscreteLaplace(1 / Fraction(event.noise_parameter), event.sensitivity)
    if isinstance(event, google.PoissonSampledDpEvent):
        return Poisson(Fraction(event.sampling_probability), from_dp_accounting(event.event))
    if isinstance(event, google.SelfComposedDpEvent):
        return Repeat(from_dp_accounting(event.event), event.count)
    if isinstance(event, google.ComposedDpEvent):
        return Compose(*map(from_dp_accounting, event.events))
    raise ValueError(f"there is no event here for dp-accounting's {name}.")


@lru_cache(maxsize=1024)
def sampled_gaussian_curve(
    chance: Fraction, mu_squared: Fraction, orders: tuple[float, ...]
) -> dict[float, float]:
    """The Rényi curve of a Gaussian on a Poisson sample (Mironov, Talwar & Zhang 2019), rounded up."""
    import dp_accounting as google

    finite = [order for order in orders if math.isfinite(order)]
    accountant = google.rdp.RdpAccountant(finite, google.NeighboringRelation.ADD_OR_REMOVE_ONE)
    event = google.GaussianDpEvent(1 / math.sqrt(mu_squared))
    accountant.compose(google.PoissonSampledDpEvent(float(chance), event))
    # the float error of its log-sum-exps is far below 1e-9 relative and 1e-12 absolute
    curve = {
        order: float(value) * (1 + 1e-9) + 1e-12
        for order, value in zip(accountant.orders, accountant.rdp, strict=True)
    }
    unsampled = {order: float(mu_squared) / 2 * order * (1 + 1e-15) for order in finite}
    best = {order: min(curve.get(order, math.inf), unsampled[order]) for order in finite}
    return {**best, **({math.inf: math.inf} if math.inf in orders else {})}


@lru_cache(maxsize=256)
def loss_distribution(kind: str, first: Fraction, second: Fraction, chance: Fraction) -> Any:
    """The privacy-loss distribution of one mechanism, discretised from above.

    Kinds: ``gaussian`` (first: μ²; sampled with `chance`), ``discrete_laplace`` at sensitivity 1
    (first: scale), ``parameters`` (first: ε, second: δ; any mechanism with that guarantee).
    """
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    options: dict[str, Any] = {"value_discretization_interval": INTERVAL}
    if kind == "gaussian":
        return pld.from_gaussian_mechanism(
            1 / math.sqrt(first), sampling_prob=float(chance), **options
        )
    if kind == "discrete_laplace":
        return pld.from_discrete_laplace_mechanism(float(1 / first), sensitivity=1, **options)
    epsilon, delta = (math.nextafter(float(x), math.inf) if x else 0.0 for x in (first, second))
    return pld.from_privacy_parameters(
        common.DifferentialPrivacyParameters(epsilon, delta), **options
    )
