"""What guests attack, and how: neighbours are searched, outputs drawn, each guest learns and then tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import sniper
import statdp
from half_noise import part_of_the_noise
from readings import Floats, align, as_rows, joint_codes

from discreet import testing

#: The chance, at most, that one guest calls one true claim false; it is far less where runs are few.
RISK = 1e-3
#: How often a subject is visited, with ever more runs, before a guest is called blind; where runs are cheap.
TRIES, CHEAP_TRIES = 3, 5

#: How much of the noise a control has.
HALF = Fraction(1, 2)

Data = Any


@dataclass(frozen=True)
class Subject:
    """A mechanism, pairs of neighbours, and what is claimed of it.

    Attributes
    ----------
    title : str
    run : callable
        From data and a number of runs to that many outputs.
    pairs : sequence of pairs
        Neighbours to choose from.
    claims : sequence of (ε, δ)
        What it satisfies, all of them.
    runs : int
        On each side: as many to learn from as to test with.
    pilot : int
        Runs on each side for each pair, where there are several.
    of : object
        What is attacked.
    share : Fraction
        How much of the noise its control has; less than half only where a bound isn't tight.
    tries : int
        How often it is visited at most, each time with four times the runs.
    """

    title: str
    run: Callable[[Data, int], Any] = field(repr=False)
    pairs: Sequence[tuple[Data, Data]] = field(repr=False)
    claims: Sequence[tuple[float, float]]
    runs: int = 1000
    pilot: int = 60
    of: Any = None
    share: Fraction = HALF
    tries: int = TRIES

    def __str__(self) -> str:
        return self.title


@dataclass(frozen=True)
class Finding:
    """The floor that a guest found at the δ of a claim, beside the claimed ε."""

    guest: str
    floor: float
    epsilon: float
    delta: float

    @property
    def is_violation(self) -> bool:
        return self.floor > self.epsilon

    def __str__(self) -> str:
        return f"{self.guest}: floor {self.floor:.3f} of {self.epsilon:.3f} at δ = {self.delta:g}"


GUESTS = ("sniper", "statdp")


def draw(subject: Subject, pair: tuple[Data, Data], runs: int) -> tuple[Floats, Floats]:
    """Outputs on both inputs, as rows of numbers."""
    return align(*(as_rows(subject.run(data, runs)) for data in pair))


def separation(first: Floats, second: Floats) -> float:
    """How easily a few runs tell two inputs apart."""
    codes = joint_codes(first, second)
    if codes is not None:
        counts = [np.bincount(side, minlength=61) / len(side) for side in codes]
        return 10 * float(np.abs(counts[0] - counts[1]).sum())
    ranks = np.argsort(np.argsort(np.concatenate([first, second]), axis=0, kind="stable"), axis=0)
    return float((sniper.distances(*np.split(ranks / len(ranks), 2)) ** 2).sum())


def weigh_evidence(subject: Subject, first: Floats, second: Floats) -> tuple[float, float]:
    """How many standard errors the best event of a few runs is beyond a claim; then their separation.

    A rare event may speak against a claim where most runs are alike. Too few runs have no such event.
    """
    found = [
        statdp.search(*sides, epsilon, delta)
        for epsilon, delta in subject.claims
        for sides in ((first, second), (second, first))
    ]
    beyond = max((evidence for _, evidence in filter(None, found)), default=-math.inf)
    return beyond, separation(first, second)


def worst_pair(subject: Subject) -> tuple[Data, Data]:
    """The neighbours of which pilot runs speak most against a claim; a third is kept until one is left."""
    left, runs = list(subject.pairs), subject.pilot
    while len(left) > 1:
        left.sort(
            key=lambda pair: weigh_evidence(subject, *draw(subject, pair, runs)), reverse=True
        )
        left = left[: max(1, len(left) // 3)]
        runs *= 2
    return left[0]


def visit(subject: Subject, pair: tuple[Data, Data]) -> list[Finding]:
    """What each guest finds; both see the same runs."""
    train = draw(subject, pair, subject.runs)
    test = draw(subject, pair, subject.runs)
    widths = {side.shape[1] for side in (*train, *test)}
    if len(widths) > 1:
        joined = align(np.concatenate(train), np.concatenate(test))
        train, test = (tuple(np.split(side, 2)) for side in joined)  # type: ignore[assignment]
    risk = RISK / len(subject.claims)
    student = sniper.Student(*train)
    return [
        Finding(guest, floor, epsilon, delta)
        for epsilon, delta in subject.claims
        for guest, floor in (
            ("sniper", sniper.find_floor(student, test, delta, risk)),
            ("statdp", statdp.find_floor(train, test, epsilon, delta, risk)),
        )
    ]


@dataclass(frozen=True)
class Visit:
    """What guests found, and what they found of a copy with less noise."""

    honest: list[Finding]
    control: list[Finding]

    @property
    def violations(self) -> list[str]:
        return [str(finding) for finding in self.honest if finding.is_violation]

    @property
    def blind(self) -> list[str]:
        """Guests who did not catch the copy."""
        seeing = {finding.guest for finding in self.control if finding.is_violation}
        return [guest for guest in GUESTS if guest not in seeing]

    def __str__(self) -> str:
        return f"{'; '.join(map(str, self.honest))} | control: {'; '.join(map(str, self.control))}"


def check(subject: Subject, blind: Collection[tuple[str, str]] = ()) -> Visit:
    """Visit a subject: no claim is violated, and every guest catches the copy with half the noise.

    `blind` are the pairs of title and guest that are known not to; one that sees by now must be taken off.
    """
    known = [guest for guest in GUESTS if (subject.title, guest) in blind]
    found = visit_with_control(subject) if known else visit_until_seen(subject)
    assert found.violations == [], f"{subject}: {found}"
    assert found.blind == known, f"{subject}: blind are {found.blind}, listed {known}: {found}"
    return found


def visit_until_seen(subject: Subject) -> Visit:
    """Visit, with four times the runs as long as a guest is blind.

    What is found of the toolkit is kept from all of these visits: none may find a violation.
    """
    honest: list[Finding] = []
    pair = search_pair(subject)
    for tries in range(subject.tries):
        found = visit_with_control(replace(subject, runs=subject.runs * 4**tries, pairs=[pair]))
        honest += found.honest
        if not found.blind:
            break
    return Visit(honest, found.control)


def search_pair(subject: Subject, seed: int = 15) -> tuple[Data, Data]:
    """The worst neighbours, searched where there is less noise to hide them."""
    with testing.fixed_noise(seed), part_of_the_noise(subject.share):
        return worst_pair(subject)


def visit_with_control(subject: Subject, seed: int = 15) -> Visit:
    """The same visit twice: to the toolkit, and to a copy with half the noise, or the subject's share."""
    pair = search_pair(subject, seed)
    with testing.fixed_noise(seed), part_of_the_noise(subject.share):
        control = visit(subject, pair)
    with testing.fixed_noise(seed + 1):
        honest = visit(subject, pair)
    return Visit(honest, control)
