"""One meaning of a number: what is drawn with and what is charged are the same fraction."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from discreet import events, mechanisms, noise
from discreet.coding import Sensitivity
from discreet.events import Event, walk
from discreet.mechanisms import Distribution
from discreet.testing import registry

#: Where each sampler gets its exact parameter, and the place of it among the arguments.
INSIDE = (
    ("laplace", "_fill", 0),
    ("gaussian", "_fill", 0),
    ("discrete_gaussian", "_fill", 0),
    ("bernoulli", "_below", 0),
    ("bernoulli", "_below_exp", 0),
    ("selection", "_envelope", 1),
)

THREE_TENTHS = [
    0.3,
    "0.3",
    "3/10",
    Decimal("0.3"),
    Fraction(3, 10),
    np.float64(0.3),
    np.float32(0.3),
]

SAMPLERS: list[Callable[[Any], object]] = [
    noise.discrete_laplace,
    noise.geometric,
    noise.rounded_gaussian,
    noise.discrete_gaussian,
    noise.bernoulli,
    noise.bernoulli_exp,
    lambda factor: noise.select([1, 2], factor),
]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Fraction]:
    """The exact parameters of all draws since the start of a test."""
    seen: list[Fraction] = []

    def watch(module: ModuleType, name: str, place: int) -> None:
        inner = getattr(module, name)

        def watching(*arguments: Any, **options: Any) -> Any:
            seen.append(arguments[place])
            return inner(*arguments, **options)

        monkeypatch.setattr(module, name, watching)

    for module, name, place in INSIDE:
        watch(import_module(f"discreet.noise.{module}"), name, place)
    return seen


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("value", THREE_TENTHS, ids=lambda v: f"{type(v).__name__}-{v}")
def test_samplers_read_a_number_as_it_is_printed(
    sampler: Callable[[Any], object], value: Any, drawn: list[Fraction]
) -> None:
    sampler(value)
    assert drawn[0] == Fraction(3, 10)


@pytest.mark.parametrize("value", THREE_TENTHS, ids=lambda v: f"{type(v).__name__}-{v}")
def test_samplers_and_events_read_a_number_alike(value: Any, drawn: list[Fraction]) -> None:
    pairs: list[tuple[Callable[[Any], object], Fraction]] = [
        (noise.discrete_laplace, events.DiscreteLaplace(value).scale),
        (noise.rounded_gaussian, events.Gaussian(value).sigma),
        (noise.discrete_gaussian, events.DiscreteGaussian(value).sigma),
        (lambda factor: noise.select([1, 2], factor), events.Exponential(value).epsilon),
    ]
    for sampler, charged in pairs:
        drawn.clear()
        sampler(value)
        assert drawn[0] == charged


def _noise_parameters(event: Event) -> set[Fraction]:
    """The scales and rates that an event says were drawn with."""
    names = ("scale", "sigma", "threshold_scale", "answer_scale", "epsilon")
    found = set()
    for part in walk(event):
        found |= {Fraction(getattr(part, name)) for name in names if hasattr(part, name)}
    return found


@pytest.mark.parametrize(
    "distribution",
    [
        distribution
        for distribution in registry.DISTRIBUTIONS
        if not isinstance(distribution, mechanisms.NoNoise)
    ],
)
def test_each_distribution_draws_what_it_charges(
    distribution: Distribution, drawn: list[Fraction]
) -> None:
    event = distribution.event(Sensitivity(3, 9))
    distribution.run(np.zeros(2, np.int64))
    assert drawn[0] in _noise_parameters(event)


@pytest.mark.parametrize("mechanism", registry.MECHANISMS, ids=repr)
def test_each_additive_mechanism_draws_what_it_charges(
    mechanism: mechanisms.AdditiveMechanism, drawn: list[Fraction]
) -> None:
    distribution = mechanism.distribution(Sensitivity(3, 5))
    distribution.run(np.zeros(2, np.int64))
    assert drawn[0] in _noise_parameters(distribution.event(Sensitivity(3, 5)))


def test_each_selection_draws_what_it_charges(drawn: list[Fraction]) -> None:
    for value in THREE_TENTHS:
        flip = mechanisms.PermuteAndFlip(value)
        drawn.clear()
        flip.run([0, 1], 2)
        assert drawn[0] == flip.event(2).scale

        noisy = mechanisms.ReportNoisyMax(value)
        drawn.clear()
        noisy.run([0, 1], 2)
        assert drawn[0] == noisy.event(2).scale

        exponential = mechanisms.Exponential(mechanisms.Laplace(value).measure)
        drawn.clear()
        exponential.run([0, 1], np.array([1, 1]), 2)
        assert drawn[0] == Fraction(3, 10) / 4

        staircase = mechanisms.Staircase(value)
        drawn.clear()
        staircase.run(5, 3)
        charged = staircase.event(3).epsilon
        assert charged in drawn
        assert 1 / charged in drawn


def test_a_sparse_vector_draws_what_it_charges(drawn: list[Fraction]) -> None:
    for value in THREE_TENTHS:
        vector = mechanisms.SparseVector(value)
        event = next(
            part for part in walk(vector.event(2)) if isinstance(part, events.SparseVector)
        )
        drawn.clear()
        vector.run([10**9], 0, 2)
        assert drawn[0] == event.threshold_scale
        assert drawn[1] == event.answer_scale
