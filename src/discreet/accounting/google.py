"""The bridge to Google's dp-accounting: its events and its subsampled Rényi curves.

Its relation flag is never used: under ``REPLACE_ONE`` its Rényi accountant reports about half of its own
privacy-loss distribution. Our events carry the sensitivity of the relation at hand, and everything is
counted there as add/remove.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.accounting.curves import gaussian, log_mean_runs
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
from discreet.rational import above, float_above

__all__ = [
    "from_dp_accounting",
    "sampled_gaussian_curve",
    "to_dp_accounting",
]


def to_dp_accounting(event: Event) -> Any:
    """The `dp_accounting.DpEvent` with the same meaning, in float64; raises where there is none.

    Examples
    --------
    >>> from discreet import accounting, events
    >>> accounting.to_dp_accounting(events.Gaussian(2))
    GaussianDpEvent(noise_multiplier=2.0)
    """
    import dp_accounting as google

    match event:
        case Gaussian(sigma=sigma, sensitivity_squared=squared):
            if squared == 0:
                return google.NoOpDpEvent()
            return google.GaussianDpEvent(math.sqrt(sigma**2 / squared))
        case DiscreteLaplace(scale=scale, sensitivity=sensitivity):
            return google.dp_event.DiscreteLaplaceDpEvent(float(1 / scale), sensitivity)
        case RandomizedResponse(epsilon=epsilon, k=k):
            shrink = math.exp(-float(min(epsilon, Fraction(10**4))))
            return google.dp_event.RandomizedResponseDpEvent(k * shrink / (1 + (k - 1) * shrink), k)
        case Poisson(probability=chance, event=inner):
            return google.PoissonSampledDpEvent(float(chance), to_dp_accounting(inner))
        case Repeat(event=inner, count=count):
            return google.SelfComposedDpEvent(to_dp_accounting(inner), count)
        case Compose(events=events):
            if not events:
                return google.NoOpDpEvent()
            return google.ComposedDpEvent([to_dp_accounting(inner) for inner in events])
        case RepeatAndSelect(event=inner, shape=shape, gamma=gamma):
            mean = max(1.0, math.exp(log_mean_runs(shape, gamma)[0]))
            return google.dp_event.RepeatAndSelectDpEvent(
                to_dp_accounting(inner), mean, float(shape)
            )
        case Event():
            raise ValueError(f"dp-accounting has no event for {type(event).__name__}.")
        case _:
            raise TypeError(f"event must come from discreet.events, not {type(event).__name__}.")


def from_dp_accounting(event: Any) -> Event:
    """Our event with the same meaning; raises where there is none.

    Sensitivities are those of dp-accounting's add/remove relation. Where its numbers have no rational
    counterpart (the ε of a randomised response, the γ of a mean number of runs), ours costs no less.

    Examples
    --------
    >>> import dp_accounting
    >>> from discreet import accounting
    >>> step = dp_accounting.GaussianDpEvent(2.0)
    >>> accounting.from_dp_accounting(dp_accounting.SelfComposedDpEvent(step, 10))
    Repeat(event=Gaussian(sigma=Fraction(2, 1), sensitivity_squared=Fraction(1, 1)), count=10)
    """
    import dp_accounting as google

    name = type(event).__name__
    if isinstance(event, google.NoOpDpEvent):
        return Compose()
    if isinstance(event, google.GaussianDpEvent):
        return Gaussian(Fraction(event.noise_multiplier))
    if isinstance(event, google.dp_event.DiscreteLaplaceDpEvent):
        return DiscreteLaplace(1 / Fraction(event.noise_parameter), event.sensitivity)
    if isinstance(event, google.dp_event.RandomizedResponseDpEvent):
        resampled, k = Fraction(event.noise_parameter), event.num_buckets
        if not 0 < resampled <= 1:
            raise ValueError("event: a randomised response without noise is not private.")
        return RandomizedResponse(above(math.log1p(k * (1 / resampled - 1))), k)
    if isinstance(event, google.PoissonSampledDpEvent):
        return Poisson(Fraction(event.sampling_probability), from_dp_accounting(event.event))
    if isinstance(event, google.SelfComposedDpEvent):
        return Repeat(from_dp_accounting(event.event), event.count)
    if isinstance(event, google.ComposedDpEvent):
        return Compose(*map(from_dp_accounting, event.events))
    if isinstance(event, google.dp_event.RepeatAndSelectDpEvent):
        shape = Fraction(event.shape) if math.isfinite(event.shape) else None
        if shape is None or not event.mean > 1:
            raise ValueError("event: only negative binomial numbers of runs are counted here.")
        inner = from_dp_accounting(event.event)
        return RepeatAndSelect(inner, shape, _gamma(shape, math.log(event.mean)))
    raise ValueError(f"event: there is no event here for dp-accounting's {name}.")


def _gamma(shape: Fraction, log_mean: float) -> Fraction:
    """A γ, close to the largest, with which the mean number of runs is at least e^log_mean."""
    low, high = 0.0, 1.0
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        # log_mean_runs rounds up, by less than this
        if log_mean_runs(shape, Fraction(middle))[0] >= log_mean + 1e-12 * (1 + log_mean):
            low = middle
        else:
            high = middle
    return Fraction(low)


@contextmanager
def _hide_warnings() -> Iterator[None]:
    """Silence dp-accounting's warning about orders that don't converge: they are dealt with here."""
    logger = logging.getLogger("absl")

    def heard(record: logging.LogRecord) -> bool:
        return "failed to converge" not in str(record.msg)

    logger.addFilter(heard)
    try:
        yield
    finally:
        logger.removeFilter(heard)


@lru_cache(maxsize=1024)
def sampled_gaussian_curve(
    chance: Fraction, mu_squared: Fraction, orders: tuple[float, ...]
) -> dict[float, float]:
    """The Rényi curve of a Gaussian on a Poisson sample (Mironov, Talwar & Zhang 2019), rounded up."""
    import dp_accounting as google

    unsampled = {order: gaussian(mu_squared / 2, order) for order in orders}
    finite = sorted(order for order in orders if math.isfinite(order))
    if not finite or mu_squared > 10**6:
        return unsampled
    accountant = google.rdp.RdpAccountant(finite, google.NeighboringRelation.ADD_OR_REMOVE_ONE)
    event = google.GaussianDpEvent(1 / math.sqrt(max(mu_squared, Fraction(1, 10**200))))
    with _hide_warnings():
        accountant.compose(google.PoissonSampledDpEvent(float_above(chance), event))
    # its series stop at terms below e^-30 = 1e-13 of their sum, and its log-sum-exps are right to 1e-9
    curve = dict(zip(finite, map(float, accountant.rdp), strict=True))
    best = math.inf
    for order in reversed(finite):  # what did not converge takes the value of the next order
        value = curve[order] * (1 + 1e-9) + 1e-12 / min(1.0, order - 1)
        best = min(best, value if value > 0 else math.inf)
        curve[order] = min(best, unsampled[order])
    return {order: curve.get(order, math.inf) for order in orders}
