"""Published rows: how fast masks are made, and whether scikit-learn finds the private weights on them.

Run ``python benchmarks/bench_publish.py``. Times are of one run. The exit status is the number of bars
missed.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import discreet as dp
from discreet.publish import MaskedData, RowPerturbation

ROWS, COLUMNS = 100_000, 50
#: Classes, columns, rows and ε of each mask; the first is that of the bar for seconds.
MASKS = (
    (2, COLUMNS, ROWS, 1.0),
    (3, COLUMNS, ROWS // 10, 1.0),
    (2, 10, 1000, 0.1),
    (2, 10, 1000, 10.0),
    (5, 20, 2000, 1.0),
    (10, 25, 2000, 5.0),
)
QUICK = {"ROWS": 200, "MASKS": ((2, 10, 200, 1.0), (3, 10, 200, 1.0))}

missed = 0


def show(what: str, value: float, bar: float | None = None, *, most: bool = False) -> None:
    """Print a figure, beside its bar if it has one."""
    global missed
    if bar is None:
        print(f"{what:66} {value:11.4g}", flush=True)
        return
    good = value <= bar if most else value >= bar
    missed += not good
    sign = "at most" if most else "at least"
    print(f"{what:66} {value:11.4g}   {sign} {bar:g}  {'PASS' if good else 'FAIL'}", flush=True)


def table(classes: int, width: int, rows: int) -> tuple[Any, Any]:
    """Rows with classes that follow a softmax model."""
    draw = np.random.default_rng(classes)
    x = draw.uniform(-1, 1, (rows, width))
    scores = x @ draw.normal(size=(width, classes)) + draw.gumbel(size=(rows, classes))
    return x, scores.argmax(axis=1)


def cosine(masked: MaskedData) -> float:
    """Of the weights that scikit-learn finds on masked rows, with those that were released."""
    found = masked.classifier().fit(masked.X_, masked.y_)
    parts = [np.column_stack([m.coef_, m.intercept_]) for m in (found, masked)]
    if len(parts[0]) > 1:
        parts = [part - part.mean(axis=0) for part in parts]
    one, other = (part.ravel() for part in parts)
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def masks() -> None:
    """Times, gradients and cosines of masks."""
    for classes, width, rows, epsilon in MASKS:
        x, y = table(classes, width, rows)
        masked = MaskedData(
            epsilon=epsilon, bounds=(-1, 1), classes=range(classes), samples=rows, random_state=0
        ).fit(x, y)
        name = f"{classes} classes, {rows} × {width}, ε = {epsilon:g}"
        start = time.perf_counter()
        masked.sample(random_state=1)
        seconds = time.perf_counter() - start
        wide = rows == ROWS and classes == 2
        show(f"{name}: seconds for a mask", seconds, 60 if wide else None, most=True)
        show(f"{name}: length of the mean gradient", masked.gradient_, 1e-8, most=True)
        show(f"{name}: cosine of scikit-learn's weights", cosine(masked), 0.9999)
    x, y = table(2, 10, 200)
    start = time.perf_counter()
    slow = MaskedData(
        epsilon=1, bounds=(-1, 1), classes=[0, 1], samples=200, method="greedy", random_state=0
    ).fit(x, y)
    show("greedy, 2 classes, 200 × 10: seconds", time.perf_counter() - start)
    show("greedy, 2 classes, 200 × 10: length of the mean gradient", slow.gradient_)
    show("greedy, 2 classes, 200 × 10: cosine", cosine(slow))


def blurs() -> None:
    """The time of blurring every row of a wide table."""
    x, y = table(2, COLUMNS, ROWS)
    columns: dict[str, Any] = {f"x{j}": dp.Real(-1, 1) for j in range(COLUMNS)}
    schema = dp.Schema({**columns, "y": dp.Categorical(0, 1)})
    rows = {**{name: x[:, j] for j, name in enumerate(columns)}, "y": y}
    for kind in ("grid", "norm-gamma"):
        channel = RowPerturbation(schema, epsilon=1, target="y", kind=kind)  # type: ignore[arg-type]
        start = time.perf_counter()
        channel.randomize(rows)
        seconds = time.perf_counter() - start
        show(f"{kind} noise on {ROWS} × {COLUMNS}: seconds", seconds, 60, most=True)


def main() -> int:
    """The number of bars that were missed."""
    global missed
    missed = 0
    masks()
    blurs()
    return missed


if __name__ == "__main__":
    sys.exit(main())
