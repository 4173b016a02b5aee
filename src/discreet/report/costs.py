"""Sections of a report about what privacy costs: utility against ε, and fairness by group."""

from __future__ import annotations

import math

from discreet.report.blocks import Block, Chart, Grid, Section, Series, Words
from discreet.report.svg import MAX_BARS
from discreet.show import Table
from discreet.tradeoff import Curve, Fairness
from discreet.tradeoff.fairness import FIGURES, Counts

__all__ = ["describe_curve", "describe_fairness"]

#: The interval that is drawn around a figure of a group, in deviations: about 95 of 100.
_REACH = 1.96


def _tell_origin(is_public: bool, origin: str) -> Words:
    """Whether figures are from public rows or were charged; a reader must not miss it."""
    return Words(f"NOT PRIVATE. {origin}" if is_public else origin, "notice")


def describe_curve(item: Curve, title: str) -> Section:
    """The section of a curve: means with intervals, and the lines without noise where there are some."""
    series = []
    for model in item.models:
        points = [item.point(model, epsilon) for epsilon in item.epsilons]
        ends = [point.interval() for point in points]
        known = all(math.isfinite(end) for pair in ends for end in pair)
        series.append(
            Series(
                model,
                tuple(point.epsilon for point in points),
                tuple(point.mean for point in points),
                tuple(low for low, _ in ends) if known else (),
                tuple(high for _, high in ends) if known else (),
            )
        )
    span = (item.epsilons[0], item.epsilons[-1])
    for point in item.points:
        if math.isinf(point.epsilon):
            name = f"{point.model} without privacy, {point.mean:.4g}"
            series.append(Series(name, span, (point.mean, point.mean), is_reference=True))
    table = item.to_table()
    repeats = sorted({len(point.scores) for point in item.points})
    best = item.point(item.models[0], item.epsilons[-1])
    described = (
        f"{item.metric} of {len(item.models)} model(s) against ε from {span[0]:g} to {span[1]:g}; "
        f"{best.model} reaches {best.mean:.4g} at the largest."
    )
    chart = Chart(
        "lines",
        f"{item.metric} against ε, mean of {repeats[0]} repeats with 95 % interval",
        described,
        Table(table.columns, table.rows, "", table.note),
        tuple(series),
        "ε" + (f", δ = {item.delta:g}" if item.delta else ""),
        item.metric,
        "log" if span[1] > span[0] else "linear",
    )
    return Section(
        title or f"{item.metric} against ε", (_tell_origin(item.is_public, item.origin), chart)
    )


def describe_fairness(item: Fairness, title: str) -> Section:
    """The section of fairness: the gaps first, then each figure by group."""
    table = item.to_table()
    blocks: list[Block] = [_tell_origin(item.is_public, item.origin)]
    if item.twin is not None:
        gap, other = item.gap("accuracy"), item.gap("accuracy", of_twin=True)
        if math.isfinite(gap.value) and math.isfinite(other.value):
            added = gap.value - other.value
            blocks.append(
                Words(
                    f"The accuracy of the best and the worst served group is {gap.value:.3f} apart; without "
                    f"privacy {other.value:.3f}. Privacy {'added' if added >= 0 else 'took away'} "
                    f"{abs(added):.3f}.",
                    "lead",
                )
            )
    gaps = item.to_gaps()
    blocks.append(Grid(Table(gaps.columns, gaps.rows, gaps.caption)))
    for figure, meaning in FIGURES.items():
        if (chart := _chart_figure(item, figure, meaning, table)) is not None:
            blocks.append(chart)
    return Section(title or f"By {item.group}", tuple(blocks))


def _chart_figure(item: Fairness, figure: str, meaning: str, table: Table) -> Chart | None:
    """A figure of each group, beside that of the twin; groups without one are left out."""
    at = [
        place
        for place in range(len(item.labels))
        if math.isfinite(item.model.rate(place, figure).value)
    ]
    if not at:
        return None
    rows = [row for row in table.rows if row[2] == figure]
    note = f"{figure}: {meaning}."
    if len(at) > MAX_BARS:
        note += f" The {MAX_BARS} groups with the most rows are drawn."
        at = sorted(sorted(at, key=lambda place: -item.model.rows[place])[:MAX_BARS])
    series = [_series("with privacy", item.model, item, at, figure)]
    if item.twin is not None:
        series.append(_series("without privacy", item.twin, item, at, figure))
    values = [value for one in series for value in one.y if math.isfinite(value)]
    described = f"{figure} of {len(at)} groups of {item.group}, from {min(values):.3f} to {max(values):.3f}."
    title = f"{figure.capitalize()} by {item.group}: {meaning}"
    shown = Table(table.columns, rows, "", note)
    return Chart("dots", title, described, shown, tuple(series), "", figure, "names")


def _series(name: str, counts: Counts, item: Fairness, at: list[int], figure: str) -> Series:
    rates = [counts.rate(place, figure) for place in at]
    ends = [rate.interval(_REACH, figure) for rate in rates]
    return Series(
        name,
        tuple(str(item.labels[place]) for place in at),
        tuple(rate.value for rate in rates),
        tuple(low for low, _ in ends),
        tuple(high for _, high in ends),
    )
