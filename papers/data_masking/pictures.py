"""The pictures of decoys, and the tables of decoys and curves in the README."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from decoys import DECOYS, EPSILONS, axes, digit_classifiers, digit_rows, toy_masks
from harness import Study, markdown
from settings import EPSILONS as ALL_EPSILONS
from settings import METHODS
from sizes import QUICK, size_of_run
from study import STUDY

__all__: list[str] = []

SHOWN = 6
#: Three classes in the plane.
COLOURS = ("#20639b", "#b3452c", "#3a7d34")
NAMES = ("true rows, not private", "private weights", "masked rows", "public start alone")


@STUDY.table()
def curves(study: Study) -> str:
    """Means over tables and N, with the error that the repetitions leave in them."""
    if size_of_run() == QUICK:  # it has printed its own, of two tables
        return "Left out of a quick run: `--report` shows those of the full one."
    kept = json.loads((study.folder / "curves.json").read_text("utf-8"))
    rows = []
    for method in METHODS:
        found = np.array([each["accuracy"][method] for each in kept["results"]])
        means = found[:, :, 0].mean(axis=0)
        errors = np.sqrt((found[:, :, 1] ** 2).sum(axis=0)) / len(found)
        cells = (f"{mean:.3f} ± {error:.4f}" for mean, error in zip(means, errors, strict=True))
        rows.append([method, *cells])
    sizes = {100: 0, 200: 0}
    for each in kept["results"]:
        sizes[each["rows"]] += 1
    return (
        f"{markdown(['ε', *(f'{e:g}' for e in ALL_EPSILONS)], rows)}\n\n"
        f"{kept['settings']['repetitions']} repetitions on each of {sizes[100]} tables with N = 100 and "
        f"{sizes[200]} with N = 200; the errors are those of repetitions, for these tables."
    )


@STUDY.table("digits")
def decoys(study: Study) -> str:
    rows = []
    for decoy in DECOYS:
        for epsilon in EPSILONS:
            found = study.get("digits", decoy, epsilon)
            title = f"0, 1, {decoy[0]} with {decoy[1]}, ε = {epsilon:g}"
            rows.append([title, *(found[name] for name in NAMES), f"{found['cosine'].low:.6f}"])
    count = study.get("digits", DECOYS[0], EPSILONS[0])["cosine"].count
    head = ["accuracy", *NAMES, "cosine of weights, lower quartile"]
    return f"{markdown(head, rows)}\n\n{count} repetitions."


@STUDY.table("toy")
def three_classes(study: Study) -> str:
    names = (*NAMES, "same predictions")
    rows = [
        [f"{epsilon:g}", *(study.get("toy", epsilon)[name] for name in names)]
        for epsilon in (1.0, 10.0, 100.0)
    ]
    return f"{markdown(['ε', *names], rows)}\n\n{study.get('toy', 1.0)['masked rows'].count} repetitions."


def lay_out(images: Any, across: int) -> Any:
    """Images as one picture, row by row."""
    tall = images.reshape(-1, across, 28, 28)
    return np.concatenate([np.concatenate(list(line), axis=1) for line in tall])


@STUDY.figure
def draw_digits(study: Study) -> None:
    """Figures 3 and 4: samples above, the classifiers that they teach below, back from 25 axes."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    mean, directions = axes()
    for sensitive, decoy in DECOYS:
        rows = digit_rows(sensitive, decoy, 0)
        masked, found, begun = digit_classifiers(rows, 10.0, 0)
        true = masked.classifier().fit(*rows["train"])
        made = masked.X_[len(rows["start"][0]) :], masked.y_[len(rows["start"][0]) :]
        titles = (f"private: 0, 1, {sensitive}", f"public start: 0, 1, {decoy}", "rows made up")
        taught = ("weights of private rows", "of the start", "of start and made-up rows")
        figure, panels = plt.subplots(
            2, 3, figsize=(9, 3.8), height_ratios=(3, 2), layout="constrained"
        )
        for column, (title, table, model) in enumerate(
            zip(titles, (rows["train"], rows["start"], made), (true, begun, found), strict=True)
        ):
            labels = np.unique(rows["start"][1])
            chosen = [np.flatnonzero(table[1] == label)[:SHOWN] for label in labels]
            images = table[0][np.concatenate(chosen)] @ directions + mean
            panels[0, column].imshow(lay_out(images, SHOWN), cmap="gray_r")
            panels[0, column].set_title(title)
            weights = (model.coef_ - model.coef_.mean(axis=0)) @ directions
            high = np.abs(weights).max()
            panels[1, column].imshow(lay_out(weights, 3), cmap="RdBu_r", vmin=-high, vmax=high)
            panels[1, column].set_title(taught[column])
        for panel in panels.flat:
            panel.axis("off")
        figure.suptitle(f"ε = 10, 25 principal axes, {decoy} in the place of {sensitive}")
        figure.savefig(study.folder / f"digits_{sensitive}_{decoy}.png", dpi=80)
        plt.close(figure)


@STUDY.figure
def draw_toy(study: Study) -> None:
    """Figure 2: private rows, the start with its decoys, and masked rows, with what each teaches."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    rows, start, masked = toy_masks(10.0, 0)
    shown = {"private": rows, "public start": start, "masked": (masked.X_, masked.y_)}
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained", sharey=True)
    grid = np.stack(np.meshgrid(np.linspace(-3, 4, 141), np.linspace(-3, 4, 141)), axis=-1)
    for panel, (title, (x, y)) in zip(panels, shown.items(), strict=True):
        model = masked.classifier().fit(x, y)
        areas = model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        levels = [-0.5, 0.5, 1.5, 2.5]
        panel.contourf(*grid.transpose(2, 0, 1), areas, levels=levels, colors=COLOURS, alpha=0.2)
        for label, (colour, marker) in enumerate(zip(COLOURS, "os^", strict=True)):
            panel.scatter(*x[y == label].T, color=colour, marker=marker, s=12)
        panel.set(title=title, xlim=(-3, 4), ylim=(-3, 4))
    figure.suptitle("ε = 10; areas: what a classifier of these rows predicts")
    figure.savefig(study.folder / "toy.png", dpi=80)
    plt.close(figure)
