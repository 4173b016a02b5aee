"""Wide columns on a logarithmic scale against the linear one, on training parts of real tables.

``python benchmarks/bench_scales.py`` prints the area under the ROC curve, mean ± standard error over splits
of the training part in two halves, and the accuracy; no test part is read. ``bench_scales.py bank`` has one
table alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from real_tables import TABLES, has_tables, load
from sklearn.metrics import roc_auc_score

import discreet as dp
from discreet.columns import Integer, Real
from discreet.models.linear_model import LogisticRegression
from discreet.models.naive_bayes import MixedNB

MODELS = {"logistic regression": LogisticRegression, "naive Bayes": MixedNB}
NAMES: tuple[str, ...] = ("bank", "adult", "kdd", "wdbc")
EPSILONS: tuple[float, ...] = (0.1, 1.0)
TIMES: tuple[float, ...] = (1.0, 10.0)
MAX_ROWS, SEEDS = 20_000, 6
QUICK = {"NAMES": ("wdbc",), "EPSILONS": (1.0,), "TIMES": (1.0,), "SEEDS": 2}


def with_scale(schema: dp.Schema, scale: str | None) -> dp.Schema:
    """The schema with every number on this scale, or as the public rule says."""
    columns: dict[str, Any] = dict(schema.base)
    for name, column in columns.items():
        if isinstance(column, Real | Integer):
            columns[name] = type(column)(column.lower, column.upper, column.fill, scale)
    return dp.Schema(columns)


def widen(schema: dp.Schema, times: float) -> dp.Schema:
    """The schema with bounds of wide columns that are this many times too wide."""
    columns: dict[str, Any] = dict(schema.base)
    for name, column in columns.items():
        if isinstance(column, Real | Integer) and column.is_log:
            columns[name] = Real(times * column.lower, times * column.upper, column.fill)
    return dp.Schema(columns)


def measure(
    name: str, build: Any, scale: str | None, epsilon: float, times: float
) -> tuple[float, float, float]:
    """The mean area with its standard error, and the mean accuracy."""
    table, split = TABLES[name], load(name)
    schema = with_scale(widen(dp.Schema.read(table.schema_path), times), scale)
    label, frame = table.label, split.train
    found = []
    for seed in range(SEEDS):
        order = np.random.default_rng(seed).permutation(len(frame))[:MAX_ROWS]
        half = len(order) // 2
        rows, others = frame.iloc[order[:half]], frame.iloc[order[half:]]
        data = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.PureDP(epsilon)))
        model = build(epsilon=epsilon).fit(data, target=label)
        scores = model.predict_proba(others.drop(columns=label))[:, 1]
        truth = np.asarray(others[label] == model.classes_[1])
        found.append((roc_auc_score(truth, scores), np.mean((scores > 0.5) == truth)))
    area, accuracy = np.mean(found, axis=0)
    spread = np.std(found, axis=0)[0] / np.sqrt(max(1, SEEDS - 1))
    return float(area), float(spread), float(accuracy)


def main(names: Sequence[str] = ()) -> int:
    """Print one line for each table, model, budget and width of bounds. There is no bar to miss."""
    for name in names or NAMES:
        table = TABLES[name]
        if not has_tables(name, *table.files):
            continue
        declared = dp.Schema.read(table.schema_path).items()
        wide = [n for n, c in declared if isinstance(c, Real | Integer) and c.is_log]
        print(f"{table.title}: {', '.join(wide) or 'no wide column'}", flush=True)
        for title, build in MODELS.items():
            for epsilon, times in product(EPSILONS, TIMES):
                pair = [measure(name, build, scale, epsilon, times) for scale in ("linear", None)]
                shown = " → ".join(f"{area:.3f} ± {error:.3f}" for area, error, _ in pair)
                hits = " → ".join(f"{accuracy:.3f}" for _, _, accuracy in pair)
                head = f"  {title}, ε = {epsilon:g}, bounds × {times:g}"
                print(f"{head}: area {shown}, accuracy {hits}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
