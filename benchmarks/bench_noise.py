"""Time the exact samplers against NumPy's inexact and OpenDP's exact ones.

Run ``python benchmarks/bench_noise.py``. Every line is a ratio of times per draw measured in this
one run, the repetitions interleaved and the best of each taken, so that a busy machine disturbs
both sides alike. Each has a bar; the exit status is the number of bars missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import opendp.prelude as opendp

from discreet import noise

DRAWS = 1_000_000
OPENDP_DRAWS = 100_000  # per-draw time; a million would take minutes and say the same
ROUNDS = 15
OPENDP_ROUNDS = 3
SCALES = (1.0, 1e3, 1e6)
QUICK = {"DRAWS": 100, "OPENDP_DRAWS": 10, "ROUNDS": 1}


def seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def opendp_draws(kind: str, scale: float) -> Callable[[], object]:
    domain = opendp.vector_domain(opendp.atom_domain(T="i64"))
    zeros = [0] * OPENDP_DRAWS
    if kind == "laplace":
        mechanism = (domain, opendp.l1_distance(T="i64")) >> opendp.m.then_laplace(scale)
    else:
        mechanism = (domain, opendp.l2_distance(T="f64")) >> opendp.m.then_gaussian(scale)
    return lambda: mechanism(zeros)


def measure(scale: float) -> dict[str, float]:
    """Nanoseconds per draw of every sampler, best of interleaved repetitions."""
    numpy_generator = np.random.default_rng()
    fast: dict[str, Callable[[], object]] = {
        "numpy laplace": lambda: numpy_generator.laplace(0.0, scale, DRAWS),
        "discrete_laplace": lambda: noise.discrete_laplace(scale, DRAWS),
        "rounded_gaussian": lambda: noise.rounded_gaussian(scale, DRAWS),
        "discrete_gaussian": lambda: noise.discrete_gaussian(scale, DRAWS),
    }
    slow = {f"opendp {kind}": opendp_draws(kind, scale) for kind in ("laplace", "gaussian")}
    times: dict[str, list[float]] = {name: [] for name in [*fast, *slow]}
    for turn in range(ROUNDS):
        for name, act in fast.items():
            times[name].append(seconds(act) / DRAWS)
        if turn < OPENDP_ROUNDS:
            for name, act in slow.items():
                times[name].append(seconds(act) / OPENDP_DRAWS)
    return {name: 1e9 * min(values) for name, values in times.items()}


def main() -> int:
    """Print the table and return the number of bars missed."""
    opendp.enable_features("contrib")
    comparisons = [
        ("discrete_laplace", "numpy laplace", "at most", 1.5),
        ("discrete_laplace", "opendp laplace", "at least", 300.0),
        ("rounded_gaussian", "opendp gaussian", "at least", 200.0),
        ("discrete_gaussian", "opendp gaussian", "at least", 200.0),
    ]
    print(f"{'sampler':18} {'scale':>8} {'ns':>6}   {'against':16} {'ns':>8}   ratio and bar")
    failures = 0
    for scale in SCALES:
        times = measure(scale)
        for ours, theirs, direction, bar in comparisons:
            if direction == "at most":
                ratio = times[ours] / times[theirs]
                passed, text = ratio <= bar, f"{ratio:.2f} x its time, at most {bar:g}"
            else:
                ratio = times[theirs] / times[ours]
                passed, text = ratio >= bar, f"{ratio:.0f} x faster, at least {bar:g}"
            failures += not passed
            print(
                f"{ours:18} {scale:8g} {times[ours]:6.1f}   {theirs:16} {times[theirs]:8.1f}   "
                f"{text}  {'PASS' if passed else 'FAIL'}",
                flush=True,
            )
    print(f"{failures} bars missed" if failures else "all bars hold")
    return failures


if __name__ == "__main__":
    sys.exit(main())
