"""Every estimator's small fit: all that it is told through the door, and all that it learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from door_subjects import expected_loss
from noting_door import Beside, Notes, NotingDoor
from overheard import Noised, are_alike, draw_again, listen
from read_once import ReadOnce, read_once
from readings import flatten
from small_fits import Row, Small, small_fit_of
from subject import Subject

import discreet as dp
from discreet import accounting, testing
from discreet.engines import open_engine
from discreet.ledger import Ledger
from discreet.models.inputs import open_input
from discreet.testing import ESTIMATORS, Example

Table = dict[str, Any]

EPSILON = 2
#: The δ at which the accountant is asked, besides 0.
DELTAS = (0.1, 0.3)
#: Runs of a fit on each side for each pair of neighbours, to choose the worst.
PILOT = 10
#: Fits that are carried out, before the rest of those that only add noise to the same sums is drawn at once.
REPEATED = 25
#: Runs on each side, at most, where only noise is drawn.
MAX_RUNS = 20_000
#: Numbers of a fit that guests look at, at most.
MAX_NUMBERS = 600


def columns_of(example: Example, features: int = 2) -> dict[str, Any]:
    """Features and, if the estimator learns one, a target."""
    columns: dict[str, Any] = {}
    for at in range(features):
        is_category = example.features == "category" or (example.features == "mixed" and at == 1)
        columns[f"x{at}"] = dp.Categorical(0, 1) if is_category else dp.Real(0, 1)
    if example.target == "class":
        columns["y"] = dp.Categorical(0, 1)
    elif example.target == "number":
        columns["y"] = dp.Real(0, 1)
    return columns


def table(columns: dict[str, Any], rows: Sequence[Row]) -> Table:
    return {
        name: np.array(
            [row[at] for row in rows],
            np.int64 if isinstance(column, dp.Categorical) else np.float64,
        )
        for at, (name, column) in enumerate(columns.items())
    }


def corners(columns: int) -> Iterator[tuple[Row, list[Row]]]:
    """A row in a corner, and the others: none, two in the opposite corner, or many of another kind there."""
    for person in product((1.0, 0.0), repeat=columns):
        opposite = tuple(1 - cell for cell in person)
        for others in ([], [opposite] * 2, [(*person[:-1], 1 - person[-1])] * 20):
            yield person, others


class Side(NamedTuple):
    """One of two neighbouring tables, the other, and whether this is the first (1) or the second (-1)."""

    rows: Table
    other: Table
    sign: int


class Fits:
    """Whole fits, each planned, paid for and carried out; only the ledger is written once for many."""

    def __init__(self, example: Example, columns: dict[str, Any], small: Small) -> None:
        self.example, self.small, self.schema = example, small, dp.Schema(columns)
        self.target = "y" if example.target != "none" else None
        limit = dp.PureDP(10**9)
        self.ledger = Ledger(limit=limit, accept_assumed=example.accept_assumed)

    def plan(self, rows: Table) -> tuple[Any, Any, Any, Any]:
        """A model, its rows behind a door, where it reads them, and what it will ask."""
        model = self.small.build(self.example, EPSILON)
        data = dp.PrivateDataset(rows, self.schema, ledger=self.ledger)
        source = open_input(model, data, None, None, self.target)
        return model, data, source, model._plan(source.facts, None)

    def carry_out(self, side: Side, runs: int) -> Iterator[tuple[Notes, Any]]:
        """What each of several fits was told, and the model."""
        model, data, source, plan = self.plan(side.rows)
        with data.prepaid(dp.events.Repeat(plan.event, runs)) as door, listen() as heard:
            read_once(door)
            beside = None
            if self.small.knows_both:
                beside = Beside(
                    ReadOnce(open_engine(side.other, self.schema, data.unit)), side.sign
                )
            for _ in range(runs):
                noting = NotingDoor(door, heard, beside)
                model._remember(source.facts, source.named)
                model._train(plan, noting)
                yield noting.notes, model

    def __call__(self, side: Side, runs: int) -> Any:
        """All that is told: a row for each fit."""
        found = []
        for notes, model in self.carry_out(side, runs):
            leans = [sum(notes.leans), *notes.leans] if notes.leans else []
            numbers = numbers_in(notes.told) or ([] if leans else learned(model))
            found.append([*leans, *numbers[:MAX_NUMBERS]])
        return found

    def fixed_sums(self, side: Side) -> list[Noised] | None:
        """The sums that every fit noises; None if they depend on what was told before, or on a choice."""
        first, second = (notes for notes, _ in self.carry_out(side, 2))
        alike = first.adds_noise and second.adds_noise and are_alike(first.sums, second.sums)
        return first.sums if alike else None


class NoisedSums:
    """Fits that noise the same sums every time: those numbers in which two tables differ.

    The others have the same distribution on both, and tell nothing. `REPEATED` fits are carried out; where
    all of them noise the expected sums, so will the others: their noise is drawn at once.
    """

    def __init__(self, fits: Fits, first: list[Noised], second: list[Noised]) -> None:
        self.fits, self.sums = fits, {1: first, -1: second}
        self.differ = [
            np.flatnonzero(np.ravel(one.totals) != np.ravel(other.totals))
            for one, other in zip(first, second, strict=True)
        ]

    @property
    def width(self) -> int:
        return sum(map(len, self.differ))

    def _differing(self, numbers: list[Any]) -> list[float]:
        parts = zip(numbers, self.differ, strict=True)
        return [number for part, at in parts for number in np.ravel(part)[at].tolist()]

    def __call__(self, side: Side, runs: int) -> Any:
        expected, found = self.sums[side.sign], []
        for notes, _ in self.fits.carry_out(side, min(runs, REPEATED)):
            assert notes.adds_noise, "a fit that only noised sums made a choice"
            assert are_alike(expected, notes.sums), "a fit noised other sums than before"
            found.append(self._differing([sums.noised for sums in notes.sums]))
        if runs <= len(found):
            return np.array(found)
        narrow = [
            Noised(sums.distribution, np.ravel(sums.totals)[at], None)
            for sums, at in zip(expected, self.differ, strict=True)
        ]
        return np.concatenate([np.array(found), draw_again(narrow, runs - len(found))])


def learned(model: Any) -> list[float]:
    """The numbers among what a fit learned."""
    names = sorted(name for name in vars(model) if name.endswith("_") and not name.startswith("_"))
    return numbers_in(
        [vars(model)[name] for name in names if name not in ("columns_", "privacy_", "budget_")]
    )


def numbers_in(found: Any) -> list[float]:
    """All numbers in anything; what isn't made of numbers has none."""
    if isinstance(found, list | tuple):
        return [number for part in found for number in numbers_in(part)]
    if isinstance(found, dict):
        return numbers_in(list(found.values()))
    if hasattr(found, "get_params") and hasattr(found, "fit"):
        return learned(found)
    try:
        return flatten(found)
    except (TypeError, ValueError):
        return []


def as_sides(first: Table, second: Table) -> tuple[Side, Side]:
    return Side(first, second, 1), Side(second, first, -1)


def neighbours(columns: dict[str, Any], small: Small) -> list[tuple[Side, Side]]:
    """Tables with the person and without."""
    chosen = corners(len(columns)) if small.rows is None else small.rows(len(columns))
    return [
        as_sides(table(columns, [*others, person]), table(columns, others))
        for person, others in chosen
    ]


def claims_on(fits: Fits, side: Side) -> list[tuple[float, float]]:
    """What is charged, as ε; and what the accountant says of the fit's events at each δ."""
    event = fits.plan(side.rows)[-1].event
    points = [(float(accounting.epsilon_at(event, delta).epsilon), delta) for delta in DELTAS]
    return [(float(EPSILON), 0.0), *(point for point in points if point[0] > 0)]


def farthest(fits: Fits, pairs: list[tuple[Side, Side]]) -> tuple[tuple[Side, Side], NoisedSums]:
    """The neighbours whose exact sums half of the noise hides least."""
    sums = [[fits.fixed_sums(side) for side in pair] for pair in pairs]
    losses = [expected_loss(*each) if all(each) else -1.0 for each in sums]  # type: ignore[arg-type]
    best = int(np.argmax(losses))
    return pairs[best], NoisedSums(fits, *sums[best])  # type: ignore[arg-type]


def subject_for(example: Example) -> Subject:
    """A small fit as guests see it.

    Where fits noise the same sums every time, exact sums tell which neighbours half of the noise hides
    least, and how many runs it takes to see them: the more numbers the loss is spread over, the more.
    """
    small = small_fit_of(example)
    columns = columns_of(example, small.features)
    fits = Fits(example, columns, small)
    pairs = neighbours(columns, small)
    claims = claims_on(fits, pairs[0][0])
    with testing.fixed_noise(15):
        if small.knows_both or fits.fixed_sums(pairs[0][0]) is None:
            return Subject(
                str(example), fits, pairs, claims, small.runs, PILOT, example, small.share
            )
        pair, sums = farthest(fits, pairs)
    runs = small.draws or min(MAX_RUNS, round(1600 * 2 ** (sums.width / 2)))
    return Subject(str(example), sums, [pair], claims[:1], runs, PILOT, example, small.share)


def all_fits() -> Iterator[Subject]:
    yield from map(subject_for, ESTIMATORS)
