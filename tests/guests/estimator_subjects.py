"""Every estimator's small fit: all that it is told through the door, and all that it learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from overheard import Noised, are_alike, draw_again, listen, tell
from read_once import read_once
from readings import flatten
from subject import Subject

import discreet as dp
from discreet.ledger import Ledger
from discreet.models.inputs import open_input
from discreet.testing import ESTIMATORS, Example

Row = tuple[float, ...]
Table = dict[str, Any]

EPSILON = 2
#: Runs of a fit on each side, and for each pair of neighbours to choose the worst.
RUNS, PILOT = 800, 10
#: Fits that are carried out, before the rest of those that only add noise to the same sums is drawn at once.
REPEATED = 25
#: Numbers of a fit that guests look at, at most.
MAX_NUMBERS = 600


def columns_of(example: Example) -> dict[str, Any]:
    """Two features and, if the estimator learns one, a target."""
    columns: dict[str, Any] = {}
    for at in range(2):
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


def pairs_of(columns: dict[str, Any]) -> Iterator[tuple[Table, Table]]:
    """One row in a corner more or less, alone or beside others in the opposite corner."""
    for person in product((1.0, 0.0), repeat=len(columns)):
        opposite = tuple(1 - cell for cell in person)
        for common in ([], [opposite] * 2, [(*person[:-1], 1 - person[-1])] * 20):
            yield table(columns, [*common, person]), table(columns, common)


class Door:
    """A door that notes what comes through it: noised sums of releases, results of steps."""

    def __init__(self, door: Any, heard: list[Noised]) -> None:
        self._door, self._heard, self.told = door, heard, []  # type: ignore[var-annotated]
        self.sums: list[Noised] = []
        self.adds_noise = True

    def release(self, query: Any, budget: Any) -> Any:
        self._heard.clear()
        found = self._door.release(query, budget)
        self.told.append(tell(self._heard) or flatten(found.value))
        self.sums += self._heard
        self.adds_noise &= bool(self._heard)
        return found

    def run(self, step: Any, *rest: Any) -> Any:
        found = self._door.run(step, *rest)
        self.told.append(found)
        self.adds_noise = False
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._door, name)


class Fits:
    """Whole fits, each planned, paid for and carried out; only the ledger is written once for many."""

    def __init__(self, example: Example, columns: dict[str, Any]) -> None:
        self.example, self.schema = example, dp.Schema(columns)
        self.target = "y" if example.target != "none" else None

    def __call__(self, rows: Table, runs: int) -> Any:
        model = self.example.build(epsilon=EPSILON)
        limit = dp.PureDP(EPSILON * (runs + 1))
        data = dp.PrivateDataset(
            rows,
            self.schema,
            ledger=Ledger(limit=limit, accept_assumed=self.example.accept_assumed),
        )
        source = open_input(model, data, None, None, self.target)
        plan = model._plan(source.facts, None)
        found = []
        with data.prepaid(dp.events.Repeat(plan.event, runs)) as door, listen() as heard:
            read_once(door)
            first: list[Noised] | None = None
            same = True
            for at in range(runs):
                noting = Door(door, heard)
                model._remember(source.facts, source.named)
                model._train(plan, noting)  # type: ignore[arg-type]
                # what is learned is computed from what is told; a search keeps that to itself
                found.append((numbers_in(noting.told) or learned(model))[:MAX_NUMBERS])
                first = first or noting.sums
                same &= noting.adds_noise and bool(first) and are_alike(first, noting.sums)
                if same and at + 1 == REPEATED < runs:
                    rest = draw_again(first, runs - len(found))[:, :MAX_NUMBERS]
                    return np.concatenate([np.array(found), rest])
        return found


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


def subject_for(example: Example) -> Subject:
    columns = columns_of(example)
    return Subject(
        str(example),
        Fits(example, columns),
        list(pairs_of(columns)),
        [(float(EPSILON), 0.0)],
        RUNS,
        PILOT,
        example,
    )


def all_fits() -> list[Subject]:
    return [subject_for(example) for example in ESTIMATORS]
