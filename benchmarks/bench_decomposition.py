"""Principal components: noise on the matrix against drawn directions, each line with its bar.

Run ``python benchmarks/bench_decomposition.py``. Figures are shares of the variance that the components
capture, means over repeated fits with fresh noise. Adult has six numeric columns; the wide table is made
of MNIST's training images, averaged over squares of 4 x 4 pixels (49 columns, 60000 rows); with
``--wide`` also of 2 x 2 pixels (196 columns), which takes minutes. Drawn directions are pure DP, so they
are compared with Laplace noise; Gaussian noise stands beside them. The data sets are read from
``DISCREET_DATA`` (by default ``../shared/data`` beside the repository); those that are absent are left
out. The exit status is the number of bars missed.
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from bench_cluster import CAPTURED, captured
from bench_models import Bars, adult
from real_tables import DATA, has_tables
from sklearn import decomposition

from discreet.models.decomposition import PCA

METHODS: dict[str, dict[str, Any]] = {
    "sulq": {"method": "sulq"},
    "exponential": {"method": "exponential", "accept_assumed": True},
    "analyze_gauss, δ = 1e-6": {"method": "analyze_gauss", "delta": 1e-6},
}
#: What drawn directions may fall behind Laplace noise by, where that is as good as no noise.
BEHIND = 0.003
EPSILONS = (0.1, 1, 10)
REPEATS, WIDE_REPEATS = 20, 6
QUICK = {"EPSILONS": (1,), "REPEATS": 1, "WIDE_REPEATS": 1}
#: MNIST's pictures of digits.
DIGITS = "mnist/train-images-idx3-ubyte.gz"


def wide_table(side: int = 4) -> Any:
    """Pictures of handwritten digits with fewer pixels, each between 0 and 1."""
    with gzip.open(DATA / DIGITS) as file:
        raw = np.frombuffer(file.read()[16:], np.uint8).reshape(-1, 28, 28)
    left = 28 // side
    return raw.reshape(-1, left, side, left, side).mean((2, 4)).reshape(len(raw), -1) / 255


def compared(bars: Bars, name: str, x: Any, count: int, repeats: int) -> None:
    plain = captured(decomposition.PCA(count).fit(x).components_, x)
    print(f"{f'{name}, {count} components, scikit-learn without noise':58} {plain:9.4f}")
    for epsilon in EPSILONS:
        found = {}
        for title, options in METHODS.items():
            began = time.perf_counter()
            shares = [
                captured(
                    PCA(count, epsilon=epsilon, bounds=(0, 1), **options).fit(x).components_, x
                )
                for _ in range(repeats)
            ]
            spent = (time.perf_counter() - began) / repeats
            found[title] = float(np.mean(shares))
            what = f"{name}, {title}, ε = {epsilon:g}"
            print(f"{what:58} {found[title]:9.4f}   worst {min(shares):.4f}, {spent:.2f} s a fit")
        bars.show(
            f"{name}, exponential, ε = {epsilon:g}, against sulq",
            found["exponential"],
            found["sulq"] - BEHIND,
        )
        if name == "Adult":
            bars.show(
                f"{name}, exponential, ε = {epsilon:g}, against diffprivlib 0.6.6",
                found["exponential"],
                CAPTURED[epsilon],
            )


def main(arguments: Sequence[str] = ()) -> int:
    """The number of bars missed."""
    bars = Bars()
    if has_tables("Adult", "adult_train.csv.gz", "adult_test.csv.gz"):
        compared(bars, "Adult", adult()[0], 2, REPEATS)
    if has_tables("MNIST", DIGITS):
        compared(bars, "MNIST, 49 columns", wide_table(), 5, WIDE_REPEATS)
        if "--wide" in arguments:
            compared(bars, "MNIST, 196 columns", wide_table(2), 5, 2)
    print(f"{bars.missed} bars missed" if bars.missed else "all bars hold")
    return bars.missed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
