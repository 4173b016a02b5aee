"""Who is better where: comparisons made from the figures of the benchmark page."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from contest import MODULES, TWINS, contestants
from metrics import METRICS, gain
from real_tables import TABLES

Line = dict[str, Any]
#: What tells a line from another.
KEY = ("table", "task", "library", "model", "columns", "delta")
#: Smaller differences can't be seen in a table.
VISIBLE = 0.001
FLOORS = {"classes": "larger class", "number": "mean"}


@dataclass(frozen=True)
class Duel:
    """A line of theirs and a line of ours, at one ε."""

    theirs: Line
    ours: Line
    metric: str
    epsilon: float

    @property
    def their_figure(self) -> Sequence[float]:
        """Mean and standard error."""
        return at(self.theirs, self.metric, self.epsilon)  # type: ignore[return-value]

    @property
    def our_figure(self) -> Sequence[float]:
        """Mean and standard error."""
        return at(self.ours, self.metric, self.epsilon)  # type: ignore[return-value]


def figures_of(figures: dict[str, Any]) -> list[Line]:
    """All lines, table by table, in the order of the contestants, ours first."""
    places = {
        (one.library, one.model, one.task, one.view): place
        for place, one in enumerate(one for library in MODULES for one in contestants(library))
    }

    def order(line: Line) -> tuple[int, int, float]:
        kind = (line["library"], line["model"], line["task"], line["columns"])
        return list(TABLES).index(line["table"]), places.get(kind, 0), line["delta"] or 0.0

    return sorted(figures["lines"], key=order)


def measured_again(line: Line, epsilon: float, again: list[Line]) -> Line | None:
    """The second measurement of a line, which is of one ε."""
    for other in again:
        if other["epsilons"] == [epsilon] and all(other[key] == line[key] for key in KEY):
            return other
    return None


def at(line: Line, metric: str, epsilon: float) -> Sequence[float] | None:
    """Mean and standard error at this ε, if it was measured."""
    if epsilon not in line["epsilons"]:
        return None
    if metric not in line:
        return None  # measured before there was this metric
    found: Sequence[float] | None = line[metric][line["epsilons"].index(epsilon)]
    return found


def without_noise(line: Line, metric: str) -> Sequence[float] | None:
    """Mean and standard error of a line without privacy, if it was measured."""
    found: Sequence[float] | None = line[metric][0] if metric in line else None
    return found


def is_better(duel: Duel) -> bool:
    """Whether ours has the better mean."""
    return gain(duel.metric, duel.our_figure[0], duel.their_figure[0]) > 0


def clear(duel: Duel) -> bool:
    """Whether the difference exceeds twice its standard error."""
    apart = abs(duel.our_figure[0] - duel.their_figure[0])
    return apart > max(2 * math.hypot(duel.our_figure[1], duel.their_figure[1]), VISIBLE)


def _rivals(lines: list[Line]) -> Iterator[tuple[Line, Line]]:
    """Their lines, each with ours of the same kind."""
    kinds = {
        (one.library, one.model, one.task, one.view): one.rival
        for library in ("diffprivlib", "OpenDP", "interpret")
        for one in contestants(library)
    }
    ours = {
        (x["table"], x["task"], x["model"], x["columns"], x["delta"]): x
        for x in lines
        if x["library"] == "discreet"
    }
    for line in lines:
        kind = kinds.get((line["library"], line["model"], line["task"], line["columns"]))
        rival = ours.get((line["table"], line["task"], kind, line["columns"], line["delta"]))
        if rival is not None:
            yield line, rival


def like_with_like(lines: list[Line]) -> list[Duel]:
    """Each line of theirs against ours of the same kind, at each ε that both have."""
    return [
        Duel(theirs, ours, metric, epsilon)
        for theirs, ours in _rivals(lines)
        for metric in METRICS[theirs["task"]]
        for epsilon in theirs["epsilons"]
        if at(theirs, metric, epsilon) is not None and at(ours, metric, epsilon) is not None
    ]


def best_with_best(lines: list[Line]) -> list[Duel]:
    """The best of theirs against the best of ours, for each table, task, metric, ε and privacy."""
    found = []
    private = [
        line
        for line in lines
        if line["delta"] is not None and line["columns"] != "few"  # a choice no other was given
    ]
    for table in TABLES:
        for task, metrics in METRICS.items():
            here = [line for line in private if (line["table"], line["task"]) == (table, task)]
            for delta in sorted({line["delta"] for line in here if line["library"] != "discreet"}):
                allowed = [line for line in here if line["delta"] <= delta]
                for metric in metrics:
                    for epsilon in sorted({e for line in allowed for e in line["epsilons"]}):
                        sides = [
                            _best(
                                [x for x in allowed if (x["library"] == "discreet") == ours],
                                metric,
                                epsilon,
                            )
                            for ours in (False, True)
                        ]
                        if sides[0] and sides[1] and (delta == 0 or sides[0]["delta"]):
                            found.append(Duel(sides[0], sides[1], metric, epsilon))
    return found


def _best(lines: list[Line], metric: str, epsilon: float) -> Line | None:
    there = [
        (gain(metric, figure[0], 0.0), place)
        for place, line in enumerate(lines)
        if (figure := at(line, metric, epsilon)) is not None
    ]
    return lines[max(there)[1]] if there else None


def times(lines: list[Line]) -> Iterator[tuple[Line, Line, float, float]]:
    """Processor seconds of fits at ε = 1, like with like."""
    for theirs, ours in _rivals(lines):
        their, our = (line["seconds"][line["epsilons"].index(1.0)] for line in (theirs, ours))
        if their is not None and our is not None:
            yield theirs, ours, their, our


def floors(lines: list[Line], metric: str) -> float | None:
    """The score of not looking at the data, on these lines' table and task."""
    for line in lines:
        if line["delta"] is None and line["model"] == FLOORS.get(line["task"]):
            figure = without_noise(line, metric)
            return None if figure is None else float(figure[0])
    return None


def worse_than_floor(lines: list[Line]) -> dict[tuple[str, str, str], list[float]]:
    """Where ours are clearly worse than not looking at the data: the ε of each model."""
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for table in TABLES:
        for task, metric in (("classes", "accuracy"), ("number", "r2")):
            here = [line for line in lines if (line["table"], line["task"]) == (table, task)]
            floor = floors(here, metric)
            for line in here if floor is not None else ():
                if line["library"] != "discreet":
                    continue
                name = f"`{line['model']}`, {line['columns']}" + (", δ" if line["delta"] else "")
                for epsilon, figure in zip(line["epsilons"], line[metric], strict=True):
                    if figure is not None and figure[0] < floor - max(2 * figure[1], VISIBLE):
                        found[table, name, metric].append(epsilon)
    return dict(found)


def twin_of(line: Line, lines: list[Line]) -> Line | None:
    """The same model without noise."""
    keys = ("table", "task", "model", "columns")
    for other in lines:
        if other["library"] == TWINS and all(other[key] == line[key] for key in keys):
            return other
    return None


def groups_below_floor(lines: list[Line]) -> dict[str, dict[tuple[str, str, str], list[float]]]:
    """The same in groups: at ε of at least 1, at smaller ε, and where the twin isn't above the floor."""
    found: dict[str, dict[tuple[str, str, str], list[float]]] = {
        group: {} for group in ("large", "small", "always")
    }
    hopeless = _twins_below_floor(lines)
    for key, epsilons in worse_than_floor(lines).items():
        if key in hopeless:
            found["always"][key] = epsilons
            continue
        for group, chosen in (
            ("large", [epsilon for epsilon in epsilons if epsilon >= 1]),
            ("small", [epsilon for epsilon in epsilons if epsilon < 1]),
        ):
            if chosen:
                found[group][key] = chosen
    return found


def _twins_below_floor(lines: list[Line]) -> set[tuple[str, str, str]]:
    """Models that don't have a better mean than the floor without noise either."""
    found = set()
    for twin in lines:
        if twin["library"] != TWINS:
            continue
        metric = "accuracy" if twin["task"] == "classes" else "r2"
        kind = ("table", "task")
        here = [line for line in lines if all(line[key] == twin[key] for key in kind)]
        floor, figure = floors(here, metric), without_noise(twin, metric)
        if floor is not None and figure is not None and figure[0] <= floor:
            for delta in ("", ", δ"):
                found.add((twin["table"], f"`{twin['model']}`, {twin['columns']}{delta}", metric))
    return found
