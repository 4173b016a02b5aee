"""The benchmark page as text, from the figures alone.

Sentences about method are in ``page_template.md``; those about results are all made from the figures, also
those about where others are better.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import costs
from comparing import (
    Duel,
    at,
    best_with_best,
    clear,
    figures_of,
    floors,
    groups_below_floor,
    is_better,
    like_with_like,
    times,
    without_noise,
)
from contest import (
    CLUSTERS,
    COMPONENTS,
    ENOUGH,
    FEWEST_SEEDS,
    PATIENCE,
    PLAIN_PATIENCE,
    SMALL_PATIENCE,
)
from metrics import CERTAINTY, METRICS, SMALLER_IS_BETTER, gain
from ours import NOT_MEASURED
from real_tables import TABLES, Table
from suspects import MOST_ON_LARGE, TIMES, is_loss, second
from texts import SHORT, WORDS, named, rows_of, seconds, shown

Line = dict[str, Any]
#: A loss that is clear in the second measurement too.
CONFIRMED = "yes"
NOT_AGAIN = "not measured again"
TEMPLATE = Path(__file__).parent / "page_template.md"

TASKS = {
    "classes": "Classes",
    "number": "A number, from the other numbers",
    "line": "A number, from one other",
    "clusters": f"{CLUSTERS} clusters of the numbers, scaled by their bounds",
    "components": f"{COMPONENTS} components of the numbers, scaled by their bounds",
}


def has_figures(line: Line, metric: str) -> bool:
    """Whether this metric was asked of the line; where a fit failed, that is its figure."""
    return any(line.get(metric, ())) or (metric in line and any(line["failed"]))


def scoreboard(lines: list[Line], task: str, metric: str) -> Iterator[str]:
    """The figures of one task on one table: pure, with δ, and without privacy."""
    here = [line for line in lines if line["task"] == task and has_figures(line, metric)]
    private = [line for line in here if line["delta"] is not None]
    if not private:
        return
    epsilons = sorted({epsilon for line in private for epsilon in line["epsilons"]})
    floor = floors(here, metric)
    groups = (
        ("**pure**", [line for line in private if line["delta"] == 0]),
        ("**δ = 1e-6**", [line for line in private if line["delta"]]),
    )
    cells: list[list[str]] = []
    for title, group in groups:
        if not group:
            continue
        cells.append([title, *[""] * (len(epsilons) + 2)])
        best = [
            _best([at(line, metric, epsilon) for line in group], metric) for epsilon in epsilons
        ]
        for line in group:
            found = []
            for place, epsilon in enumerate(epsilons):
                figure = at(line, metric, epsilon)
                text = shown(figure)
                if figure is not None and floor is not None and gain(metric, figure[0], floor) <= 0:
                    text += " †"
                found.append(f"**{text}**" if figure and figure[0] == best[place] else text)
            middle = line["seconds"][line["epsilons"].index(1.0)]
            cells.append([named(line), line["columns"], *found, seconds(middle)])
    plain = [line for line in here if line["delta"] is None]
    if plain:
        cells.append(["**without privacy**", *[""] * (len(epsilons) + 2)])
    for line in plain:
        figure = shown(without_noise(line, metric))
        cells.append(
            [
                named(line),
                line["columns"],
                *[""] * (len(epsilons) - 1),
                figure,
                seconds(line["seconds"][0]),
            ]
        )
    head = ["", "columns", *(f"ε = {epsilon:g}" for epsilon in epsilons), "seconds"]
    yield from (f"{TASKS[task]}: {WORDS[metric]}.", "")
    yield from rows_of(cells, head)


def _best(figures: list[Sequence[float] | None], metric: str) -> float | None:
    there = [figure[0] for figure in figures if figure is not None]
    choose: Callable[[list[float]], float] = min if metric in SMALLER_IS_BETTER else max
    return choose(there) if there else None


def about(table: Table) -> str:
    """What the table is."""
    parts = (
        "published training and test part" if len(table.files) == 2 else "30 % held out, by seed"
    )
    target = f", and the number `{table.number}`" if table.number else ""
    one = f" (from one other: `{table.feature}`)" if table.feature else ""
    few = ", ".join(f"`{name}`" for name in table.few)
    counted = f"{len(table.numbers)} numbers, {len(table.categories)} categories"
    return (
        f"{counted}; few: {few}; classes `{table.label}`{target}{one}; {parts}; "
        f"means of up to {table.seeds} fits. "
        f"Guessed: {table.guessed}."
    )


def summary(duels: list[Duel], again: list[Line]) -> list[str]:
    """How the comparisons of like with like ended, by library."""
    cells = []
    for library in dict.fromkeys(duel.theirs["library"] for duel in duels):
        mine = [duel for duel in duels if duel.theirs["library"] == library]
        lost = [duel for duel in mine if is_loss(duel)]
        won = [duel for duel in mine if clear(duel) and is_better(duel)]
        told = [verdict(duel, again) for duel in lost]
        counts = (len(mine), len(won), len(mine) - len(lost) - len(won), len(lost))
        confirmed = "–" if NOT_AGAIN in told else str(told.count(CONFIRMED))
        cells.append([library, *map(str, counts), confirmed])
    head = ("comparisons", "ours clearly better", "no clear difference", "theirs clearly better")
    return rows_of(cells, ["", *head, "of these confirmed"])


def verdict(duel: Duel, again: list[Line]) -> str:
    """What the second measurement says about a loss."""
    repeated = second(duel, again)
    if repeated is None:
        return NOT_AGAIN
    return CONFIRMED if is_loss(repeated) else "no"


def lost(duels: list[Duel], nothing: str, again: list[Line] | None = None) -> list[str]:
    """Those that a peer clearly wins, as a table, with second measurements; or a sentence instead."""
    cells = []
    for duel in duels:
        if not is_loss(duel):
            continue
        cells.append(
            [
                TABLES[duel.theirs["table"]].title,
                SHORT[duel.metric],
                f"{duel.epsilon:g}",
                f"{named(duel.theirs)}, {duel.theirs['columns']}",
                shown(duel.their_figure),
                f"{named(duel.ours)}, {duel.ours['columns']}",
                shown(duel.our_figure),
            ]
        )
        if again is not None:
            repeated = second(duel, again)
            sides = ("–", "–")
            if repeated is not None:
                sides = shown(repeated.their_figure), shown(repeated.our_figure)
            cells[-1] += [*sides, verdict(duel, again)]
    if not cells:
        return [nothing, ""]
    head = ["", "", "ε", "better", "", "ours", ""]
    return rows_of(
        cells, head if again is None else [*head, "theirs again", "ours again", "confirmed"]
    )


def busy(lines: list[Line]) -> str:
    """On what machine the seconds were counted."""
    jobs = max((line.get("jobs", 1) for line in lines), default=1)
    beside = f", with up to {jobs} tables measured at a time" if jobs > 1 else ""
    return f"on one core of a busy machine{beside}"


def slower(lines: list[Line]) -> list[str]:
    """Where a peer's fit takes less time than that of ours."""
    cells = [
        [
            TABLES[theirs["table"]].title,
            f"{named(theirs)}, {theirs['columns']}",
            seconds(their),
            f"{named(ours)}",
            seconds(our),
            f"{our / their:.1f}" if their >= 0.001 else "–",
        ]
        for theirs, ours, their, our in times(lines)
        if our > 1.5 * their and our >= 0.05
    ]
    if not cells:
        return ["Nowhere.", ""]
    return rows_of(cells, ["", "faster", "seconds", "ours", "seconds", "times as long"])


def below(lines: list[Line], group: str) -> list[str]:
    """Ours that are clearly worse than the larger class or the mean: one of `groups_below_floor`."""
    cells = [
        [TABLES[table].title, model, SHORT[metric], ", ".join(f"{e:g}" for e in epsilons)]
        for (table, model, metric), epsilons in groups_below_floor(lines)[group].items()
    ]
    if not cells:
        return ["Nowhere.", ""]
    return rows_of(cells, ["", "ours", "", "at ε ="])


def failures(lines: list[Line]) -> list[str]:
    """What didn't finish, and what wasn't tried."""
    from contest import contestants

    keys = ("table", "library", "model", "task", "columns", "delta")
    there = {tuple(line[key] for key in keys) for line in lines}
    measured = [table for table in TABLES.values() if table.name in {key[0] for key in there}]
    found = [
        f"- {TABLES[line['table']].title}, {named(line)}, {epsilon}: {why}."
        for line in lines
        for epsilon, why in zip(
            [f"ε = {epsilon:g}" for epsilon in line["epsilons"]] or ["without privacy"],
            line["failed"],
            strict=False,
        )
        if why
    ]
    for library in dict.fromkeys(line["library"] for line in lines):
        for one in contestants(library):
            for table, why in one.left_out.items() if one.is_private else ():
                found.append(
                    f"- {TABLES[table].title}, {library} `{one.model}`, {one.view} columns: {why}."
                )
            for table in measured:
                for delta in one.deltas if one.suits(table) else ():
                    if (table.name, library, one.model, one.task, one.view, delta) not in there:
                        told = f"`{one.model}`, {one.view} columns, δ = {delta:g}"
                        found.append(f"- {table.title}, {library} {told}: no figures yet.")
    found += [
        f"- {table.title}: no figures yet." for table in TABLES.values() if table not in measured
    ]
    for path, why in NOT_MEASURED.items():
        found.append(f"- `{path}`: {why}.")
    for table in TABLES.values():
        if table.number is None:
            found.append(f"- {table.title}: no column of numbers that the others tell much about.")
    return found


def page(figures: dict[str, Any]) -> str:
    """The whole page."""
    lines: list[Line] = figures_of(figures)
    duels = like_with_like(lines)
    dates = sorted({line["date"] for line in lines})
    versions = sorted(figures["versions"].items(), key=lambda pair: pair[0].lower())
    found = {
        "when": dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}",
        "versions": ", ".join(f"{name} {value}" for name, value in versions),
        "minutes": str(math.ceil(sum(line["spent"] for line in [*lines, *figures["again"]]) / 60)),
        "summary": summary(duels, figures["again"]),
        "like": lost(duels, "Nowhere, clearly.", figures["again"]),
        "times": str(TIMES),
        "most": str(MOST_ON_LARGE),
        "busy": busy(lines),
        "best": lost(best_with_best(lines), "Nowhere, clearly."),
        "slower": slower(lines),
        "kept": costs.render_kept(lines, figures["again"]),
        "boosting": costs.render_boosting(lines),
        "kept_bar": f"{100 * costs.KEPT_BAR:.0f}",
        "boosting_bar": f"{100 * costs.BOOSTING_BAR:.0f}",
        **{f"below_{group}": below(lines, group) for group in ("large", "small", "always")},
        "certainty": f"{CERTAINTY:g}",
        "enough": f"{ENOUGH:g}",
        "fewest": str(FEWEST_SEEDS),
        "patience": f"{PATIENCE:.0f}",
        "plain_patience": f"{PLAIN_PATIENCE:.0f}",
        "small_patience": f"{SMALL_PATIENCE:.0f}",
        "tables": [text for table in TABLES.values() for text in section(table, lines)],
        "absent": failures(lines),
    }
    parts = {
        name: text if isinstance(text, str) else "\n".join(text).strip()
        for name, text in found.items()
    }
    return string.Template(TEMPLATE.read_text(encoding="utf-8")).substitute(parts)


def section(table: Table, lines: list[Line]) -> Iterator[str]:
    """What there is about one table."""
    here = [line for line in lines if line["table"] == table.name]
    if here:
        yield from (f"## {table.title}", "", about(table), "")
        for task, metrics in METRICS.items():
            for metric in metrics:
                yield from scoreboard(here, task, metric)
