"""The drawings of the benchmark page, from its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from comparing import at, figures_of, floors
from real_tables import TABLES

Line = dict[str, Any]

#: Colours that the colour-blind can tell apart (Okabe & Ito 2008).
COLOURS = {
    "discreet": "#0072B2",
    "discreet δ": "#009E73",
    "diffprivlib": "#D55E00",
    "interpret δ": "#CC79A7",
}
KINDS = {
    "Naive Bayes": ("GaussianNB", "CategoricalNB", "MixedNB"),
    "Linear": ("LogisticRegression", "LinearSVC"),
    "Trees": ("RandomDecisionForest", "DecisionTreeClassifier", "RandomForestClassifier"),
    "Boosting": ("AdditiveBoostingClassifier", "DPExplainableBoostingClassifier"),
}
MARKS = "os^Dv"


def draw(figures: dict[str, Any], folder: Path) -> None:
    """Write the SVG files; the same figures give the same bytes with the same matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "discreet", "font.size": 9, "axes.titlesize": 10}
    )
    lines = [line for line in figures_of(figures) if line["task"] == "classes"]
    if lines:
        _kinds([line for line in lines if line["table"] == "adult"], folder / "adult.svg")
        _tables(lines, folder / "tables.svg")


def _colour(line: Line) -> str:
    return COLOURS[line["library"] + (" δ" if line["delta"] else "")]


def _curve(axes: Any, line: Line, **style: Any) -> None:
    there = [
        (epsilon, *figure)
        for epsilon, figure in zip(line["epsilons"], line["auc"], strict=True)
        if figure is not None
    ]
    if there:
        epsilon, mean, error = zip(*there, strict=True)
        axes.errorbar(epsilon, mean, error, linewidth=1.2, markersize=3.5, **style)


def _frame(axes: Any, title: str, epsilons: tuple[float, ...]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.set_title(title, loc="left")
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    figure.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def _kinds(lines: list[Line], path: Path) -> None:
    """A panel for each kind of model."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        2, 2, figsize=(11, 7), sharex=True, sharey=True, layout="constrained"
    )
    reference = max(
        (
            line["auc"][0][0]
            for line in lines
            if line["library"] == "scikit-learn" and line["auc"][0]
        ),
        default=None,
    )
    for axes, (kind, models) in zip(panels.flat, KINDS.items(), strict=True):
        here = [line for line in lines if line["delta"] is not None and line["model"] in models]
        kinds = dict.fromkeys((line["model"], line["columns"]) for line in here)
        marks = {kind: MARKS[place % len(MARKS)] for place, kind in enumerate(kinds)}
        for line in here:
            who = "" if line["library"] == "discreet" else f"{line['library']} "
            delta = ", δ" if line["delta"] else ""
            _curve(
                axes,
                line,
                color=_colour(line),
                marker=marks[line["model"], line["columns"]],
                label=f"{who}{line['model']}, {line['columns']}{delta}",
            )
        if reference is not None:
            axes.axhline(reference, color="grey", linewidth=0.8, linestyle=":")
        _frame(axes, kind, (0.1, 0.5, 1, 4, 10))
        if here:
            axes.legend(fontsize=6.5, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    for axes in panels[-1]:
        axes.set_xlabel("ε")
    figure.suptitle(
        "Adult: AUC (mean ± standard error), default methods; dotted: scikit-learn's best without privacy",
        fontsize=10,
        x=0.01,
        ha="left",
    )
    _save(figure, path)


def _tables(lines: list[Line], path: Path) -> None:
    """A panel for each table: the best line of each library and privacy at each ε."""
    from matplotlib import pyplot

    there = [name for name in TABLES if any(line["table"] == name for line in lines)]
    wide = 3 if len(there) <= 6 else 4
    high = -(-len(there) // wide)
    figure, panels = pyplot.subplots(
        high, wide, figsize=(3 * wide, 2.8 * high), layout="constrained", squeeze=False
    )
    names = {
        "discreet": "ours, pure",
        "discreet δ": "ours, δ = 1e-6",
        "diffprivlib": "diffprivlib, pure",
        "interpret δ": "interpret, δ = 1e-6",
    }
    for axes in panels.flat[len(there) :]:
        axes.set_visible(False)
    for axes, name in zip(panels.flat, there, strict=False):
        here = [line for line in lines if line["table"] == name]
        for key, label in names.items():
            group = [
                line
                for line in here
                if line["delta"] is not None
                and line["columns"] != "few"
                and line["library"] + (" δ" if line["delta"] else "") == key
            ]
            if group:
                _curve(axes, _envelope(group), color=COLOURS[key], marker="o", label=label)
        plain = [
            line["auc"][0][0]
            for line in here
            if line["library"] == "scikit-learn" and line["auc"][0]
        ]
        if plain:
            axes.axhline(max(plain), color="grey", linewidth=0.8, linestyle=":")
        low = floors(here, "auc")
        axes.set_ylim(bottom=max(0.45, (low or 0.5) - 0.05))
        _frame(axes, TABLES[name].title, (0.1, 0.5, 1, 4, 10))
    for place in range(max(0, len(there) - wide), len(there)):
        panels.flat[place].set_xlabel("ε")
    panels[0, 0].legend(fontsize=7, frameon=False, loc="lower right")
    figure.suptitle(
        "AUC of the best private model of each library at each ε; dotted: scikit-learn without privacy",
        fontsize=10,
        x=0.01,
        ha="left",
    )
    _save(figure, path)


def _envelope(lines: list[Line]) -> Line:
    """The best figure at each ε."""
    epsilons = sorted({epsilon for line in lines for epsilon in line["epsilons"]})
    there = [[figure for line in lines if (figure := at(line, "auc", e))] for e in epsilons]
    return {"epsilons": epsilons, "auc": [max(found) if found else None for found in there]}
