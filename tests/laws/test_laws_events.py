"""Laws of all events: composition, noise, and that no route understates the exact divergence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import accounting, events
from discreet.accounting.thresholds import minimum_threshold
from discreet.events import Event
from discreet.measures import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    Measure,
    PrivacyLoss,
    PureDP,
    Renyi,
    convert,
)
from profiles import max_examples

Distribution = list[mpmath.mpf]
ORDERS = (1.5, 2.0, 8.0, 64.0, math.inf)
SCALES = st.fractions("1/20", 50, max_denominator=20)
SQUARES = st.integers(0, 20)
COSTS = st.one_of(
    st.builds(PureDP, st.fractions(0, 5, max_denominator=50)),
    st.builds(ApproxDP, st.fractions(0, 5, max_denominator=50), st.just(Fraction(1, 10**7))),
    st.builds(ZCDP, st.fractions(0, 5, max_denominator=50)),
    st.builds(GaussianDP, st.fractions(0, 5, max_denominator=50)),
    st.builds(lambda a: Renyi({2.0: a, 64.0: 9 * a, math.inf: math.inf}), st.floats(0, 5)),
)
LEAVES: dict[str, st.SearchStrategy[Event]] = {
    "DiscreteLaplace": st.builds(events.DiscreteLaplace, SCALES, st.integers(0, 9)),
    "Gaussian": st.builds(events.Gaussian, SCALES, st.fractions(0, 20, max_denominator=9)),
    "DiscreteGaussian": st.builds(events.DiscreteGaussian, SCALES, SQUARES),
    "Exponential": st.builds(events.Exponential, st.fractions(0, 5, max_denominator=50)),
    "RandomizedResponse": st.builds(
        events.RandomizedResponse, st.fractions(0, 5, max_denominator=50), st.integers(2, 9)
    ),
    "PartialResponse": st.builds(
        events.PartialResponse,
        st.fractions(0, 5, max_denominator=50),
        st.fractions(0, 1, max_denominator=50),
    ),
    "PermuteAndFlip": st.builds(events.PermuteAndFlip, SCALES, st.integers(0, 9), st.booleans()),
    "NoisyMax": st.builds(events.NoisyMax, SCALES, st.integers(0, 9), st.booleans()),
    "SparseVector": st.builds(
        events.SparseVector,
        SCALES,
        SCALES,
        st.integers(1, 4),
        st.integers(0, 9),
        st.booleans(),
    ),
    "Staircase": st.builds(
        events.Staircase,
        st.fractions("1/20", 5, max_denominator=50),
        st.integers(3, 9),
        st.integers(1, 3),
        st.integers(0, 20),
    ),
    "External": st.builds(events.External, COSTS, st.just("elsewhere")),
    "LaplaceObjective": st.builds(
        events.LaplaceObjective,
        SCALES,
        st.fractions(0, 20, max_denominator=9),
        st.fractions(0, 3, max_denominator=9),
    ),
    "GaussianObjective": st.builds(
        events.GaussianObjective,
        SCALES,
        st.fractions(0, 20, max_denominator=9),
        st.fractions(0, 1, max_denominator=9),
        st.fractions(1, 5, max_denominator=9),
        st.integers(1, 4),
        st.integers(1, 3),
        st.booleans(),
    ),
    "KeyThreshold": st.builds(
        events.KeyThreshold,
        SCALES,
        st.integers(1, 9),
        st.integers(4, 900),
        st.integers(1, 3),
        st.integers(1, 3),
    ),
}
LEAF = st.one_of(*LEAVES.values())
LISTS = st.lists(LEAF, max_size=3)
EVENTS: dict[str, st.SearchStrategy[Event]] = {
    **LEAVES,
    "Assumed": st.builds(events.Assumed, LEAF, st.just("real arithmetic")),
    "Compose": LISTS.map(lambda parts: events.Compose(*parts)),
    "OneOf": st.builds(events.OneOf, st.lists(LEAF, min_size=1, max_size=3)),
    "Parallel": st.builds(events.Parallel, LISTS, st.integers(1, 3)),
    "Poisson": st.builds(events.Poisson, st.sampled_from(["0", "0.01", "0.5", "1"]), LEAF),
    "Repeat": st.builds(events.Repeat, LEAF, st.integers(0, 5)),
    "RepeatAndSelect": st.builds(
        events.RepeatAndSelect,
        LEAF,
        st.sampled_from(["0", "0.5", "1", "3"]),
        st.sampled_from(["0.01", "0.9"]),
    ),
}  # fmt: skip
NAMES = sorted(EVENTS)
KINDS: tuple[type[Measure], ...] = (PureDP, ZCDP, GaussianDP)


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mpmath.workdps(40):
        yield


def number(value: Fraction | float) -> mpmath.mpf:
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


#: Events whose cost is known as a pair (ε, δ) alone.
PAIR_ALONE = {"GaussianObjective", "KeyThreshold"}


def known(event: Event, kind: type[Measure]) -> Measure | None:
    try:
        return accounting.cost(event, kind, orders=ORDERS if kind is Renyi else None)
    except accounting.NoBound:
        return None


def test_every_event_is_covered() -> None:
    classes = {name for name in events.__all__ if name[0].isupper() and name != "Event"}
    assert classes == set(EVENTS)
    assert classes == {kind.__name__ for kind in Event.__subclasses__()}


@pytest.mark.parametrize("name", NAMES)
def test_repeating_costs_as_often(name: str) -> None:
    compared: set[type[Measure]] = set()

    @max_examples(25)
    @given(EVENTS[name], st.integers(0, 7))
    def distribution(event: Event, count: int) -> None:
        repeated, listed = events.Repeat(event, count), events.Compose(*[event] * count)
        for kind in KINDS:
            one = known(event, kind)
            if one is not None:
                compared.add(kind)
                assert known(repeated, kind) == one.times(count) == known(listed, kind)
        curve = known(event, Renyi)
        if curve is not None:
            compared.add(Renyi)
            for order, value in curve.curve.items():
                for total in (known(repeated, Renyi), known(listed, Renyi)):
                    found = total.curve[order]
                    if math.isfinite(value):
                        assert (
                            Fraction(value) * count <= found <= value * count * (1 + 1e-14) + 1e-300
                        )
                    else:
                        assert found == (math.inf if count else 0)

    distribution()
    assert bool(compared) == (name not in PAIR_ALONE)


@pytest.mark.parametrize("name", NAMES)
def test_order_does_not_matter(name: str) -> None:
    @max_examples(20)
    @given(EVENTS[name], LEAF, LEAF)
    def distribution(first: Event, second: Event, third: Event) -> None:
        forwards, backwards = (
            events.Compose(first, second, third), events.Compose(third, events.Compose(second, first)),
        )  # fmt: skip
        for kind in KINDS:
            assert known(forwards, kind) == known(backwards, kind)
        a, b = known(forwards, Renyi), known(backwards, Renyi)
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            for order in ORDERS:
                assert a.curve[order] == pytest.approx(b.curve[order], rel=1e-14)
        sideways = [
            events.Parallel(parts, 2) for parts in ([first, second, third], [third, first, second])
        ]
        for kind in (*KINDS, Renyi):
            assert known(sideways[0], kind) == known(sideways[1], kind)

    distribution()


@pytest.mark.parametrize("name", NAMES)
def test_adding_events_never_costs_less(name: str) -> None:
    compared: set[type[Measure]] = set()

    @max_examples(20)
    @given(EVENTS[name], LEAF)
    def distribution(event: Event, more: Event) -> None:
        both = events.Compose(event, more)
        for kind in (*KINDS, Renyi):
            alone, together = known(event, kind), known(both, kind)
            if alone is not None and together is not None:
                compared.add(kind)
                assert alone <= together

    distribution()
    assert bool(compared) == (name not in PAIR_ALONE)


FAMILIES: dict[str, Callable[[Fraction], Event]] = {
    "DiscreteLaplace": lambda s: events.DiscreteLaplace(s, 3),
    "Gaussian": lambda s: events.Gaussian(s, 3),
    "DiscreteGaussian": lambda s: events.DiscreteGaussian(s, 3),
    "Exponential": lambda s: events.Exponential(1 / s),
    "RandomizedResponse": lambda s: events.RandomizedResponse(1 / s, 3),
    "PartialResponse": lambda s: events.PartialResponse(1 / s, "1/3"),
    "PermuteAndFlip": lambda s: events.PermuteAndFlip(s, 3),
    "NoisyMax": lambda s: events.NoisyMax(s, 3),
    "SparseVector": lambda s: events.SparseVector(s, 4 * s, 2),
    "Staircase": lambda s: events.Staircase(1 / s, 4, 2, 4),
    "External": lambda s: events.External(ZCDP(1 / s), "elsewhere"),
    "LaplaceObjective": lambda s: events.LaplaceObjective(s, 2, "1/9"),
    "GaussianObjective": lambda s: events.GaussianObjective(s, "1/10000", "1/9", 1),
    "KeyThreshold": lambda s: events.KeyThreshold(
        s, 1, minimum_threshold(s, Fraction(1, 10**6), 1, 1)
    ),
    "Assumed": lambda s: events.Assumed(events.Gaussian(s), "real arithmetic"),
    "Compose": lambda s: events.Compose(events.DiscreteLaplace(s), events.Gaussian(s)),
    "OneOf": lambda s: events.OneOf([events.Gaussian(s), events.DiscreteLaplace(s)]),
    "Parallel": lambda s: events.Parallel([events.Gaussian(s), events.DiscreteGaussian(1)]),
    "Poisson": lambda s: events.Poisson("0.1", events.Gaussian(s)),
    "Repeat": lambda s: events.Repeat(events.DiscreteLaplace(s), 3),
    "RepeatAndSelect": lambda s: events.RepeatAndSelect(events.Gaussian(s), 1, "0.1"),
}


@pytest.mark.parametrize("name", NAMES)
def test_more_noise_never_costs_more(name: str) -> None:
    make = FAMILIES[name]

    @max_examples(25)
    @given(
        st.fractions("1/4", 40, max_denominator=20),
        st.fractions("101/100", 10, max_denominator=100),
    )
    def distribution(scale: Fraction, factor: Fraction) -> None:
        less, more = make(scale), make(scale * factor)
        for kind in KINDS:
            a, b = known(less, kind), known(more, kind)
            assert (a is None) == (b is None)
            if a is not None and b is not None:
                assert b <= a
        a, b = known(less, Renyi), known(more, Renyi)
        assert (a is None) == (b is None)
        for order in ORDERS if a is not None else ():
            assert b.curve[order] <= a.curve[order] * (1 + 1e-8) + 1e-11
        pairs = [accounting.epsilon_at(event, "1e-5").epsilon for event in (less, more)]
        assert pairs[1] <= pairs[0] * (1 + Fraction(1, 10**6))

    distribution()


@pytest.mark.parametrize("name", NAMES)
def test_sampling_never_costs_more(name: str) -> None:
    compared: set[Event] = set()

    @max_examples(15)
    @given(EVENTS[name], st.sampled_from(["1e-3", "0.3"]))
    def distribution(event: Event, chance: str) -> None:
        for kind in (PureDP, Renyi):
            whole, part = known(event, kind), known(events.Poisson(chance, event), kind)
            if whole is not None and part is not None and kind is PureDP:
                compared.add(event)
                assert part <= whole
        pair = events.External(ApproxDP(1, Fraction(1, 10**6)), "elsewhere")
        assert accounting.satisfies(events.Poisson(chance, pair), ApproxDP(1, Fraction(1, 10**6)))

    distribution()
    assert bool(compared) == (name not in PAIR_ALONE)


def laplace(scale: Fraction, shift: int) -> Distribution:
    weights = [mpmath.exp(-abs(k - shift) / number(scale)) for k in range(-250, 250)]
    return [w / mpmath.fsum(weights) for w in weights]


def response(epsilon: Fraction, k: int, value: int) -> Distribution:
    weights = [mpmath.exp(number(epsilon)) if out == value else mpmath.mpf(1) for out in range(k)]
    return [w / mpmath.fsum(weights) for w in weights]


def gaussian(sigma: Fraction, shift: int) -> Distribution:
    weights = [mpmath.exp(-(((k - shift) / number(sigma)) ** 2) / 2) for k in range(-150, 150)]
    return [w / mpmath.fsum(weights) for w in weights]


PAIRS: dict[str, Callable[[], tuple[Event, Distribution, Distribution]]] = {
    "laplace": lambda: (
        events.DiscreteLaplace(3, 1),
        laplace(Fraction(3), 0),
        laplace(Fraction(3), 1),
    ),
    "laplace 2": lambda: (
        events.DiscreteLaplace(2, 2),
        laplace(Fraction(2), 0),
        laplace(Fraction(2), 2),
    ),
    "response": lambda: (
        events.RandomizedResponse(1, 4),
        response(Fraction(1), 4, 0),
        response(Fraction(1), 4, 3),
    ),
    "partial response": lambda: (
        events.PartialResponse(1, "1/4"),
        [*(p / 4 for p in response(Fraction(1), 2, 0)), number(Fraction(3, 4))],
        [*(p / 4 for p in response(Fraction(1), 2, 1)), number(Fraction(3, 4))],
    ),
    "discrete gaussian": lambda: (
        events.DiscreteGaussian(2),
        gaussian(Fraction(2), 0),
        gaussian(Fraction(2), 1),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("twice", [False, True])
def test_no_route_understates_the_exact_divergence(name: str, twice: bool) -> None:
    event, p, q = PAIRS[name]()
    pairs = list(zip(p, q, strict=True))
    if twice:
        if len(p) > 10:  # the outcomes that count, so that the square stays small
            pairs = [pair for pair in pairs if max(pair) > mpmath.mpf("1e-9")]
        pairs = [(a * c, b * d) for a, b in pairs for c, d in pairs]
        event = events.Repeat(event, 2)
    routes: list[Measure] = [
        measure for kind in (PureDP, ZCDP, Renyi) if (measure := known(event, kind)) is not None
    ]
    if name != "discrete gaussian":
        routes.append(accounting.cost(event, PrivacyLoss))
    for delta in ("1e-7", "1e-3", "0.05"):
        found = [convert(measure, ApproxDP, delta=delta).epsilon for measure in routes]
        found.append(accounting.cost(event, ApproxDP, delta=delta).epsilon)
        for epsilon in found:
            factor = mpmath.exp(number(epsilon))
            exact = mpmath.fsum(max(mpmath.mpf(0), a - factor * b) for a, b in pairs)
            assert exact <= mpmath.mpf(delta)
        assert found[-1] <= min(found)
