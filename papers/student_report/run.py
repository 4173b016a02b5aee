"""The student report's experiments: as published, and repaired.

Run ``python papers/student_report/run.py`` (``--quick`` for two repetitions of each, ``--report`` for the
results that are there). It writes ``results.json``, the tables of ``README.md`` and the pictures.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import published as report
import tables
from harness import Study, Summary, markdown, seed_of

from discreet import testing
from discreet.models.cluster import KMeans
from discreet.models.linear_model import SimpleLinearRegression
from discreet.models.naive_bayes import CategoricalNB, GaussianNB

HERE = Path(__file__).parent
STUDY = Study(HERE)

EPSILONS = (0.1, 0.5, 1.0, 10.0)
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


def halves(size: int, seed: int, share: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Places of training and test rows: 70 and 30 of a hundred, as in the report."""
    order = np.random.default_rng([7, seed]).permutation(size)
    held = round(share * size)
    return order[held:], order[:held]


@STUDY.experiment(EPSILONS, ("published", "repaired", "repaired, at what was spent"), repeats=30)
def categorical_bayes(epsilon: float, method: str, *, seed: int) -> dict[str, float]:
    x, y = tables.mushrooms()
    train, test = halves(len(y), seed)
    if method == "published":
        model = report.CategoricalBayes(epsilon, np.random.default_rng(seed)).fit(
            x[train], y[train]
        )
        return {"accuracy": model.score(x[test], y[test])}
    spent = epsilon * (x.shape[1] if method.endswith("spent") else 1)
    values = [list(letters) for letters in tables.MUSHROOM.values()]
    with testing.fixed_noise(seed_of(epsilon, method, seed)):
        fitted = CategoricalNB(epsilon=spent, categories=values, classes=["e", "p"])
        fitted.fit(x[train], y[train])
    return {"accuracy": fitted.score(x[test], y[test])}


@STUDY.experiment(repeats=30)
def categorical_not_private(*, seed: int) -> dict[str, float]:
    from sklearn.naive_bayes import CategoricalNB as Plain
    from sklearn.preprocessing import OrdinalEncoder

    x, y = tables.mushrooms()
    train, test = halves(len(y), seed)
    codes = OrdinalEncoder().fit_transform(x)
    smallest = codes.max(axis=0).astype(int) + 1
    plain = Plain(min_categories=smallest).fit(codes[train], y[train])
    scratch = report.CategoricalBayes(None, np.random.default_rng(0)).fit(x[train], y[train])
    return {
        "scikit-learn": plain.score(codes[test], y[test]),
        "from scratch": scratch.score(x[test], y[test]),
        "larger class": max(np.mean(y[test] == "e"), np.mean(y[test] == "p")),
    }


@STUDY.experiment((*EPSILONS, 100.0), ("published", "repaired"), repeats=200)
def gaussian_bayes(epsilon: float, method: str, *, seed: int) -> dict[str, float]:
    x, y = tables.iris()
    train, test = halves(len(y), seed)
    if method == "published":
        draw = np.random.default_rng(seed)
        found = report.gaussian_bayes(x[train], y[train], x[test], epsilon, draw)
        return {"accuracy": float((found == y[test]).mean())}
    with testing.fixed_noise(seed_of(epsilon, method, seed)):
        model = GaussianNB(epsilon=epsilon, bounds=tables.IRIS, classes=[0, 1, 2])
        model.fit(x[train], y[train])
    return {"accuracy": model.score(x[test], y[test])}


@STUDY.experiment(repeats=200)
def gaussian_not_private(*, seed: int) -> dict[str, float]:
    from sklearn.naive_bayes import GaussianNB as Plain

    x, y = tables.iris()
    train, test = halves(len(y), seed)
    return {"accuracy": Plain().fit(x[train], y[train]).score(x[test], y[test])}


def r_squared(slope: float, intercept: float) -> float:
    x, y = tables.salaries()
    return float(1 - ((y - intercept - slope * x) ** 2).sum() / ((y - y.mean()) ** 2).sum())


#: The program as published, the same with noise for what it tells, and the median of lines.
METHODS = ("published", "noisy_stats", "theil_sen")


@STUDY.experiment(EPSILONS, METHODS, repeats=200)
def regression(epsilon: float, method: str, *, seed: int) -> dict[str, float]:
    x, y = tables.salaries()
    if method == "published":
        slope, intercept = report.regress(x, y, epsilon, np.random.default_rng(seed))
    else:
        with testing.fixed_noise(seed_of(epsilon, method, seed)):
            model = SimpleLinearRegression(
                epsilon=epsilon, method=method, bounds=tables.YEARS, target_bounds=tables.SALARY
            ).fit(x[:, None], y)
        slope, intercept = float(model.slope_), float(model.intercept_)
    return {"slope": slope, "r2": r_squared(slope, intercept)}


# -- tables


def shown(value: float) -> str:
    return format(value, "g")


@STUDY.table("clusters", "clusters-not-private")
def k_means(study: Study) -> str:
    plain = study.get("clusters-not-private")["inertia"]
    rows = [
        [
            shown(epsilon),
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


def beside(
    study: Study, name: str, key: str, methods: tuple[str, ...], epsilons: tuple[float, ...]
) -> str:
    """Published figures with ours."""
    printed = study.published[name.split("-")[0]][key]
    rows = []
    for epsilon in epsilons:
        ours = [study.get(name, epsilon, method)[key] for method in methods]
        rows.append([shown(epsilon), f"{printed.get(shown(epsilon), float('nan')):.4f}", *ours])
    return markdown(["ε", "printed", *methods], rows).replace("nan", "–")


@STUDY.table("categorical-bayes", "categorical-not-private")
def mushrooms(study: Study) -> str:
    methods = ("published", "repaired", "repaired, at what was spent")
    plain = study.get("categorical-not-private")
    return (
        beside(study, "categorical-bayes", "accuracy", methods, EPSILONS)
        + f"\n\nWithout noise: scikit-learn {plain['scikit-learn']} (printed 0.9524), from scratch "
        f"{plain['from scratch']} (printed 0.9975), the larger class {plain['larger class']}. "
        f"{plain['scikit-learn'].count} repetitions."
    )


@STUDY.table("gaussian-bayes", "gaussian-not-private")
def iris(study: Study) -> str:
    plain: Summary = study.get("gaussian-not-private")["accuracy"]
    return (
        beside(study, "gaussian-bayes", "accuracy", ("published", "repaired"), (*EPSILONS, 100.0))
        + f"\n\nWithout noise: {plain} (printed 0.9778). {plain.count} repetitions."
    )


@STUDY.table("regression")
def salaries(study: Study) -> str:
    printed = study.published["regression"]
    rows = []
    for epsilon in EPSILONS:
        found = {method: study.get("regression", epsilon, method) for method in METHODS}
        rows.append(
            [
                shown(epsilon),
                f"{printed['slope'][shown(epsilon)]:.0f}, {printed['r2'][shown(epsilon)]:.4f}",
                *(
                    f"{s['slope'].median:.0f} ({s['slope'].low:.0f} … {s['slope'].high:.0f}), "
                    f"{s['r2'].median:.4g} ({s['r2'].low:.3g} … {s['r2'].high:.3g})"
                    for s in found.values()
                ),
            ]
        )
    head = ["ε", "printed: slope, R²", "as published", "NoisyStats repaired", "Theil–Sen"]
    count = study.get("regression", 1.0, "noisy_stats")["r2"].count
    means = [
        [shown(e), *(lines_of(study.get("regression", e, m)) for m in METHODS)] for e in EPSILONS
    ]
    return (
        markdown(head, rows)
        + f"\n\nMedians with quartiles, {count} repetitions. Without noise: slope 9450, R² 0.9570. "
        + "Means of the same, which a few quotients with a denominator near 0 decide:\n\n"
        + markdown(["ε", *head[2:]], means)
    )


def lines_of(found: dict[str, Summary]) -> str:
    """Mean slope and R² with standard errors."""
    slope = found["slope"]
    return f"{slope.mean:.0f} ± {slope.error:.0f}, {found['r2']}"


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
