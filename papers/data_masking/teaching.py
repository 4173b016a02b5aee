"""What else masked rows are good for: other classifiers, and how far they are from the private rows.

The paper says that masked data "enables other types of classifiers to be trained" and is "as different as
possible" from the private rows. Beside it stand a private synthetic table of the same ε, and true rows.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from harness import DATA, Study, choose_size, markdown, seed_of
from study import STUDY

import discreet as dp
from discreet import testing
from discreet.publish import MaskedData, Synthesizer

__all__ = ["KINDS", "LEARNERS", "MADE"]

#: Numbers of Adult, with bounds that anyone may know.
COLUMNS = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 20_000),
    "capital-loss": (0, 3000),
    "hours-per-week": (1, 99),
}
FILES = ("adult_train.csv.gz", "adult_test.csv.gz")
MADE, DELTA = 3000, 1e-6
#: Rows that are made up, and at which ε.
KINDS = {
    "true rows, not private": ("true", 0.0),
    "masked rows, ε = 1": ("masked", 1.0),
    "synthetic rows, ε = 1": ("synthetic", 1.0),
    "masked rows, ε = 10": ("masked", 10.0),
}
LEARNERS = ("logistic regression", "random forest", "naive Bayes", "15 neighbours")


@cache
def read(part: int) -> tuple[Any, Any]:
    """Numbers scaled to [0, 1] by the bounds, and whether an income is above 50 000."""
    import pandas as pd

    frame = pd.read_csv(DATA / FILES[part], skipinitialspace=True)
    low, high = np.array(list(COLUMNS.values()), np.float64).T
    x = np.clip((frame[list(COLUMNS)].to_numpy(np.float64) - low) / (high - low), 0, 1)
    return x, frame["income"].str.startswith(">50K").to_numpy(np.int64)


def make_rows(kind: str, epsilon: float, x: Any, y: Any, seed: int) -> tuple[Any, Any]:
    """3000 rows with labels: the first ones, masked ones, or those of a private synthetic table."""
    if kind == "true":
        return x[:MADE], y[:MADE]
    if kind == "masked":
        masked = MaskedData(
            epsilon=epsilon, bounds=(0, 1), classes=[0, 1], samples=MADE, random_state=seed
        ).fit(x, y)
        return masked.X_, masked.y_
    schema = dp.Schema({**dict.fromkeys(COLUMNS, dp.Real(0, 1)), "income": dp.Categorical(0, 1)})
    columns = {name: x[:, at] for at, name in enumerate(COLUMNS)} | {"income": y}
    ledger = dp.Ledger(limit=dp.ApproxDP(epsilon, DELTA))
    data = dp.PrivateDataset(columns, schema, ledger=ledger)
    made = Synthesizer(epsilon, DELTA, target="income").fit(data).sample(MADE, random_state=seed)
    known = np.array([label is not None for label in made["income"]])
    rows = np.column_stack([np.asarray(made[name], object) for name in COLUMNS])[known]
    labels = np.asarray(made["income"], object)[known]
    return np.nan_to_num(rows.astype(np.float64)), labels.astype(np.int64)


def make_learners() -> dict[str, Any]:
    """scikit-learn's classifiers, with its defaults but for the number of neighbours."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    found = (
        LogisticRegression(),
        RandomForestClassifier(random_state=0),
        GaussianNB(),
        KNeighborsClassifier(15),
    )
    return dict(zip(LEARNERS, found, strict=True))


def measure_distance(made: Any, real: Any, others: Any) -> dict[str, float]:
    """How far made-up rows are from private ones, and how well they are told from other real rows."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import NearestNeighbors

    nearest = NearestNeighbors(n_neighbors=1).fit(real)
    far, usual = (nearest.kneighbors(rows)[0].mean() for rows in (made, others))
    rows = np.vstack([made, others[: len(made)]])
    which = np.arange(len(rows)) < len(made)
    told = cross_val_score(RandomForestClassifier(random_state=0), rows, which, cv=4)
    return {
        "distance": float(far),
        "distance of real rows": float(usual),
        "told": float(told.mean()),
    }


@STUDY.experiment(KINDS, repeats=5, quick=1, needs=FILES)
def teaching(kind: str, *, seed: int) -> dict[str, float]:
    """Balanced accuracies on Adult's test rows, and distances to Adult's training rows."""
    (x, y), (others, truth) = read(0), read(1)
    draw = np.random.default_rng(seed)
    chosen = draw.permutation(len(x))[: choose_size(len(x), 8000)]
    x, y = x[chosen], y[chosen]
    name, epsilon = KINDS[kind]
    with testing.fixed_noise(seed_of(kind, seed)):
        rows, labels = make_rows(name, epsilon, x, y, seed)
    found = {}
    for learner, model in make_learners().items():
        right = model.fit(rows, labels).predict(others) == truth
        found[learner] = float((right[truth == 1].mean() + right[truth == 0].mean()) / 2)
        found[f"{learner}, accuracy"] = float(right.mean())
    away = draw.permutation(len(others))[:MADE]
    private = x[MADE:] if name == "true" else x  # the first ones are the published rows
    return found | measure_distance(rows, private, others[away])


@STUDY.table("teaching")
def other_classifiers(study: Study) -> str:
    rows = [
        [kind, *(f"{found[name]}, {found[f'{name}, accuracy'].mean:.3f}" for name in LEARNERS)]
        for kind in KINDS
        for found in (study.get("teaching", kind),)
    ]
    count = study.get("teaching", "masked rows, ε = 1")["distance"].count
    head = ["balanced accuracy, accuracy", *LEARNERS]
    return f"{markdown(head, rows)}\n\n{count} repetitions."


@STUDY.table("teaching")
def distances(study: Study) -> str:
    rows = []
    for kind in KINDS:
        found = study.get("teaching", kind)
        rows.append([kind, found["distance"], found["told"]])
    usual = study.get("teaching", "masked rows, ε = 1")["distance of real rows"]
    head = ["rows", "mean distance to the nearest private row", "told from real rows"]
    return (
        f"{markdown(head, rows)}\n\n{usual.count} repetitions; rows of the test part are {usual} from the "
        "nearest private one. Columns run from 0 to 1; a forest tells rows apart, half of which are made up."
    )
