"""Naive Bayes of values (mushrooms, figures 19 to 28) and of numbers (iris, figures 29 to 37)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import published as report
import tables
from harness import Study, Summary, markdown, seed_of
from study import EPSILONS, STUDY, show

from discreet import testing
from discreet.models.naive_bayes import CategoricalNB, GaussianNB

__all__ = ["MEASURES"]

#: What the report prints of each model; all but accuracy are means over classes, weighted by their sizes, so
#: that recall is accuracy once more.
MEASURES = ("accuracy", "precision", "recall", "f1")
CATEGORICAL = ("published", "repaired", "repaired, at what was spent")
GAUSSIAN = ("published", "repaired")


def halves(size: int, seed: int, share: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Places of training and test rows: 70 and 30 of a hundred, as many as in the report."""
    order = np.random.default_rng([7, seed]).permutation(size)
    held = math.ceil(share * size)
    return order[held:], order[:held]


def measure(truth: Any, found: Any) -> dict[str, float]:
    """What the report prints, and each cell of the confusion matrix: rows are truths, columns predictions."""
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    scores = precision_recall_fscore_support(truth, found, average="weighted", zero_division=0)
    cells = confusion_matrix(truth, found, labels=np.unique(truth))
    named = dict(zip(MEASURES[1:], map(float, scores[:3]), strict=True))
    counts = {f"cell {i} {j}": float(cell) for (i, j), cell in np.ndenumerate(cells)}
    return {"accuracy": float(np.mean(truth == found)), **named, **counts}


@STUDY.experiment(EPSILONS, CATEGORICAL, repeats=30)
def categorical_bayes(epsilon: float, method: str, *, seed: int) -> dict[str, float]:
    x, y = tables.mushrooms()
    train, test = halves(len(y), seed)
    if method == "published":
        draw = np.random.default_rng(seed)
        model = report.CategoricalBayes(epsilon, draw).fit(x[train], y[train])
        return measure(y[test], model.predict(x[test]))
    spent = epsilon * (x.shape[1] if method.endswith("spent") else 1)
    values = [list(letters) for letters in tables.MUSHROOM.values()]
    with testing.fixed_noise(seed_of(epsilon, method, seed)):
        fitted = CategoricalNB(epsilon=spent, categories=values, classes=["e", "p"])
        fitted.fit(x[train], y[train])
    return measure(y[test], fitted.predict(x[test]))


@STUDY.experiment(("scikit-learn", "from scratch"), repeats=30)
def categorical_not_private(method: str, *, seed: int) -> dict[str, float]:
    from sklearn.naive_bayes import CategoricalNB as Plain
    from sklearn.preprocessing import OrdinalEncoder

    x, y = tables.mushrooms()
    train, test = halves(len(y), seed)
    larger = {"larger class": max(np.mean(y[test] == "e"), np.mean(y[test] == "p"))}
    if method == "from scratch":
        scratch = report.CategoricalBayes(None, np.random.default_rng(0)).fit(x[train], y[train])
        return measure(y[test], scratch.predict(x[test])) | larger
    codes = OrdinalEncoder().fit_transform(x)
    plain = Plain(min_categories=codes.max(axis=0).astype(int) + 1).fit(codes[train], y[train])
    return measure(y[test], plain.predict(codes[test])) | larger


@STUDY.experiment((*EPSILONS, 100.0), GAUSSIAN, repeats=200)
def gaussian_bayes(epsilon: float, method: str, *, seed: int) -> dict[str, float]:
    x, y = tables.iris()
    train, test = halves(len(y), seed)
    if method == "published":
        draw = np.random.default_rng(seed)
        found = report.gaussian_bayes(x[train], y[train], x[test], epsilon, draw)
        return measure(y[test], found)
    with testing.fixed_noise(seed_of(epsilon, method, seed)):
        model = GaussianNB(epsilon=epsilon, bounds=tables.IRIS, classes=[0, 1, 2])
        model.fit(x[train], y[train])
    return measure(y[test], model.predict(x[test]))


@STUDY.experiment(repeats=200)
def gaussian_not_private(*, seed: int) -> dict[str, float]:
    from sklearn.naive_bayes import GaussianNB as Plain

    x, y = tables.iris()
    train, test = halves(len(y), seed)
    return measure(y[test], Plain().fit(x[train], y[train]).predict(x[test]))


# -- tables

Lines = list[tuple[str, str, list[dict[str, Summary]]]]


def lines_of(study: Study, name: str, methods: tuple[str, ...], epsilons: Any) -> Lines:
    """Each budget's name, its place among the published figures, and what every method has there."""
    return [
        (show(epsilon), show(epsilon), [study.get(name, epsilon, method) for method in methods])
        for epsilon in epsilons
    ]


def plain_of(study: Study, kind: str) -> Lines:
    """The same for models without noise."""
    if kind == "gaussian":
        found = study.get("gaussian-not-private")
        return [("no noise, scikit-learn", "not private, scikit-learn", [found])]
    return [
        (
            f"no noise, {method}",
            f"not private, {method}",
            [study.get(f"{kind}-not-private", method)],
        )
        for method in ("scikit-learn", "from scratch")
    ]


def beside(study: Study, kind: str, methods: tuple[str, ...], lines: Lines, number: str) -> str:
    """One measure: as printed, and ours."""
    printed = study.published[kind]["reports"]
    rows = []
    for name, place, found in lines:
        ours = [str(each[number]) for each in found]
        told = f"{printed[place][number]:.4f}" if place in printed else "–"
        rows.append([name, told, *ours, *["–"] * (len(methods) - len(ours))])
    return markdown([f"ε: {number}", "printed", *methods], rows)


def matrices(study: Study, kind: str, methods: tuple[str, ...], lines: Lines) -> str:
    """Confusion matrices: as printed, and ours in the mean."""

    def mean_of(found: dict[str, Summary], size: int) -> str:
        cells = [[found[f"cell {i} {j}"] for j in range(size)] for i in range(size)]
        return "; ".join(", ".join(f"{c.mean:.1f} ± {c.error:.1f}" for c in row) for row in cells)

    printed = study.published[kind]["reports"]
    rows = []
    for name, place, found in lines:
        told = printed.get(place, {}).get("confusion", [])
        shown = "; ".join(", ".join(map(str, row)) for row in told) or "–"
        size = math.isqrt(sum(key.startswith("cell") for key in found[0]))
        ours = [mean_of(each, size) for each in found]
        rows.append([name, shown, *ours, *["–"] * (len(methods) - len(ours))])
    return markdown(["ε: rows are truths", "printed", *methods], rows)


def tables_of(
    study: Study, kind: str, methods: tuple[str, ...], epsilons: Any
) -> Callable[[str], str]:
    """The table of a measure; figures without noise stand below the others, in the first column of ours."""
    private = lines_of(study, f"{kind}-bayes", methods, epsilons)
    lines = private + plain_of(study, kind)

    def table(number: str) -> str:
        if number == "confusion":
            return matrices(study, kind, methods, lines)
        return beside(study, kind, methods, lines, number)

    return table


@STUDY.table("categorical-bayes", "categorical-not-private")
def mushrooms(study: Study) -> str:
    plain = study.get("categorical-not-private", "scikit-learn")
    table = tables_of(study, "categorical", CATEGORICAL, EPSILONS)
    told = f"The larger class: {plain['larger class']}. {plain['accuracy'].count} repetitions."
    return f"{table('accuracy')}\n\n{told}"


@STUDY.table("categorical-bayes", "categorical-not-private")
def mushroom_measures(study: Study) -> str:
    table = tables_of(study, "categorical", CATEGORICAL, EPSILONS)
    return "\n\n".join(table(number) for number in ("precision", "f1", "confusion"))


@STUDY.table("gaussian-bayes", "gaussian-not-private")
def iris(study: Study) -> str:
    table = tables_of(study, "gaussian", GAUSSIAN, (*EPSILONS, 100.0))
    return (
        f"{table('accuracy')}\n\n{study.get('gaussian-not-private')['accuracy'].count} repetitions."
    )


@STUDY.table("gaussian-bayes", "gaussian-not-private")
def iris_measures(study: Study) -> str:
    table = tables_of(study, "gaussian", GAUSSIAN, (*EPSILONS, 100.0))
    return "\n\n".join(table(number) for number in ("precision", "f1", "confusion"))
