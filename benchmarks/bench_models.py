"""Naive Bayes: accuracy on real data and time against scikit-learn, each line with its bar.

Run ``python benchmarks/bench_models.py``; ``--parquet`` adds a file of 50 million rows. Accuracies are
means over repeated fits with fresh noise; times are the best of interleaved repetitions in this one
run. The data sets are read from ``DISCREET_DATA`` (by default ``../shared/data`` beside the
repository); those that are absent are left out. ``DISCREET_PEERS``: see
``peers.py``. The exit status is the number of bars missed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

import numpy as np
import peers
from peers import adult
from real_tables import DATA, has_tables
from sklearn import naive_bayes as plain
from sklearn.datasets import load_iris

import discreet as dp
from discreet.models.naive_bayes import CategoricalNB, GaussianNB

REPEATS, SPLITS, ROUNDS, ROWS = 20, 50, 5, 1_000_000
SLOWER, GROWTH, MEGABYTES = 0.8, 13.0, 800.0
QUICK = {"REPEATS": 1, "SPLITS": 1, "ROUNDS": 1, "ROWS": 1000}


class Bars:
    """Prints figures beside their bars and counts those missed."""

    def __init__(self) -> None:
        self.missed = 0

    def show(self, what: str, value: float, bar: float, *, most: bool = False) -> None:
        good = value <= bar if most else value >= bar
        self.missed += not good
        sign = "at most" if most else "at least"
        print(f"{what:58} {value:9.4f}   {sign} {bar:g}  {'PASS' if good else 'FAIL'}")


def mean_score(fit: Callable[[], float], repeats: int) -> float:
    return float(np.mean([fit() for _ in range(repeats)]))


def adult_accuracy(bars: Bars) -> None:
    x, y, x_test, y_test = adult()
    exact = plain.GaussianNB().fit(x, y).score(x_test, y_test)
    print(f"{'Adult, scikit-learn without noise':58} {exact:9.4f}")
    for epsilon, found in peers.asked("naive_bayes").get("naive_bayes", {}).items():
        print(f"{f'Adult, diffprivlib GaussianNB, ε = {epsilon}':58} {found:9.4f}")
    for epsilon, published in ((0.1, 0.771), (1, 0.795), (10, 0.798)):

        def one(epsilon: float = epsilon) -> float:
            model = GaussianNB(epsilon=epsilon, bounds=(0, 1), classes=[0, 1]).fit(x, y)
            return float(model.score(x_test, y_test))

        found = mean_score(one, REPEATS)
        bars.show(f"Adult, GaussianNB, ε = {epsilon:g}", found, published - 0.002)
        if epsilon == 1:
            bars.show(
                "Adult, GaussianNB, ε = 1, behind scikit-learn", exact - found, 0.01, most=True
            )


def mushroom_accuracy(bars: Bars) -> None:
    import pandas as pd

    table = pd.read_csv(DATA / "mushroom.csv.gz").astype(str)
    names = [name for name in table.columns if name != "class"]
    columns = {name: dp.Categorical(*sorted(table[name].unique())) for name in names}
    schema = dp.Schema({**columns, "class": dp.Categorical("e", "p")})
    draw = np.random.default_rng(0)
    x, y = table[names].to_numpy(object), table["class"].to_numpy(object)
    for epsilon, delta, bar in (
        (0.1, 0.0, 0.89),
        (0.1, 1e-5, 0.90),
        (1, 0.0, 0.94),
        (1, 1e-5, 0.94),
    ):

        def one(epsilon: float = epsilon, delta: float = delta) -> float:
            order = draw.permutation(len(x))
            train, test = order[: int(0.7 * len(x))], order[int(0.7 * len(x)) :]
            model = CategoricalNB(epsilon=epsilon, delta=delta, schema=schema)
            return float(model.fit(x[train], y[train]).score(x[test], y[test]))

        bars.show(
            f"Mushroom, CategoricalNB, ε = {epsilon:g}, δ = {delta:g}",
            mean_score(one, REPEATS),
            bar,
        )


def iris_accuracy(bars: Bars) -> None:
    iris = load_iris()
    bounds = ([4, 2, 1, 0], [8, 4.5, 7, 2.5])  # what a botanist would say
    draw = np.random.default_rng(0)
    for epsilon, bar in ((0.1, 0.35), (0.5, 0.50), (1, 0.68), (10, 0.92)):

        def one(epsilon: float = epsilon) -> float:
            order = draw.permutation(150)
            train, test = order[:105], order[105:]
            model = GaussianNB(epsilon=epsilon, bounds=bounds, classes=[0, 1, 2])
            model.fit(iris.data[train], iris.target[train])
            return float(model.score(iris.data[test], iris.target[test]))

        bars.show(f"Iris, GaussianNB, ε = {epsilon:g}", mean_score(one, SPLITS), bar)


def seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def speed(bars: Bars) -> None:
    draw = np.random.default_rng(0)
    x = draw.random((ROWS, 10))
    y = (x[:, 0] + 0.3 * draw.standard_normal(len(x)) > 0.5).astype(int)
    model = GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1])
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(seconds(lambda: model.fit(x, y)))
        theirs.append(seconds(lambda: plain.GaussianNB().fit(x, y)))
    print(f"{'GaussianNB.fit, 1e6 x 10, seconds':58} {min(ours):9.4f}")
    print(f"{'scikit-learn, 1e6 x 10, seconds':58} {min(theirs):9.4f}")
    bars.show("GaussianNB.fit / scikit-learn, 1e6 x 10", min(ours) / min(theirs), SLOWER, most=True)
    large = np.concatenate([x] * 10)
    labels = np.concatenate([y] * 10)
    more = min(seconds(lambda: model.fit(large, labels)) for _ in range(2))
    bars.show("GaussianNB.fit, 1e7 rows / 1e6 rows", more / min(ours), GROWTH, most=True)


_PARQUET = """
import resource, sys, time
import discreet as dp
from discreet.models.naive_bayes import GaussianNB
names = [f"x{j}" for j in range(10)]
schema = dp.Schema({**{n: dp.Real(0, 1) for n in names}, "y": dp.Categorical(0, 1)})
data = dp.PrivateDataset(sys.argv[1], schema, ledger=dp.Ledger(limit=dp.PureDP(1)))
start = time.perf_counter()
GaussianNB(epsilon=1).fit(data)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def parquet(bars: Bars, rows: int = 50_000_000) -> None:
    """A fit on 50 million rows in a process of its own, whose memory is measured."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.parquet"
        columns = ", ".join(f"random()::FLOAT AS x{j}" for j in range(10))
        sql = f"SELECT {columns}, (random() < 0.3)::TINYINT AS y FROM range({rows})"
        duckdb.sql("SET preserve_insertion_order = false; SET enable_progress_bar = false")
        duckdb.sql(f"COPY ({sql}) TO '{path}' (FORMAT parquet)")
        done = subprocess.run(
            [sys.executable, "-c", _PARQUET, path], stdout=subprocess.PIPE, text=True, check=True
        )
    took, memory = map(float, done.stdout.split())
    print(f"{'GaussianNB.fit, 5e7 rows of Parquet, seconds':58} {took:9.1f}")
    bars.show("GaussianNB.fit, 5e7 rows of Parquet, MB of memory", memory, MEGABYTES, most=True)


def main(arguments: Sequence[str] = ()) -> int:
    """Print the table and return the number of bars missed."""
    bars = Bars()
    iris_accuracy(bars)
    if has_tables("Adult", "adult_train.csv.gz", "adult_test.csv.gz"):
        adult_accuracy(bars)
    if has_tables("Mushroom", "mushroom.csv.gz"):
        mushroom_accuracy(bars)
    speed(bars)
    if "--parquet" in arguments:
        parquet(bars)
    print(f"{bars.missed} bars missed" if bars.missed else "all bars hold")
    return bars.missed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
