"""Attacks on a step of private training: a person who chooses the gradient, against nobody.

No network is needed: whatever a backward pass can give is given here directly, in each of its forms.
(The paths through torch are attacked where torch is installed, in ``tests/deep/test_paths.py``.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import accounting
from discreet.audit.registry import Case, Part, attack
from discreet.deep.grid import (
    RADIUS,
    Coded,
    CodedDense,
    CodedOuter,
    CodedRows,
    Rule,
    sum_clipped,
    sum_columns,
)
from discreet.deep.plans import PoissonSampler, TrainingPlan
from discreet.guarantees.deep.attacks_canaries import one_run_result, plan_of, white_box
from discreet.measures import GaussianDP

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Parts = tuple[tuple[Coded, ...], ...]

#: The size of what is attacked: two parameters, of 6 and of 2 numbers.
WIDE, NARROW = 3, 2


def forms(scale: float) -> dict[str, Parts]:
    """A person's gradient in each form that layers give, of any length, beside a second parameter."""
    left, right = np.full((1, WIDE), scale, np.float32), np.full((1, NARROW), -1.0, np.float32)
    full = scale * np.ones((1, WIDE * NARROW), np.float32)
    few = np.full((1, 2, NARROW), scale, np.float32)
    bias = CodedDense(np.full((1, NARROW), scale / 2, np.float32))
    return {
        "full": ((CodedDense(full),), (bias,)),
        "product": ((CodedOuter(left, right),), (bias,)),
        "rows": ((CodedRows(np.array([[2, 0]]), few, WIDE),), (bias,)),
    }


def columns(scale: float, rule: Rule = "flat", bound: float = 1.0) -> Integers:
    """The integers of a person in a network of two linear layers, beside a place that nobody has."""
    given = np.repeat([scale, -1.0], WIDE + NARROW)[:, None] * np.ones(2)
    widths = [(WIDE, NARROW), (NARROW, WIDE)]
    sums = sum_columns(given, widths, bound, rule, np.array([True, False]))
    return np.concatenate([each.ravel() for each in sums])


def total(parts: Parts | Integers, rule: Rule, bound: float) -> Integers:
    """The person's integers, of all parameters."""
    if isinstance(parts, np.ndarray):
        return parts
    sums = sum_clipped(parts, bound, rule, np.ones(1, bool))
    return np.concatenate([part for each in sums for part in each])


def step(
    plan: TrainingPlan, parts: Parts | Integers, rule: Rule = "flat", bound: float = 1.0
) -> Callable[..., Floats]:
    """One step on a table with this person or without; many runs at once."""
    alone = total(parts, rule, bound)

    def mechanism(there: bool, trials: int) -> Floats:
        drawn = np.zeros((trials, len(alone)), np.int64)
        if there:
            drawn[plan.sampler.draw(trials)] += alone
        noised = plan.add_noise(drawn.ravel()).reshape(drawn.shape)
        return noised / float(RADIUS)

    return mechanism


def along(
    parts: Parts | Integers, rule: Rule = "flat", bound: float = 1.0
) -> Callable[[Floats], Floats]:
    """What an attacker looks at who knows the gradient: the part of a step along it."""
    direction = total(parts, rule, bound) / RADIUS
    length = max(float(np.linalg.norm(direction)), 1e-9)
    return lambda told: np.asarray(told @ direction / length)


def case(
    title: str,
    parts: Parts | Integers,
    *,
    chance: Fraction = Fraction(1),
    sigma: Fraction = Fraction(1, 2),
    rule: Rule = "flat",
    bound: float = 1.0,
    trials: int = 60_000,
) -> Case:
    """One step against what its event costs."""
    plan = TrainingPlan(PoissonSampler(chance), 1, int(sigma * RADIUS))
    claim: Any
    if chance == 1:
        claim = accounting.cost(plan.event, GaussianDP)
    else:
        claim = accounting.epsilon_at(plan.event, Fraction(1, 100))
    options = {"score": along(parts, rule, bound), "rounding": 1e-6}
    return Case(title, step(plan, parts, rule, bound), (False, True), claim, trials, options)


@attack("dp-sgd")
def dp_sgd() -> Iterator[Part]:
    for scale in (1e30, 1.0):
        for name, parts in forms(scale).items():
            yield case(f"{name}, gradients of {scale:g}", parts)
    rules: tuple[Rule, ...] = ("per-layer", "automatic")
    for rule in rules:
        yield case(f"{rule} clipping", forms(1e10)["product"], rule=rule)
    for rule in (*rules[1:], "flat"):
        yield case(f"{rule} clipping of a chain", columns(1e10, rule), rule=rule)
    yield case("a sample of half", forms(1e5)["full"], chance=Fraction(1, 2))
    plan = plan_of()
    yield white_box("a canary whose share of every noised sum is seen, at ε = 4", plan)
    yield one_run_result("many canaries in one training, at ε = 4", plan)
