"""A door that notes all that comes through it, for an attacker who knows both tables.

Such an attacker sees noised sums and results of steps. Where a question depends on what was told before, she
also knows what its exact sums are on each of the two tables, and hence to which of them an answer leans.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from overheard import Noised, spread_of, tell
from readings import flatten
from scipy.special import roots_legendre

from discreet.coding import Engine
from discreet.models.decomposition.clipped import ClippedProducts
from discreet.models.decomposition.directions import PrincipalDirections, SquaresAlong
from discreet.models.metrics.scoring import ScoredRows
from discreet.queries.choice import PreparedChoice
from discreet.step import read_rows

#: Steps that add noise to sums of rows: on the other table they have other sums, and the same noise.
SUMS_OF_ROWS = (ScoredRows, SquaresAlong, ClippedProducts)

#: Where and with which weights a polynomial is added up to its integral.
nodes_of = lru_cache(roots_legendre)

#: What is public about a door.
FACTS = {"schema", "unit", "rows", "ledger", "entry", "begun", "is_private", "is_made_up"}


@dataclass
class Notes:
    """What a fit was told: everything, the noised sums in it, and how far each of them leans to a table."""

    told: list[Any] = field(default_factory=list)
    sums: list[Noised] = field(default_factory=list)
    leans: list[float] = field(default_factory=list)
    #: Whether nothing but noised sums was told.
    adds_noise: bool = True

    def take(self, others: Notes) -> None:
        """Add what another door noted."""
        self.told += others.told
        self.sums += others.sums
        self.leans += others.leans
        self.adds_noise &= others.adds_noise


@dataclass(frozen=True)
class Beside:
    """The other table, to compare exact sums with: `sign` is 1 if the door's own is the first of the two."""

    engine: Engine
    sign: int


def lean(mine: list[Noised], other: list[Noised], sign: int) -> float:
    """How much nearer what was told is to the first table's exact sums than to the second's, in scales.

    For Laplace noise that is the privacy loss itself.
    """
    found = 0.0
    for here, there in zip(mine, other, strict=True):
        told = here.noised.astype(np.float64)
        scale = spread_of(here.distribution)[1]
        to_mine = np.abs(told - np.ravel(here.totals))
        to_other = np.abs(told - np.ravel(there.totals))
        found += float((to_other - to_mine).sum()) / scale
    return sign * found


def lean_of_choice(prepared: PreparedChoice, value: Any, mine: Engine, beside: Beside) -> float:
    """The privacy loss of what was chosen, in all groups: how much likelier it is on the first table.

    It is the same number, to the last bit, on whichever table the door has its rows: it is all that is told.
    """
    found = 0.0
    first, second = (
        prepared._query.scores(engine.joint_totals(prepared._parts), prepared._schema)
        for engine in ((mine, beside.engine) if beside.sign > 0 else (beside.engine, mine))
    )
    for chosen, here, there in zip(np.atleast_1d(value).tolist(), first, second, strict=True):
        found += math.log(chance_of(prepared, here, chosen) / chance_of(prepared, there, chosen))
    return found


def chance_of(prepared: PreparedChoice, scores: Any, chosen: int) -> float:
    """How likely one candidate is, by `PermuteAndFlip.probabilities` for that one, or by its odds."""
    moved = (1 if prepared._monotone else 2) * prepared._sensitivity
    kept = np.exp((scores - scores.max()).astype(np.float64) * float(prepared._epsilon) / moved)
    if not prepared._flips:
        return float(kept[chosen] / kept.sum())
    at, weights = nodes_of(max(2, len(kept) // 2 + 1))
    others = np.prod(1 - np.outer((at + 1) / 2, np.delete(kept, chosen)), axis=1)
    return float(kept[chosen] * (weights / 2 @ others))


class NotingDoor:
    """A door, and the notes of what came through it; doors that it gives note in the same place."""

    def __init__(
        self,
        door: Any,
        heard: list[Noised],
        beside: Beside | None = None,
        notes: Notes | None = None,
    ) -> None:
        self._door, self._heard, self._beside = door, heard, beside
        self.notes = Notes() if notes is None else notes

    def release(self, query: Any, budget: Any) -> Any:
        self._heard.clear()
        prepared = self._door._prepare(query, budget)
        with _planned(self._door, prepared):
            found = self._door.release(query, budget)
        self._note(flatten(found.value), prepared.answer)
        if isinstance(prepared, PreparedChoice) and self._beside is not None:
            own = self._door._engine
            self.notes.leans.append(lean_of_choice(prepared, found.value, own, self._beside))
        return found

    def run(self, step: Any, *rest: Any) -> Any:
        self._heard.clear()
        found = self._door.run(step, *rest)

        def again(engine: Engine) -> Any:
            step.run(read_rows(engine, step, self._door.schema, self._door.unit))

        seen = flatten(found)
        if isinstance(step, PrincipalDirections):  # v and -v are the same direction
            seen = [
                number for v in np.atleast_2d(found) for number in np.outer(v, v).ravel().tolist()
            ]
        self._note(seen, again if isinstance(step, SUMS_OF_ROWS) else None)
        return found

    def _note(self, found: list[float], again: Callable[[Engine], Any] | None) -> None:
        """Note the noised sums that were heard, else the answer.

        Who knows the sums of both tables needs of noised ones only how far they lean: that is all they tell.
        """
        notes, mine = self.notes, list(self._heard)
        notes.sums += mine
        notes.adds_noise &= bool(mine)
        if mine and again is not None and self._beside is not None:
            self._heard.clear()
            again(self._beside.engine)
            notes.leans.append(lean(mine, self._heard, self._beside.sign))
        else:
            notes.told.append(tell(mine) or found)

    @contextmanager
    def prepaid(self, *plan: Any, **more: Any) -> Iterator[NotingDoor]:
        with self._door.prepaid(*plan, **more) as door:
            yield NotingDoor(door, self._heard, self._beside, self.notes)

    def select(self, selection: Any, run: Callable[..., Any], *rest: Any) -> Any:
        """The best run is told whole, for that is what its price covers; of the others nothing is."""

        def noted(at: int, views: tuple[Any, ...]) -> Any:
            notes = Notes()
            doors = tuple(NotingDoor(view, self._heard, self._beside, notes) for view in views)
            score, outcome = run(at, doors)
            return score, (outcome, at, notes)

        score, (outcome, at, notes) = self._door.select(selection, noted, *rest)
        self.notes.take(notes)
        self.notes.told.append([float(at), float(score)])
        self.notes.adds_noise = False  # a choice, which more runs of the same sums don't repeat
        return score, outcome

    def with_schema(self, schema: Any) -> NotingDoor:
        return NotingDoor(self._door.with_schema(schema), self._heard, self._beside, self.notes)

    def __getattr__(self, name: str) -> Any:
        """Public facts; whatever else a fit asked of a door would be told without a note."""
        if name not in FACTS:
            raise AttributeError(f"{name}: guests would not hear of it; note it in NotingDoor.")
        return getattr(self._door, name)


@contextmanager
def _planned(door: Any, prepared: Any) -> Iterator[None]:
    """Let a door carry out this plan, rather than make it once more."""
    door._prepare = lambda *_: prepared
    try:
        yield
    finally:
        del door._prepare
