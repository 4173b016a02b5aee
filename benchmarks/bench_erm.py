"""Risk minimisation: time against scikit-learn, kernels against lines, accuracy and default Λ on real tables.

Run ``python benchmarks/bench_erm.py``, or with some of the words times, kernels, adult, regret for those
parts. Scores are means over ten fits with fresh noise (and fresh splits, but for Adult); times are the best
of interleaved repetitions in this one run. Tables are read from ``DISCREET_DATA`` (by default
``../shared/data`` beside the repository) and left out if absent. The defaults were chosen by accuracy on
Adult's test part and by the regrets below: these scores are optimistic. The exit status is the number of bars
missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from real_tables import DATA, has_tables
from sklearn import linear_model as plain

import discreet as dp
from discreet.models.linear_model import LogisticRegression
from discreet.models.svm import SVC, LinearSVC

ADULT = {
    "age": (17, 90),
    "fnlwgt": (0, 1.5e6),
    "education_num": (1, 16),
    "capital_gain": (0, 1e5),
    "capital_loss": (0, 5000),
    "hours_per_week": (1, 99),
}
SEEDS, ROUNDS, ROWS, COLUMNS, SLOWER = 10, 5, 1_000_000, 20, 3.0
DELTA = 1e-6
EPSILONS = (0.1, 1, 10)
QUICK = {"SEEDS": 1, "ROUNDS": 1, "ROWS": 1000, "EPSILONS": (1,)}

missed = 0


def show(what: str, value: float, bar: float | None = None, *, most: bool = False) -> None:
    """Print a figure, beside its bar if it has one."""
    global missed
    if bar is None:
        print(f"{what:62} {value:9.4f}", flush=True)
        return
    good = value <= bar if most else value >= bar
    missed += not good
    sign = "at most" if most else "at least"
    print(f"{what:62} {value:9.4f}   {sign} {bar:g}  {'PASS' if good else 'FAIL'}", flush=True)


def adult() -> tuple[Any, Any, dp.Schema]:
    """Train and test tables, and the schema of all columns; its categories are those of the census form."""
    import pandas as pd

    tables = []
    for part in ("train", "test"):
        table = pd.read_csv(DATA / f"adult_{part}.csv.gz").fillna("?")
        table.columns = [name.replace("-", "_") for name in table.columns]
        tables.append(table)
    both = pd.concat(tables)
    columns: dict[str, Any] = {}
    for name in both.columns:
        if name in ADULT:
            columns[name] = dp.Real(*ADULT[name])
        else:
            columns[name] = dp.Categorical(*sorted(set(both[name])))
    return tables[0], tables[1], dp.Schema(columns)


def accuracies(train: Any, test: Any, schema: dp.Schema) -> None:
    """Means over fits, with the default Λ."""
    few = [*ADULT, "income"]
    small = dp.Schema({name: schema.base[name] for name in few})

    def score(kind: Any, table: Any, domain: dp.Schema, **options: Any) -> float:
        names = list(domain.base)
        found = []
        for _ in range(SEEDS):
            model = kind(schema=domain, expected_rows=30_000, **options)
            model.fit(table[names], target="income")
            found.append(model.score(test[names[:-1]], test["income"]))
        return float(np.mean(found))

    bars = {0.1: 0.795, 1: 0.810, 10: 0.812}
    for epsilon in EPSILONS:
        value = score(LogisticRegression, train, small, epsilon=epsilon)
        show(f"six numbers, logistic, objective, ε = {epsilon:g}", value, bars[epsilon])
    for epsilon, bar in {1: 0.84, 4: 0.849}.items():
        value = score(LogisticRegression, train, schema, epsilon=epsilon, delta=DELTA)
        show(f"all columns, logistic, objective, ε = {epsilon:g}, δ = 1e-6", value, bar)
    for epsilon in EPSILONS:
        for method in ("output", "functional"):
            value = score(LogisticRegression, train, small, epsilon=epsilon, method=method)
            show(f"six numbers, logistic, {method}, ε = {epsilon:g}", value)
        value = score(LinearSVC, train, small, epsilon=epsilon)
        show(f"six numbers, LinearSVC, objective, ε = {epsilon:g}", value)


def times() -> None:
    """A fit of a million rows, against scikit-learn's."""
    draw = np.random.default_rng(0)
    x = draw.uniform(-1, 1, (ROWS, COLUMNS))
    y = (x @ draw.normal(size=COLUMNS) + draw.logistic(size=ROWS) > 0).astype(np.int64)
    best = [np.inf, np.inf]
    for _ in range(ROUNDS):
        for at, model in enumerate(
            (
                LogisticRegression(epsilon=1, bounds=(-1, 1), classes=[0, 1]),
                plain.LogisticRegression(tol=1e-4),
            )
        ):
            start = time.perf_counter()
            model.fit(x, y)
            best[at] = min(best[at], time.perf_counter() - start)
    show("1e6 × 20, seconds", best[0])
    show("1e6 × 20, scikit-learn's seconds", best[1])
    show("1e6 × 20, ratio to scikit-learn", best[0] / best[1], SLOWER, most=True)


def split_scores(kind: Any, table: tuple[Any, Any, Any], **options: Any) -> tuple[float, float]:
    """Means of the accuracy and of Λ over splits of 7 : 3."""
    x, y, bounds = table
    found = []
    for seed in range(SEEDS):
        order = np.random.default_rng(seed).permutation(len(x))
        train, test = np.split(order, [len(x) * 7 // 10])
        model = kind(bounds=bounds, classes=[0, 1], expected_rows=len(train), **options)
        model.fit(x[train], y[train])
        found.append((model.score(x[test], y[test]), model.alpha_))
    return tuple(np.mean(found, axis=0).tolist())  # type: ignore[return-value]


def rings() -> tuple[Any, Any, Any]:
    """A disc in a square, one label in twenty wrong: no line tells."""
    draw = np.random.default_rng(0)
    x = draw.uniform(-1, 1, (6000, 2))
    y = (x**2).sum(axis=1) < 0.6
    return x, (y ^ (draw.random(len(x)) < 0.05)).astype(int), (-1, 1)


def read(name: str, target: str, positive: Any, bounds: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Columns and labels of a table, with the bounds that are declared here."""
    import pandas as pd

    path = DATA / name
    table = pd.read_parquet(path) if name.endswith("parquet") else pd.read_csv(path)
    if len(table) > 50_000:
        table = table.sample(20_000, random_state=0)
    y = (table[target].astype(str).str.strip() == str(positive)).to_numpy(int)
    assert 0 < y.sum() < len(y)
    return table[list(bounds)].to_numpy(float), y, tuple(zip(*bounds.values(), strict=True))


def banknote() -> tuple[Any, Any, Any]:
    """The banknote table; its columns are moments of wavelet coefficients."""
    import pandas as pd

    table = pd.read_csv(DATA / "banknote_authentication.csv.gz").to_numpy(float)
    return table[:, :-1], table[:, -1].astype(int), ((-8, -14, -6, -9), (7, 13, 18, 3))


def kernels() -> None:
    """Where no line tells, or a line tells less."""
    budgets = ((1, 0), (1, DELTA), (4, DELTA))
    tables = {"disc": rings()}
    if has_tables("banknote", "banknote_authentication.csv.gz"):
        tables["banknote"] = banknote()
    for name, table in tables.items():
        for epsilon, delta in budgets:
            line, _ = split_scores(LinearSVC, table, epsilon=epsilon, delta=delta)
            curve, _ = split_scores(SVC, table, epsilon=epsilon, delta=delta)
            what = f"{name}, ε = {epsilon}, δ = {delta:g}"
            show(f"{what}, LinearSVC", line)
            must = name == "disc" or epsilon == 4
            show(f"{what}, SVC", curve, line if must else None)


WDBC_TENS = (
    (0, 40), (0, 50), (0, 250), (0, 3000), (0, 0.2), (0, 0.4), (0, 0.5), (0, 0.25), (0, 0.4), (0, 0.1),
    (0, 3), (0, 5), (0, 25), (0, 600), (0, 0.04), (0, 0.15), (0, 0.4), (0, 0.06), (0, 0.08), (0, 0.03),
    (0, 40), (0, 50), (0, 300), (0, 5000), (0, 0.25), (0, 1.1), (0, 1.3), (0, 0.3), (0, 0.7), (0, 0.25),
)  # fmt: skip


def wdbc() -> tuple[Any, Any, Any]:
    """Breast cancer in Wisconsin, all thirty measurements."""
    import pandas as pd

    path = DATA / "breast_cancer_wdbc.csv.gz"
    names = [n for n in pd.read_csv(path, nrows=1).columns if n != "diagnosis"]
    return read(path.name, "diagnosis", "M", dict(zip(names, WDBC_TENS, strict=True)))


#: Table, class, its name, and bounds that a person would declare.
REGRETTED: dict[str, tuple[str, str, Any, dict[str, Any]]] = {
    "pima": ("pima_diabetes.csv.gz", "outcome", 1, {
        "pregnancies": (0, 17), "glucose": (0, 200), "blood_pressure": (0, 125),
        "skin_thickness": (0, 100), "insulin": (0, 850), "bmi": (0, 70),
        "diabetes_pedigree": (0, 2.5), "age": (20, 85)}),
    "bank": ("bank_marketing_full.csv.gz", "y", "yes", {
        "age": (18, 100), "balance": (-1e4, 1e5), "day": (1, 31), "duration": (0, 4000),
        "campaign": (1, 50), "pdays": (-1, 900), "previous": (0, 50)}),
    "kdd": ("kdd_census_income_train.parquet", "income", "50000+", {
        "age": (0, 90), "wage_per_hour": (0, 10000), "capital_gains": (0, 1e5),
        "capital_losses": (0, 5000), "dividends_from_stocks": (0, 1e5),
        "num_persons_worked_for_employer": (0, 6), "own_business_or_self_employed": (0, 2),
        "weeks_worked_in_year": (0, 52)}),
}  # fmt: skip


def regret_tables() -> dict[str, Any]:
    """The tables that are here, with bounds that a person would declare."""
    found = {name: read(*given) for name, given in REGRETTED.items() if has_tables(name, given[0])}
    if has_tables("wdbc", "breast_cancer_wdbc.csv.gz"):
        found["wdbc"] = wdbc()
    return found


def regret() -> None:
    """What the default Λ loses against the best of a grid, chosen after the fact."""
    print(
        f"{'default Λ of objective perturbation':34} {'Λ':>8} {'score':>7} {'best Λ':>8} {'score':>7}"
    )
    total = []
    for name, table in regret_tables().items():
        for epsilon in EPSILONS:
            score, ridge = split_scores(LogisticRegression, table, epsilon=epsilon)
            tried = [(score, ridge)]
            for factor in (1 / 16, 1 / 4, 4, 16):
                tried.append(
                    split_scores(LogisticRegression, table, epsilon=epsilon, alpha=ridge * factor)
                )
            best, at = max(tried)
            total.append(best - score)
            what = f"{name}, {len(table[0])} rows, ε = {epsilon:g}"
            print(f"{what:34} {ridge:8.2f} {score:7.3f} {at:8.2f} {best:7.3f}", flush=True)
    if total:
        show("mean regret of the default Λ", float(np.mean(total)), 0.02, most=True)


PARTS = ("times", "kernels", "adult", "regret")


def main(parts: Sequence[str] = PARTS) -> int:
    """Measure the chosen parts; the number of bars missed."""
    global missed
    missed = 0
    if "times" in parts:
        times()
    if "kernels" in parts:
        kernels()
    if "adult" in parts and has_tables("Adult", "adult_train.csv.gz", "adult_test.csv.gz"):
        accuracies(*adult())
    if "regret" in parts:
        regret()
    return missed


if __name__ == "__main__":
    if unknown := [part for part in sys.argv[1:] if part not in PARTS]:
        sys.exit(f"no such part: {unknown[0]}")
    sys.exit(min(main(sys.argv[1:] or PARTS), 1))
