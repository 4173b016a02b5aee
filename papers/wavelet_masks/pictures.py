"""The paper's figures: accuracies (4.5, 4.8, 4.15, 4.18), areas of a machine (4.4), masked digits (4.14)."""

from __future__ import annotations

from typing import Any

import numpy as np
from census import COLUMNS, draw_rows
from digits import ABADI, crop, published_mask, read
from harness import Study
from learning import LEARNERS, MASKS, SIZE_OF, mask_rows
from study import EPSILONS, STUDY

__all__: list[str] = []

SHOWN = {"LS, γ = 1": "tab:blue", "LS+, γ = 1": "tab:orange", "pseudo-quantum": "tab:green"}


def set_axis(axis: Any, title: str) -> None:
    axis.set(title=title, xscale="log", xlabel="ε", ylabel="accuracy, %")
    axis.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axis.minorticks_off()


def draw_learner(axis: Any, study: Study, learner: str) -> None:
    """Published accuracies dotted, ours with their errors, and what a constant has (4.5, 4.8, 4.18)."""
    for name, colour in SHOWN.items():
        found = [study.get(f"learn-{SIZE_OF[name]}", name, epsilon) for epsilon in EPSILONS]
        means = [100 * each[learner].mean for each in found]
        errors = [100 * each[learner].error for each in found]
        axis.errorbar(EPSILONS, means, errors, c=colour, marker="o", ms=3, label=name)
        if printed := study.published["learning"][learner].get(name):
            line = [printed[f"{epsilon:g}"] for epsilon in EPSILONS]
            axis.plot(EPSILONS, line, c=colour, ls=":", label=f"{name}, published")
    constant = study.get("learn-true", "large")["majority"].mean
    axis.axhline(100 * constant, c="0.5", lw=1, label="always the larger class")
    set_axis(axis, learner)
    axis.set_ylim(75, 100.5)


def draw_digits(axis: Any, study: Study) -> None:
    """The network on pseudo-quantum masks, which are not private, and DP-SGD, which is (4.15)."""
    published = study.published["digits"]
    line = [published["pseudo-quantum"][f"{epsilon:g}"] for epsilon in EPSILONS]
    axis.plot(EPSILONS, line, c="tab:green", ls=":")
    ours = [study.get("digits-whole", epsilon)["accuracy"] for epsilon in EPSILONS]
    axis.errorbar(
        EPSILONS, [100 * v.mean for v in ours], [100 * v.error for v in ours], c="tab:green"
    )
    stated = [published["DP-SGD of Abadi et al. 2016"][f"{epsilon:g}"] for epsilon in ABADI]
    axis.plot(ABADI, stated, c="tab:red", ls=":", label="DP-SGD of Abadi et al., published")
    ours = [study.get("digits-scattering", epsilon)["accuracy"] for epsilon in ABADI]
    axis.errorbar(
        ABADI,
        [100 * v.mean for v in ours],
        [100 * v.error for v in ours],
        c="tab:red",
        marker="o",
        ms=3,
        label="scattering and a linear head by DP-SGD",
    )
    set_axis(axis, "digits: a network")
    axis.set_ylim(89, 100.5)


@STUDY.figure
def draw_accuracies(study: Study) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
    for axis, learner in zip(axes.flat, LEARNERS, strict=False):
        draw_learner(axis, study, learner)
    draw_digits(axes.flat[-1], study)
    told = dict(zip(*reversed(axes.flat[0].get_legend_handles_labels()), strict=True))
    told |= dict(zip(*reversed(axes.flat[-1].get_legend_handles_labels()), strict=True))
    figure.legend(told.values(), told.keys(), loc="outside lower center", ncols=3)
    figure.savefig(study.folder / "accuracies.png", dpi=80)
    plt.close(figure)


@STUDY.figure
def draw_masked(study: Study) -> None:
    """Above, a machine on the first two predictors of rows with and without a mask; below, a digit."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 6, figsize=(12, 4.2), layout="constrained")
    rows, _ = draw_rows("small", 0)
    tables = {"true rows": rows}
    for epsilon in EPSILONS:
        mask = MASKS["LS, γ = 1"](epsilon)
        tables[f"LS, γ = 1, ε = {epsilon:g}"] = mask_rows(mask, rows, "picture", epsilon)
    for axis, (title, table) in zip(axes[0], tables.items(), strict=True):
        draw_areas(axis, table)
        axis.set_title(title, size=9)
    axes[0, 0].set_ylabel("\n".join(list(COLUMNS)[1].rsplit("_", 2)), size=7)
    images = crop(read("test")[0][:1])
    shown = {"a digit": images[0]}
    for epsilon in EPSILONS:
        name = f"pseudo-quantum, ε = {epsilon:g}"
        shown[name] = published_mask("pseudo-quantum", epsilon, 0)(images, "picture")[0]
    for axis, (title, image) in zip(axes[1], shown.items(), strict=True):
        axis.imshow(image, cmap="gray", vmin=-0.1, vmax=1.1)
        axis.set_title(title, size=9)
        axis.axis("off")
    figure.savefig(study.folder / "masked.png", dpi=80)
    plt.close(figure)


def draw_areas(axis: Any, rows: Any) -> None:
    """What a support vector machine of two predictors says, and the rows that it learned from (4.4)."""
    from sklearn.svm import SVC

    x, y = rows[:, :2], rows[:, -1] > 0.5
    low, high = np.quantile(x, [0.01, 0.99], axis=0)
    grid = np.stack(np.meshgrid(*np.linspace(low, high, 60).T), axis=-1)
    areas = SVC(class_weight="balanced").fit(x, y).predict(grid.reshape(-1, 2))
    axis.contourf(
        *grid.transpose(2, 0, 1),
        areas.reshape(60, 60),
        levels=[-0.5, 0.5, 1.5],
        colors=("#20639b", "#b3452c"),
        alpha=0.2,
    )
    for label, colour in ((False, "#20639b"), (True, "#b3452c")):
        axis.scatter(*x[y == label].T, s=2, color=colour)
    axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
    axis.set_xlabel(next(iter(COLUMNS)), size=7)
