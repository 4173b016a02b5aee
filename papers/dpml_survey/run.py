"""The survey's mechanisms on one real table, its trade-offs, and its formulas that fail.

Run ``python papers/dpml_survey/run.py`` (``--quick`` for one or two repetitions of each, ``--report`` for the
results that are there). It writes ``results.json``, the tables of ``README.md`` and the picture. DP-SGD and
the hospitals need PyTorch; they are left out, and said to be, where it isn't installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import attacks  # noqa: F401
import digits  # noqa: F401
import hospitals  # noqa: F401
import regression  # noqa: F401
import shapes  # noqa: F401
import table
from harness import Study, markdown, seed_of
from study import DELTA, EPSILONS, STUDY

import discreet as dp
from discreet import testing
from discreet.models.boosting import AdditiveBoostingClassifier
from discreet.models.linear_model import LogisticRegression
from discreet.models.m_estimation import HistogramMEstimator
from discreet.models.naive_bayes import MixedNB
from discreet.models.svm import LinearSVC
from discreet.models.tree import DecisionTreeClassifier, RandomDecisionForest
from discreet.publish import RowPerturbation

HERE = Path(__file__).parent


def pure(kind: Any, **options: Any) -> Callable[[float], Any]:
    return lambda epsilon: kind(epsilon=epsilon, **options)


def approximate(kind: Any, **options: Any) -> Callable[[float], Any]:
    return lambda epsilon: kind(epsilon=epsilon, delta=DELTA, **options)


#: Each mechanism of sections 3 and 4 that learns a class, with where the survey has it.
MODELS: dict[str, Callable[[float], Any]] = {
    "objective perturbation (3.1)": approximate(LogisticRegression),
    "output perturbation (3.1)": approximate(LogisticRegression, method="output"),
    "functional mechanism, five numbers (3.1)": approximate(
        LogisticRegression, method="functional"
    ),
    "perturbed histogram, three numbers (3.1, B.3)": approximate(HistogramMEstimator),
    "support vectors (3.1)": approximate(LinearSVC),
    "naive Bayes (3.2)": approximate(MixedNB),
    "a tree, choices by noise (3.3)": pure(DecisionTreeClassifier),
    "random trees (3.3)": approximate(RandomDecisionForest),
    "boosted shapes (not in the survey)": approximate(AdditiveBoostingClassifier),
}

#: Mechanisms that need few columns, with theirs.
COLUMNS = {
    "functional mechanism, five numbers (3.1)": table.NUMBERS,
    "perturbed histogram, three numbers (3.1, B.3)": ("age", "education_num", "hours_per_week"),
}


def score(predicted: Any) -> dict[str, float]:
    right = (np.asarray(predicted) == ">50K") == table.truth(1)
    sides = [right[table.truth(1)].mean(), right[~table.truth(1)].mean()]
    return {"accuracy": right.mean(), "balanced": float(np.mean(sides))}


@STUDY.experiment(EPSILONS, tuple(MODELS), repeats=5, quick=1)
def mechanisms(epsilon: float, method: str, *, seed: int) -> dict[str, float]:
    model = MODELS[method](epsilon)
    names = COLUMNS.get(method)
    chosen = (*names, table.TARGET) if names else None
    with testing.fixed_noise(seed_of(epsilon, method, seed)):
        model.fit(table.private(chosen, measure=dp.ApproxDP(epsilon, DELTA)), target=table.TARGET)
    test = table.features(1)
    return score(model.predict({name: test[name] for name in names} if names else test))


@STUDY.experiment(EPSILONS, (0.0, 0.1, 0.3), repeats=5, quick=1)
def bayes_weighing(epsilon: float, correlation: float, *, seed: int) -> dict[str, float]:
    """What naive Bayes loses and gains where columns that say the same are believed only once."""
    from sklearn.metrics import log_loss, roc_auc_score

    model = MixedNB(epsilon=epsilon, delta=DELTA, correlation=correlation)
    with testing.fixed_noise(seed_of(epsilon, "weighing", seed)):
        model.fit(table.private(measure=dp.ApproxDP(epsilon, DELTA)), target=table.TARGET)
    given = model.predict_proba(table.features(1))[:, list(model.classes_).index(">50K")]
    share = float(table.truth(0).mean())
    at_share = score(np.where(given > share, ">50K", "<=50K"))["balanced"]
    return score(np.where(given > 0.5, ">50K", "<=50K")) | {
        "auc": float(roc_auc_score(table.truth(1), given)),
        "log loss": float(log_loss(table.truth(1), given)),
        "balanced at the share": at_share,
    }


@STUDY.experiment(EPSILONS, repeats=5, quick=1)
def input_perturbation(epsilon: float, *, seed: int) -> dict[str, float]:
    """Everybody randomises their own row (section 3.1, and local DP of 5.3); then anyone may learn."""
    from sklearn.linear_model import LogisticRegression as Plain

    channel = RowPerturbation(table.schema(), epsilon=epsilon, delta=DELTA, target=table.TARGET)
    with testing.fixed_noise(seed_of(epsilon, seed)):
        told = channel.randomize(table.read(0))
    labels = np.asarray(told.pop(table.TARGET))
    model = Plain(max_iter=300).fit(table.encode(told), labels)
    return score(model.predict(table.encoded(1)))


@STUDY.experiment(repeats=1, quick=1)
def not_private(*, seed: int) -> dict[str, float]:
    from sklearn.linear_model import LogisticRegression as Plain

    labels = table.read(0)[table.TARGET]
    model = Plain(max_iter=300).fit(table.encoded(0), labels)
    found = score(model.predict(table.encoded(1)))
    return found | {"larger class": float(max(table.truth(1).mean(), 1 - table.truth(1).mean()))}


@STUDY.experiment((0.05, 0.1, 0.3, 1.0, 3.0, 10.0), repeats=30)
def one_weight(epsilon: float, *, seed: int) -> dict[str, float]:
    """Figure 5b: one weight of a linear model, again and again."""
    data = table.private((*table.NUMBERS, table.TARGET), measure=dp.ApproxDP(epsilon, DELTA))
    with testing.fixed_noise(seed_of(epsilon, seed)):
        model = LogisticRegression(epsilon=epsilon, delta=DELTA).fit(data, target=table.TARGET)
    return {"weight": float(model.coef_[0, 0])}


GROUPS = {"women": ("sex", "Female"), "men": ("sex", "Male"), "Black": ("race", "Black")}


def by_group(predicted: Any) -> dict[str, float]:
    right = (np.asarray(predicted) == ">50K") == table.truth(1)
    found = {"everybody": float(right.mean())}
    for name, (column, value) in GROUPS.items():
        positive = (table.read(1)[column] == value) & table.truth(1)
        found[name] = float(right[table.read(1)[column] == value].mean())
        found[f"{name}, above 50K"] = float(right[positive].mean())
    return found


#: Teachers vote on test rows without their labels, as on rows that anyone may see.
KINDS = ("not private", "objective perturbation", "PATE")


@STUDY.experiment(KINDS, repeats=5, quick=1)
def fairness(kind: str, *, seed: int) -> dict[str, float]:
    """Section 5.2 at (1, 1e-6): whose accuracy falls?"""
    from sklearn.linear_model import LogisticRegression as Plain

    if kind == "not private":
        model = Plain(max_iter=300).fit(table.encoded(0), table.read(0)[table.TARGET])
        return by_group(model.predict(table.encoded(1)))
    data = table.private(measure=dp.ApproxDP(1, DELTA))
    with testing.fixed_noise(seed_of(kind, seed)):
        if kind == "PATE":
            from discreet.deep import PATE

            private = PATE(n_teachers=100, n_queries=500, epsilon=1, delta=DELTA)
            private.fit(data, target=table.TARGET, public=table.features(1))
        else:
            private = LogisticRegression(epsilon=1, delta=DELTA).fit(data, target=table.TARGET)
    return by_group(private.predict(table.features(1)))


@STUDY.experiment(repeats=5, quick=1, needs=("torch",))
def fairness_of_dp_sgd(*, seed: int) -> dict[str, float]:
    """The same for a network, which needs PyTorch."""
    from discreet.deep import MLPClassifier

    data = table.private(measure=dp.ApproxDP(1, DELTA))
    with testing.fixed_noise(seed_of("DP-SGD", seed)):
        private = MLPClassifier(epsilon=1, delta=DELTA, expected_rows=30_000)
        private.fit(data, target=table.TARGET)
    return by_group(private.predict(table.features(1)))


# -- tables


@STUDY.table("mechanisms", "input-perturbation", "not-private")
def adult(study: Study) -> str:
    def line(name: str, found: Callable[[float], dict[str, Any]]) -> list[str]:
        return [
            name,
            *(f"{found(e)['accuracy']}, {found(e)['balanced']}" for e in EPSILONS),
        ]

    rows = [line("input perturbation (3.1, 5.3)", lambda e: study.get("input-perturbation", e))]
    rows += [line(m, lambda e, m=m: study.get("mechanisms", e, m)) for m in MODELS]
    plain = study.get("not-private")
    count = study.get("mechanisms", 1.0, next(iter(MODELS)))["accuracy"].count
    return (
        markdown(["mechanism", *(f"ε = {e:g}" for e in EPSILONS)], rows)
        + f"\n\nAccuracy, balanced accuracy; {count} repetitions. Not private: {plain['accuracy'].mean:.4f}, "
        f"{plain['balanced'].mean:.3f}. The larger class: {plain['larger class'].mean:.4f}."
    )


@STUDY.table("one-weight")
def figure_5(study: Study) -> str:
    rows = []
    for epsilon in (0.05, 0.1, 0.3, 1.0, 3.0, 10.0):
        found = study.get("one-weight", epsilon)["weight"]
        spread = found.error * np.sqrt(found.count)
        rows.append([f"{epsilon:g}", found, f"{spread:.3g}", found.middle])
    head = ["ε", "mean weight of age", "standard deviation", "median (quartiles)"]
    return f"{markdown(head, rows)}\n\n{study.get('one-weight', 1.0)['weight'].count} repetitions."


@STUDY.table("fairness")
def groups(study: Study) -> str:
    found = {kind: study.get("fairness", kind) for kind in KINDS}
    if "fairness-of-dp-sgd" in study.found:
        found["DP-SGD"] = study.get("fairness-of-dp-sgd")
    rows = [[name, *(each[name] for each in found.values())] for name in found["PATE"]]
    count = found["PATE"]["everybody"].count
    return f"{markdown(['accuracy for', *found], rows)}\n\n{count} repetitions."


@STUDY.table("bayes-weighing")
def weighing(study: Study) -> str:
    keys = ("accuracy", "balanced", "balanced at the share", "auc", "log loss")
    rows = []
    for epsilon in EPSILONS:
        for correlation in (0.0, 0.1, 0.3):
            found = study.get("bayes-weighing", epsilon, correlation)
            rows.append([f"{epsilon:g}", f"{correlation:g}", *(found[key] for key in keys)])
    head = ["ε", "`correlation`", "accuracy", "balanced", "balanced, told above the class's share"]
    count = study.get("bayes-weighing", 1.0, 0.3)["auc"].count
    told = f"{count} repetitions; 0.3 is the default."
    return f"{markdown([*head, 'AUC', 'log loss'], rows)}\n\n{told}"


@STUDY.figure
def draw(study: Study) -> None:
    """Figure 5b: the spread of one weight against ε."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
    epsilons = (0.05, 0.1, 0.3, 1.0, 3.0, 10.0)
    found = [study.get("one-weight", e)["weight"] for e in epsilons]
    spread = np.array([s.error * np.sqrt(s.count) for s in found])
    mean = np.array([s.mean for s in found])
    axis.fill_between(epsilons, mean - spread, mean + spread, color="#20639b", alpha=0.25)
    axis.plot(epsilons, mean, "o-", color="#20639b")
    axis.set(
        xscale="log",
        xlabel="ε",
        ylabel="weight of age",
        title="Mean and standard deviation of a weight",
    )
    figure.savefig(HERE / "weight.png", dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    if not table.is_there():
        sys.exit(f"Adult was not found in {table.DATA}: set DISCREET_DATA to its folder.")
    STUDY.main()
