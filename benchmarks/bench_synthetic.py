"""Synthetic tables: models trained on made-up rows and tested on real ones, each line with its bar.

Run ``python benchmarks/bench_synthetic.py [REPEATS]``. Adult, public bounds and cuts, δ = 1e-6: gradient
boosting (scikit-learn's) is trained on as many made-up rows as there are training rows and tested on the real
test rows; the pairs' error is the mean, over all pairs of columns, of the total-variation distance of made-up
to real training rows, numbers cut into 16 public cells. Figures are means over fits with fresh noise; seconds
are processor time of one thread. KDD Census-Income shows that a large table is within reach. The data sets
are read from ``DISCREET_DATA`` (by default ``../shared/data`` beside the repository); without them a made-up
table shows that all runs. The exit status is the number of bars missed.
"""

from __future__ import annotations

import resource
import sys
import time
from itertools import combinations
from typing import Any

import numpy as np
from real_tables import SCHEMAS, TABLES, has_tables, load

REPEATS = 3
EPSILONS, DELTA = (0.1, 1.0, 4.0), 1e-6
#: Accuracy and AUC on Adult's test rows, by ε; the pairs' error at ε = 1; processor seconds of a fit.
BARS = {0.1: (0.815, 0.845), 1.0: (0.85, 0.90), 4.0: (0.855, 0.91)}
PAIRS, SECONDS, KDD_SECONDS, KDD_MEMORY = 0.03, 120, 600, 4.0
ROWS: int | None = None
TABLES_RUN: tuple[str, ...] = ("adult", "kdd")
QUICK = {"REPEATS": 1, "EPSILONS": (1.0,), "ROWS": 2000, "TABLES_RUN": ("adult",)}


def schema_of(name: str) -> Any:
    """The declared columns; numbers whose bounds are whole are whole."""
    import discreet as dp

    columns = {}
    for column, declared in dp.Schema.read(SCHEMAS / f"{name}.toml").base.items():
        columns[column] = declared
        if isinstance(declared, dp.Real) and declared.lower % 1 == declared.upper % 1 == 0:
            columns[column] = dp.Integer(int(declared.lower), int(declared.upper))
    return dp.Schema(columns)


def encode(rows: Any, schema: Any, label: str) -> tuple[Any, list[bool]]:
    """Features as numbers, and which are categories; undeclared values are missing."""
    import discreet as dp

    found, kinds = [], []
    for name, column in schema.base.items():
        if name == label:
            continue
        cells = np.asarray(rows[name])
        if isinstance(column, dp.Categorical):
            places = {value: float(place) for place, value in enumerate(column.values)}
            cells = np.array([places.get(cell, np.nan) for cell in cells.tolist()])
        found.append(cells.astype(float))
        # scikit-learn takes at most 255 categories
        kinds.append(isinstance(column, dp.Categorical) and len(column.values) < 255)
    return np.column_stack(found), kinds


def scored(made: Any, test: Any, schema: Any, label: str) -> tuple[float, float]:
    """Accuracy and AUC, on real rows, of gradient boosting trained on made-up ones."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    positive = schema.base[label].values[1]
    known = np.array([value is not None for value in made[label]])
    x, kinds = encode(made, schema, label)
    model = HistGradientBoostingClassifier(categorical_features=kinds, random_state=0)
    model.fit(x[known], np.asarray(made[label])[known] == positive)
    shares = model.predict_proba(encode(test, schema, label)[0])[:, 1]
    expected = np.asarray(test[label]) == positive
    return float(((shares > 0.5) == expected).mean()), float(roc_auc_score(expected, shares))


def pairs_error(made: Any, real: Any, schema: Any) -> float:
    """The mean total-variation distance of all pairs of columns."""
    import discreet as dp
    from discreet.coding.chunks import Chunk
    from discreet.publish.synthetic.layout import Layout

    layout = Layout.from_schema(schema, list(schema.base), 16)

    def codes(rows: Any) -> list[Any]:
        cells = {
            name: np.asarray(rows[name], object if isinstance(c, dp.Categorical) else float)
            for name, c in schema.base.items()
        }
        return [Chunk(cells).code(axis.code(schema)) for axis in layout.axes]

    here, there, errors = codes(made), codes(real), []
    for a, b in combinations(range(len(layout.axes)), 2):
        width, size = layout.sizes[b], layout.sizes[a] * layout.sizes[b]
        shares = [
            np.bincount(c[a] * width + c[b], minlength=size) / len(c[a]) for c in (here, there)
        ]
        errors.append(abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(errors))


def one(name: str, epsilon: float, seed: int) -> tuple[float, float, float, float]:
    """Accuracy, AUC, pairs' error and processor seconds of one fit."""
    import discreet as dp
    from discreet.publish import Synthesizer

    table, split, schema = TABLES[name], load(name), schema_of(name)
    train = split.train if ROWS is None else split.train.iloc[:ROWS]
    ledger = dp.Ledger(limit=dp.ApproxDP(epsilon, DELTA))
    data = dp.PrivateDataset(train, schema, ledger=ledger)
    began = time.process_time()
    fitted = Synthesizer(epsilon, DELTA, target=table.label).fit(data)
    made = fitted.sample(len(train), random_state=seed)
    spent = time.process_time() - began
    right, area = scored(made, split.test, schema, table.label)
    return right, area, pairs_error(made, train, schema), spent


def adult() -> int:
    missed = 0
    for epsilon in EPSILONS:
        found = np.mean([one("adult", epsilon, seed) for seed in range(REPEATS)], axis=0)
        bars = BARS[epsilon]
        fails = [found[0] < bars[0], found[1] < bars[1], found[3] > SECONDS]
        fails.append(epsilon == 1 and found[2] > PAIRS)
        missed += sum(map(bool, fails))
        print(
            f"adult, ε = {epsilon:g}: accuracy {found[0]:.4f} (bar {bars[0]}), AUC {found[1]:.4f} "
            f"(bar {bars[1]}), pairs' error {found[2]:.4f}{f' (bar {PAIRS})' if epsilon == 1 else ''}, "
            f"{found[3]:.0f} s of processor (bar {SECONDS}){'  MISSED' if any(fails) else ''}",
            flush=True,
        )
    return missed


def kdd() -> int:
    right, area, pairs, spent = one("kdd", 1.0, 0)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    fails = spent > KDD_SECONDS or memory > KDD_MEMORY
    print(
        f"kdd, ε = 1: accuracy {right:.4f}, AUC {area:.4f}, pairs' error {pairs:.4f}, {spent:.0f} s of "
        f"processor (bar {KDD_SECONDS}), {memory:.1f} GB at most (bar {KDD_MEMORY:g})"
        f"{'  MISSED' if fails else ''}",
        flush=True,
    )
    return int(fails)


def made_up() -> None:
    """Without the data: a table of three columns, to see that all runs."""
    import discreet as dp
    from discreet.publish import Synthesizer

    schema = dp.Schema(a=dp.Integer(0, 20), b=dp.Integer(0, 20), c=dp.Categorical(0, 1, unknown=0))
    a = np.random.default_rng(0).integers(0, 21, 2000)
    rows = {"a": a, "b": (a + 1) % 21, "c": (a > 10).astype(int)}
    data = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.ApproxDP(1, DELTA)))
    made = Synthesizer(1, DELTA, target="c").fit(data).sample(2000, random_state=0)
    print(f"made-up rows: pairs' error {pairs_error(made, rows, schema):.3f}", flush=True)


def main() -> int:
    made_up()
    missed = 0
    if "adult" in TABLES_RUN and has_tables("Adult", *TABLES["adult"].files):
        missed += adult()
    if "kdd" in TABLES_RUN and has_tables("KDD Census-Income", *TABLES["kdd"].files):
        missed += kdd()
    return missed


if __name__ == "__main__":
    if len(sys.argv) > 1:
        REPEATS = int(sys.argv[1])
    sys.exit(main())
