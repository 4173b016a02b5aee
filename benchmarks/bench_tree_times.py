"""The processor time of one fit of a tree and of a forest, beside diffprivlib's on the same table.

Run ``DISCREET_PEERS=.peers python benchmarks/bench_tree_times.py [TABLE ...]``: see ``peers.py`` for the
environment; without it nothing is measured. A figure is how many times as long ours takes, by the medians of
fits at ε = 1, each library in a process of its own, one after the other. On tables of some hundred rows a fit
of either library takes a few milliseconds, most of it for what doesn't depend on rows (here a plan and a
ledger): these lines are shown without a bar. The exit status is the number of bars missed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import real_tables as tables
from bench_models import Bars
from peers import python_of

FITS = 15
LARGE = ("kdd", "adult", "bank", "law", "compas")
SMALL = ("pima", "heart", "wdbc")
#: Our model, diffprivlib's, and how many times as long ours may take.
PAIRS = (
    ("DecisionTreeClassifier", "DecisionTreeClassifier", 2.0),
    ("RandomDecisionForest", "RandomForestClassifier", 1.5),
)
QUICK = {"FITS": 1, "LARGE": ("compas",), "SMALL": ()}


def seconds(python: str, library: str, table: str, model: str) -> dict[str, float]:
    """The median of the seconds of a fit, for numbers and for all columns."""
    wanted = [[model, "classes", view, 0.0, 1.0, FITS] for view in ("numbers", "all")]
    command = [python, str(Path(__file__).parent / "contest.py"), library, table]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--again", json.dumps(wanted)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=environment,
    )
    lines: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["columns"]: line["seconds"][0] for line in lines if line["seconds"][0]}


def main(only: tuple[str, ...] = ()) -> int:
    """The number of bars missed."""
    bars, folder = Bars(), os.environ.get("DISCREET_PEERS")
    if folder is None or not python_of(folder, "diffprivlib").exists():
        print("left out: DISCREET_PEERS must name the folder of diffprivlib's environment")
        return 0
    for name in only or (*LARGE, *SMALL):
        table = tables.TABLES[name]
        if not tables.has_tables(table.title, *table.files):
            continue
        for ours, theirs, most in PAIRS:
            peer = seconds(str(python_of(folder, "diffprivlib")), "diffprivlib", name, theirs)
            own = seconds(sys.executable, "discreet", name, ours)
            for view in own:
                if view not in peer:
                    continue
                what = f"{table.title}, {ours}, {view}"
                told = f"{own[view]:.3g} s beside {peer[view]:.3g} s"
                if name in SMALL:
                    print(f"{what:58} {own[view] / peer[view]:9.4f}")
                else:
                    bars.show(what, own[view] / peer[view], most, most=True)
                print(f"{'':58} {told}", flush=True)
    return bars.missed


if __name__ == "__main__":
    sys.exit(min(main(tuple(sys.argv[1:])), 1))
