"""Numbers beyond the floats: measures, events and their costs take them, print them and give them back."""

from __future__ import annotations

import math
import pickle
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet import accounting, events
from discreet.accounting import NoBound
from discreet.events import event_from_dict
from discreet.ledger import BudgetExceeded
from discreet.measures import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    Measure,
    PureDP,
    Renyi,
    convert,
    measure_from_dict,
)
from discreet.measures.meaning import advantage, bayes_risk, posterior_bounds, trade_off

EXTREMES = [
    "1e-400",
    "1e400",
    "1e-999",
    Fraction(1, 3) * 10**400,
    Fraction(1, 7**500),
    5e-324,
    1e308,
]
ROOT = str(Path(discreet.__file__).parent)


def survive(call: Callable[[], Any]) -> Any:
    """The result, or None for an error of our own: raised by this package, on purpose."""
    try:
        return call()
    except (ValueError, TypeError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        if last.filename.startswith(ROOT) and "raise" in str(last.line):
            return None
        raise AssertionError("an error that nobody wrote") from error


def measures(value: Any) -> list[Measure]:
    return [PureDP(value), ApproxDP(value, "1e-400"), ZCDP(value), GaussianDP(value)]


@pytest.mark.parametrize("value", EXTREMES, ids=range(len(EXTREMES)))
def test_measures_of_any_size_print_travel_and_convert(value: Any) -> None:
    for measure in measures(value):
        assert "=0)" not in repr(measure), "what is spent never reads as nothing"
        assert "=0," not in repr(measure)
        assert repr(measure) in str(BudgetExceeded(measure, measure, "/"))
        assert measure_from_dict(measure.to_dict()) == measure
        assert pickle.loads(pickle.dumps(measure)) == measure
        assert repr(measure.times(10**400))
        assert measure <= measure + measure  # type: ignore[operator]
        for to in (PureDP, ApproxDP, ZCDP, GaussianDP, Renyi):
            survive(lambda measure=measure, to=to: repr(convert(measure, to, delta="1e-6")))
        survive(lambda measure=measure: repr(accounting.group(measure, 3)))
        for call in (advantage, lambda m: bayes_risk(m, 0.3), lambda m: posterior_bounds(m, 0.3)):
            survive(lambda measure=measure, call=call: call(measure))
        survive(lambda measure=measure: trade_off(measure, 0.3))


def test_numbers_beyond_the_floats_are_printed_with_their_exponent() -> None:
    assert repr(PureDP("1e-400")) == "PureDP(epsilon=1e-400)"
    assert repr(PureDP(Fraction(10**400, 3))) == "PureDP(epsilon=3.33333e+399)"
    assert repr(ApproxDP("2e400", "1e-400")) == "ApproxDP(epsilon=2e+400, delta=1e-400)"
    assert repr(GaussianDP("4e-800")) == "GaussianDP(mu=2e-400)"
    assert GaussianDP("1e400").mu == pytest.approx(1e200)
    assert GaussianDP("1e900").mu == math.inf
    assert repr(PureDP(0)) == "PureDP(epsilon=0)"


EVENTS: list[Callable[[Any], events.Event]] = [
    lambda v: events.DiscreteLaplace(v),
    lambda v: events.DiscreteLaplace(3, int(Fraction(v))),
    lambda v: events.Gaussian(v),
    lambda v: events.Gaussian(1, v),
    lambda v: events.DiscreteGaussian(v),
    lambda v: events.Exponential(v),
    lambda v: events.RandomizedResponse(v),
    lambda v: events.RandomizedResponse(1, int(Fraction(v)) + 2),
    lambda v: events.PartialResponse(v, "1e-400"),
    lambda v: events.PermuteAndFlip(v),
    lambda v: events.NoisyMax(v),
    lambda v: events.SparseVector(v, v),
    lambda v: events.KeyThreshold(v, 1, 5),
    lambda v: events.KeyThreshold(3, 1, int(Fraction(v)) + 2),
    lambda v: events.Staircase(v, 2, 1, 5),
    lambda v: events.Staircase(1, 2, 1, int(Fraction(v))),
    lambda v: events.LaplaceObjective(v, v, v),
    lambda v: events.GaussianObjective(v, v, 0, 1),
    lambda v: events.GaussianObjective(1, 1, v, v),
    lambda v: events.Repeat(events.Gaussian(3), int(Fraction(v))),
    lambda v: events.Repeat(events.DiscreteLaplace(3), int(Fraction(v))),
    lambda v: events.Repeat(events.Poisson("0.1", events.DiscreteLaplace(2)), int(Fraction(v))),
    lambda v: events.Poisson("0.1", events.DiscreteLaplace(v)),
    lambda v: events.RepeatAndSelect(events.DiscreteLaplace(v), 1, "0.5"),
    lambda v: events.RepeatAndSelect(events.DiscreteLaplace(3), v, "0.5"),
    lambda v: events.External(ZCDP(v), "elsewhere"),
    lambda v: events.External(ApproxDP(v, "1e-400"), "elsewhere"),
    lambda v: events.Compose(events.Gaussian(v), events.DiscreteLaplace(v)),
    lambda v: events.Compose(events.DiscreteGaussian(v), events.DiscreteLaplace(2)),
    lambda v: events.Parallel([events.Gaussian(v), events.Gaussian(2)], 2),
    lambda v: events.OneOf([events.Gaussian(v), events.DiscreteLaplace(v)]),
]


@pytest.mark.parametrize("index", range(len(EVENTS)))
def test_events_of_any_size_are_counted_or_have_no_bound(index: int) -> None:
    for value in ("1e-400", "1e400", Fraction(1, 7**500)):
        event = EVENTS[index](value)
        assert repr(event)
        assert event_from_dict(event.to_dict()) == event
        for measure in (PureDP, ZCDP, GaussianDP, Renyi):
            survive(lambda event=event, measure=measure: repr(accounting.cost(event, measure)))
        for delta in ("1e-6", "1e-400", 0):
            survive(lambda event=event, delta=delta: accounting.cost(event, ApproxDP, delta=delta))
        for epsilon in ("1e-400", "1", "1e400"):
            assert 0 <= accounting.delta_at(event, epsilon) <= 1
        accounting.satisfies(event, ApproxDP("1e400", "1e-6"))


def test_no_bound_is_an_error_of_our_own() -> None:
    assert issubclass(NoBound, ValueError)
    with pytest.raises(AssertionError):
        survive(lambda: int("a number"))  # not ours: caught


LONG = ["1e-5000", "1e5000", "1e-999999999999", 10**5000, "0." + "1" * 5000]


@pytest.mark.parametrize("index", range(len(LONG)))
def test_numbers_with_thousands_of_digits_are_refused_with_a_sentence(index: int) -> None:
    for make in (PureDP, ZCDP, GaussianDP, events.DiscreteLaplace, events.Gaussian):
        with pytest.raises(ValueError, match="at most 4000 digits"):
            make(LONG[index])


def test_fractions_as_long_as_a_ledger_writes_them_are_read() -> None:
    long = Fraction(10**2000 + 1, 3**3000)
    for measure in (PureDP(long), ZCDP(long)):
        assert measure_from_dict(measure.to_dict()) == measure
