"""Time local mechanisms against drawing as many NumPy uniforms, and count the random bytes.

Run ``python benchmarks/bench_local.py``. Ratios are of the best of interleaved repetitions in this one
run. The exit status is the number of bars missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from discreet.mechanisms import local
from discreet.noise import entropy

BITS = 10_000_000
VALUES = 1_000_000
ROUNDS = 7
RATIO, BYTES = 5.0, 2.0
QUICK = {"BITS": 1000, "VALUES": 100, "ROUNDS": 1}


def seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


class Counted:
    """The current stream of random words, counting the bytes it gives."""

    def __init__(self) -> None:
        self.stream, self.octets = entropy.current(), 0

    def words(self, size: int) -> object:
        self.octets += 8 * size
        return self.stream.words(size)

    def bits(self, count: int) -> int:
        self.octets += -(-count // 8)
        return self.stream.bits(count)


def bytes_per_report(mechanism: local.RandomizedResponse, values: np.ndarray) -> float:
    counted, current = Counted(), entropy.current
    entropy.current = lambda: counted  # type: ignore[assignment,return-value]
    try:
        mechanism.randomize(values)
    finally:
        entropy.current = current
    return counted.octets / values.size


def main() -> int:
    """Print the table and return the number of bars missed."""
    generator = np.random.default_rng(1)
    bits = generator.random(BITS) < 0.3
    codes = generator.integers(0, 10, VALUES)
    reals = generator.random(VALUES)
    acts: dict[str, tuple[Callable[[], object], int, float | None]] = {
        "numpy uniforms": (lambda: generator.random(BITS), BITS, None),
    }
    for epsilon in (0.1, 1.0, 4.0):
        response = local.RandomizedResponse(epsilon)
        acts[f"response, ε = {epsilon:g}"] = (lambda m=response: m.randomize(bits), BITS, RATIO)
    for mechanism in (
        local.GeneralizedRandomizedResponse(1, 10),
        local.UnaryEncoding(1, 10, optimised=True),
        local.LocalHashing(1, 10),
    ):
        acts[type(mechanism).__name__] = (lambda m=mechanism: m.randomize(codes), VALUES, None)
    for mean in (local.DuchiMean(1, 0, 1), local.PiecewiseMean(1, 0, 1), local.HybridMean(1, 0, 1)):
        acts[type(mean).__name__] = (lambda m=mean: m.randomize(reals), VALUES, None)
    times: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(ROUNDS):
        for name, (act, size, _bar) in acts.items():
            times[name].append(seconds(act) / size)
    unit = min(times["numpy uniforms"])
    failures = 0
    print(f"{'mechanism':32} {'ns':>7}   ratio to a NumPy uniform")
    for name, (_act, _size, bar) in acts.items():
        ratio = min(times[name]) / unit
        text = f"{ratio:6.2f}"
        if bar is not None:
            failures += ratio > bar
            text += f", at most {bar:g}  {'PASS' if ratio <= bar else 'FAIL'}"
        print(f"{name:32} {1e9 * min(times[name]):7.2f}   {text}")
    for epsilon in (0.1, 1.0, 4.0):
        used = bytes_per_report(local.RandomizedResponse(epsilon), bits)
        failures += used > BYTES
        verdict = "PASS" if used <= BYTES else "FAIL"
        print(
            f"response, ε = {epsilon:g}: {used:.4f} random bytes a bit, at most {BYTES:g}  {verdict}"
        )
    print(f"{failures} bars missed" if failures else "all bars hold")
    return failures


if __name__ == "__main__":
    sys.exit(main())
