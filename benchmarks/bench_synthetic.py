"""Synthetic tables: models trained on made-up rows and tested on real ones, each line with its bar.

Run ``python benchmarks/bench_synthetic.py [REPEATS]``. Adult, public bounds and cuts, δ = 1e-6: gradient
boosting (scikit-learn's) is trained on as many made-up rows as there are training rows and tested on the real
test rows; the pairs' error is the mean, over all pairs of columns, of the total-variation distance of made-up
to real training rows, numbers cut into 16 public cells. Figures are means over fits with fresh noise, with
the standard error of the mean; seconds are processor time of one thread. KDD Census-Income shows that a large
table is within reach. The data sets are read from ``DISCREET_DATA`` (by default ``../shared/data`` beside the
repository); without them a made-up table shows that all runs. The exit status is the number of bars missed.

With ``DISCREET_PEERS=FOLDER`` set, MST and AIM of smartnoise-synth get the same cells, and their rows the
same boosting, one fit each, drawn in two ways (see ``smartnoise.py``). Their environment: ``python -m venv
FOLDER/smartnoise-synth``, and in it ``pip install smartnoise-synth==1.0.8 mbi==1.1.0 torch``. A fit of
theirs is ended after `PEER_SECONDS` by the clock.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from peers import python_of
from real_tables import SCHEMAS, TABLES, has_tables, load

REPEATS = 3
EPSILONS, DELTA = (0.1, 1.0, 4.0), 1e-6
#: Accuracy and AUC on Adult's test rows, by ε; the pairs' error at ε = 1; processor seconds of a fit.
BARS = {0.1: (0.815, 0.845), 1.0: (0.85, 0.90), 4.0: (0.855, 0.91)}
PAIRS, SECONDS, KDD_SECONDS, KDD_MEMORY = 0.03, 120, 600, 4.0
#: What smartnoise-synth is asked for, at which ε, and how long each fit may take by the clock.
PEERS, PEER_EPSILONS, PEER_SECONDS = ("mst", "aim"), (1.0,), 360
ROWS: int | None = None
TABLES_RUN: tuple[str, ...] = ("adult", "kdd")
QUICK = {"REPEATS": 1, "EPSILONS": (1.0,), "ROWS": 2000, "TABLES_RUN": ("adult",), "PEERS": ()}


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


def codes_of(rows: Any, schema: Any, layout: Any) -> list[Any]:
    """The cells of rows, column by column."""
    import discreet as dp
    from discreet.coding.chunks import Chunk

    cells = {
        name: np.asarray(rows[name], object if isinstance(c, dp.Categorical) else float)
        for name, c in schema.base.items()
    }
    return [Chunk(cells).code(axis.code(schema)) for axis in layout.axes]


def pairs_error(made: Any, real: Any, schema: Any) -> float:
    """The mean total-variation distance of all pairs of columns."""
    from discreet.publish.synthetic.layout import Layout

    layout = Layout.from_schema(schema, list(schema.base), 16)
    here, there, errors = *(codes_of(rows, schema, layout) for rows in (made, real)), []
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
        fits = np.array([one("adult", epsilon, seed) for seed in range(REPEATS)])
        found, spread = fits.mean(axis=0), standard_error(fits)
        bars = BARS[epsilon]
        fails = [found[0] < bars[0], found[1] < bars[1], found[3] > SECONDS]
        fails.append(epsilon == 1 and found[2] > PAIRS)
        missed += sum(map(bool, fails))
        print(
            f"adult, ε = {epsilon:g}: accuracy {found[0]:.4f} ± {spread[0]:.4f} (bar {bars[0]}), AUC "
            f"{found[1]:.4f} ± {spread[1]:.4f} (bar {bars[1]}), pairs' error {found[2]:.4f} ± {spread[2]:.4f}"
            f"{f' (bar {PAIRS})' if epsilon == 1 else ''}, "
            f"{found[3]:.0f} s of processor (bar {SECONDS}){'  MISSED' if any(fails) else ''}",
            flush=True,
        )
    return missed


def standard_error(fits: Any) -> Any:
    """That of the mean over fits; none of a single one."""
    if len(fits) == 1:
        return np.full(fits.shape[1], np.nan)
    return fits.std(axis=0, ddof=1) / np.sqrt(len(fits))


def theirs(python: Path, method: str, epsilon: float) -> str:
    """The figures of one fit of smartnoise-synth to the cells that ours gets, or why there are none."""
    import discreet as dp
    from discreet.publish.synthetic.layout import Layout
    from discreet.publish.synthetic.plan import default_bins

    split, schema, label = load("adult"), schema_of("adult"), TABLES["adult"].label
    bins = default_bins(dp.ApproxDP(epsilon, DELTA))
    layout = Layout.from_schema(schema, list(schema.base), bins)
    with tempfile.TemporaryDirectory() as folder:
        source, sink = Path(folder, "given.npz"), Path(folder, "made.npz")
        codes = np.column_stack(codes_of(split.train, schema, layout))
        np.savez(source, codes=codes, sizes=np.array(layout.sizes))
        script = Path(__file__).with_name("smartnoise.py")
        command = [python, script, source, sink, method, epsilon, DELTA, len(codes)]
        try:
            done = subprocess.run(
                list(map(str, command)), timeout=PEER_SECONDS, stderr=subprocess.PIPE, text=True
            )
        except subprocess.TimeoutExpired:
            return f"not done after {PEER_SECONDS} s"
        if done.returncode:
            return f"fails: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
        found = dict(np.load(sink))
    told = []
    for way, words in (("round", "drawn as it does"), ("sample", "drawn one by one")):
        made = layout.decode(found[way], np.random.default_rng(0))
        right, area = scored(made, split.test, schema, label)
        pairs = pairs_error(made, split.train, schema)
        told.append(f"accuracy {right:.4f}, AUC {area:.4f}, pairs' error {pairs:.4f} {words}")
    return f"{'; '.join(told)}; {found['seconds']:.0f} s of processor"


def peers() -> None:
    """Print what smartnoise-synth reaches, where it is installed."""
    folder = os.environ.get("DISCREET_PEERS")
    python = None if folder is None else python_of(folder, "smartnoise-synth")
    if python is None or not python.exists():
        print("smartnoise-synth: left out, no environment of it in DISCREET_PEERS", flush=True)
        return
    for epsilon in PEER_EPSILONS:
        for method in PEERS:
            figures = theirs(python, method, epsilon)
            print(f"adult, ε = {epsilon:g}, smartnoise-synth's {method}: {figures}", flush=True)


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
        peers()
    if "kdd" in TABLES_RUN and has_tables("KDD Census-Income", *TABLES["kdd"].files):
        missed += kdd()
    return missed


if __name__ == "__main__":
    if len(sys.argv) > 1:
        REPEATS = int(sys.argv[1])
    sys.exit(main())
