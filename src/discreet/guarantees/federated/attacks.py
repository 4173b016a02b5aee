"""Attacks on a round of a federation: a client who chooses the update, a person at a site, a local report.

No network is needed: what a client may send is given here directly. (Rounds through torch are attacked where
torch is installed, in ``tests/deep/test_federated.py``.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import accounting
from discreet.audit.registry import Case, Part, attack
from discreet.deep.federated.local import LocalGaussian
from discreet.deep.federated.updates import Shapes, sum_contributions, sum_updates
from discreet.deep.grid import RADIUS, CodedDense, Rule, sum_clipped
from discreet.deep.plans import PoissonSampler, TrainingPlan
from discreet.measures import GaussianDP

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Update = list[npt.NDArray[Any]]

#: A network of two parameters, of 6 and of 2 numbers.
SHAPES: Shapes = ((3, 2), (2,))
TRIALS = 30_000


def send(scale: float, kind: Any = np.float32) -> Update:
    """An update of any length."""
    return [np.full(shape, scale, kind) for shape in SHAPES]


def of_clients(update: Any, rule: Rule = "flat", bound: float = 1.0) -> Integers:
    """What a client adds to a round."""
    return sum_updates([update], SHAPES, bound, rule)


def of_sites(scale: float) -> Integers:
    """What a person adds at the second of two sites, beside a site that sends something else."""
    person = CodedDense(np.full((1, 8), scale, np.float32))
    [[sums]] = sum_clipped([[person]], 1.0, "flat", np.ones(1, bool))
    empty = np.zeros(8, np.int64)
    return sum_contributions([empty, sums, empty.astype(float) + 3, None], 8)


def round_of(plan: TrainingPlan, alone: Integers) -> Callable[..., Floats]:
    """One round with this unit or without; many runs at once."""

    def mechanism(there: bool, trials: int) -> Floats:
        drawn = np.zeros((trials, len(alone)), np.int64)
        if there:
            drawn[plan.sampler.draw(trials)] += alone
        return plan.add_noise(drawn.ravel()).reshape(drawn.shape) / float(RADIUS)

    return mechanism


def along(alone: Integers) -> Callable[[Floats], Floats]:
    """What an attacker looks at who knows the update: the part of a round along it."""
    direction = alone / RADIUS
    length = max(float(np.linalg.norm(direction)), 1e-9)
    return lambda told: np.asarray(told @ direction / length)


def case(
    title: str,
    alone: Integers,
    *,
    chance: Fraction = Fraction(1),
    sigma: Fraction = Fraction(1, 2),
    trials: int = TRIALS,
    reason: str = "",
) -> Case:
    """One round against what its event costs."""
    plan = TrainingPlan(PoissonSampler(chance), 1, int(sigma * RADIUS))
    claim: Any
    if chance == 1:
        claim = accounting.cost(plan.event, GaussianDP)
    else:
        claim = accounting.epsilon_at(plan.event, Fraction(1, 100))
    options = {"score": along(alone), "rounding": 1e-6}
    mechanism = round_of(plan, alone)
    return Case(title, mechanism, (False, True), claim, trials, options, reason=reason)


#: Why nothing is found where an update isn't one.
NOTHING = "what isn't an update of the right shapes and finite numbers adds nothing"


@attack("federated-clients")
def federated_clients() -> Iterator[Part]:
    for scale in (1e30, 1.0):
        yield case(f"updates of {scale:g}", of_clients(send(scale)))
    yield case("per-layer clipping", of_clients(send(1e10), "per-layer"))
    yield case("a sample of half", of_clients(send(1e5, np.float64)), chance=Fraction(1, 2))
    strange = [*send(1.0)[:1], np.full(2, np.nan)]
    for title, update in (("a missing number", strange), ("one array too many", send(1.0) * 2)):
        yield case(title, of_clients(update), trials=TRIALS // 4, reason=NOTHING)


@attack("federated-sites")
def federated_sites() -> Iterator[Part]:
    for scale in (1e30, 1.0):
        yield case(f"a person at the second site, gradients of {scale:g}", of_sites(scale))
    yield case("a sample of half", of_sites(1e5), chance=Fraction(1, 2))


def reports(mechanism: LocalGaussian) -> Callable[..., Floats]:
    """Reports of one client, many times."""

    def report(vector: tuple[float, ...], trials: int) -> Floats:
        return mechanism.randomize([np.array(vector)] * trials) / float(RADIUS)

    return report


@attack("local-vectors")
def local_vectors() -> Iterator[Part]:
    mechanism = LocalGaussian(2, "0.01", size=2)
    claim = accounting.cost(mechanism.event(), GaussianDP)
    options = {"score": lambda told: np.asarray(told @ np.ones(2)), "rounding": 1e-6}
    for title, pair in (
        ("opposite vectors of any length", ((-1e30, -1e30), (1e30, 1e30))),
        ("opposite vectors of the norm", ((-(0.5**0.5),) * 2, (0.5**0.5,) * 2)),
    ):
        yield Case(title, reports(mechanism), pair, claim, TRIALS // 5, options)
    strange = (float("nan"), 1.0)
    reason = "a missing number is reported as zeros, which lie half as far"
    title = "a missing number against a long vector"
    yield Case(
        title, reports(mechanism), (strange, (1e30, 1e30)), claim, TRIALS // 5, options,
        reason=reason,
    )  # fmt: skip
