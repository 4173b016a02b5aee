"""The student report's experiments: as published, and repaired. Clusters are here, the rest beside it.

Run ``python papers/student_report/run.py`` (``--quick`` for two repetitions of each, ``--report`` for the
results that are there). It writes ``results.json``, the tables of ``README.md`` and the pictures.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import bayes  # noqa: F401
import lines  # noqa: F401
import published as report
import tables
from harness import Study, markdown, seed_of
from study import STUDY, show

from discreet import testing
from discreet.models.cluster import KMeans, elbow

HERE = Path(__file__).parent

CLUSTER_EPSILONS = (0.01, 0.1, 0.5, 1.0, 10.0)


def scaled(points: tables.Floats) -> tables.Floats:
    """Students as the report scales them: to [0, 1] by the rows' own range."""
    rows = tables.students()
    return (points - rows.min(axis=0)) / np.ptp(rows, axis=0)


def inertia(centres: tables.Floats) -> float:
    """The sum of squared distances of the scaled students to the nearest centre."""
    return float(
        ((scaled(tables.students())[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum()
    )


@STUDY.experiment(CLUSTER_EPSILONS, ("published", "repaired"), repeats=100)
def clusters(epsilon: float, method: str, *, seed: int) -> dict[str, float]:
    rows = tables.students()
    if method == "published":
        found = report.cluster(scaled(rows), epsilon, np.random.default_rng(seed))
    else:
        with testing.fixed_noise(seed_of(epsilon, method, seed)):
            model = KMeans(4, epsilon=epsilon, bounds=tables.STUDENTS, expected_rows=200).fit(rows)
        found = scaled(model.cluster_centers_)
    return {"inertia": inertia(found)}


@STUDY.experiment(repeats=5)
def clusters_not_private(*, seed: int) -> dict[str, float]:
    from sklearn.cluster import KMeans as Lloyd

    model = Lloyd(4, n_init=10, random_state=seed).fit(scaled(tables.students()))
    return {"inertia": float(model.inertia_)}


#: Numbers of clusters that figure 11 tries.
NUMBERS = tuple(range(1, 11))


@STUDY.experiment((0.1, 0.5, 1.0, 10.0), repeats=50)
def elbow_of_students(epsilon: float, *, seed: int) -> dict[str, float]:
    """Figure 11 for one charge: inertias of a noised summary, and where their curve bends."""
    with testing.fixed_noise(seed_of("elbow", epsilon, seed)):
        model = KMeans(
            epsilon=epsilon, bounds=tables.STUDENTS, expected_rows=200, random_state=seed
        )
        found = elbow(model, tables.students(), NUMBERS)
    curve = {f"inertia of {k}": float(v) for k, v in zip(NUMBERS, found.inertia, strict=True)}
    suggested = found.suggested or 0
    return {"is 4": suggested == 4, "is 3 to 5": 3 <= suggested <= 5, "bend": suggested} | curve


@STUDY.experiment(repeats=20)
def elbow_not_private(*, seed: int) -> dict[str, float]:
    from sklearn.cluster import KMeans as Lloyd

    points = tables.students() - np.array(tables.STUDENTS[0])
    unit = points / (np.array(tables.STUDENTS[1]) - tables.STUDENTS[0])
    found = {k: Lloyd(k, n_init=10, random_state=seed).fit(unit) for k in NUMBERS}
    return {f"inertia of {k}": float(model.inertia_) for k, model in found.items()} | {
        "rounds for 4": Lloyd(4, n_init=1, random_state=seed).fit(scaled(tables.students())).n_iter_
    }


# -- tables


@STUDY.table("clusters", "clusters-not-private")
def k_means(study: Study) -> str:
    plain = study.get("clusters-not-private")["inertia"]
    rows = [
        [
            show(epsilon),
            study.get("clusters", epsilon, "published")["inertia"].middle,
            study.get("clusters", epsilon, "published")["inertia"],
            study.get("clusters", epsilon, "repaired")["inertia"].middle,
            study.get("clusters", epsilon, "repaired")["inertia"],
        ]
        for epsilon in CLUSTER_EPSILONS
    ]
    count = study.get("clusters", 1.0, "repaired")["inertia"].count
    head = ["ε", "as published: median (quartiles)", "mean", "repaired: median (quartiles)", "mean"]
    return f"{markdown(head, rows)}\n\nWithout noise: {plain.mean:.4g}. {count} repetitions."


@STUDY.table("elbow-of-students", "elbow-not-private")
def bend(study: Study) -> str:
    plain = study.get("elbow-not-private")
    rows = [["no noise", "–", "–", *(f"{plain[f'inertia of {k}'].mean:.3g}" for k in NUMBERS[:6])]]
    for epsilon in (0.1, 0.5, 1.0, 10.0):
        found = study.get("elbow-of-students", epsilon)
        curve = (
            f"{s.mean:.3g} ± {s.error:.2g}" for s in (found[f"inertia of {k}"] for k in NUMBERS[:6])
        )
        rows.append([show(epsilon), found["is 4"], found["is 3 to 5"], *curve])
    head = ["ε", "share that suggests 4", "3 to 5", *(f"k = {k}" for k in NUMBERS[:6])]
    count = study.get("elbow-of-students", 1.0)["is 4"].count
    rounds = plain["rounds for 4"]
    return (
        f"{markdown(head, rows)}\n\nInertias of the noised summary in the scale of the bounds; "
        f"{count} repetitions. Lloyd's k-means without noise ends after {rounds} rounds in the report's "
        f"scale ({rounds.count} starts; the report counts 4)."
    )


@STUDY.figure
def draw(study: Study) -> None:
    """Figure 18: inertia against ε."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    for method, colour in (("published", "#b3452c"), ("repaired", "#20639b")):
        found = [study.get("clusters", e, method)["inertia"] for e in CLUSTER_EPSILONS]
        axis.plot(CLUSTER_EPSILONS, [s.median for s in found], "o-", color=colour, label=method)
        low, high = [s.low for s in found], [s.high for s in found]
        axis.fill_between(CLUSTER_EPSILONS, low, high, color=colour, alpha=0.2)
    plain = study.get("clusters-not-private")["inertia"].mean
    axis.axhline(plain, color="grey", label="no noise")
    title = "Inertia: median and quartiles"
    axis.set(xscale="log", yscale="log", xlabel="ε", ylabel="inertia", title=title)
    axis.legend()
    figure.savefig(HERE / "inertia.png", dpi=80)
    plt.close(figure)


@STUDY.figure
def draw_centres(study: Study) -> None:
    """Figures 13 to 17: the centres of one run for each ε, as published and repaired."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    rows = tables.students()
    points = scaled(rows)
    figure, panels = plt.subplots(2, 5, figsize=(13, 5.4), layout="constrained", sharey=True)
    for column, epsilon in enumerate(CLUSTER_EPSILONS):
        with testing.fixed_noise(0):
            model = KMeans(4, epsilon=epsilon, bounds=tables.STUDENTS, expected_rows=200).fit(rows)
        centres = {
            "published": report.cluster(points, epsilon, np.random.default_rng(0)),
            "repaired": scaled(model.cluster_centers_),
        }
        for axis, (title, found) in zip(panels[:, column], centres.items(), strict=True):
            axis.scatter(*points.T, s=5, color="#888888")
            axis.scatter(*found.T, marker="X", s=90, color="#b3452c", edgecolor="black")
            axis.set(xlim=(-0.3, 1.3), ylim=(-0.3, 1.3), title=f"{title}, ε = {epsilon:g}")
            beyond = int((~((found >= -0.3) & (found <= 1.3)).all(axis=1)).sum())
            if beyond:
                words = f"{beyond} of 4 beyond these axes"
                axis.text(0.97, 0.03, words, transform=axis.transAxes, ha="right")
    figure.supxlabel("grades")
    figure.supylabel("intelligence quotient")
    figure.savefig(HERE / "clusters.png", dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    if not tables.is_there():
        sys.exit(f"The tables were not found in {tables.DATA}: set DISCREET_DATA to their folder.")
    STUDY.main()
