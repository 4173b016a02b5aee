"""Mean squared errors of random ranges: cells, filter banks, Haar wavelets, trees, and the automatic choice.

Run ``python benchmarks/bench_privelet.py``. Expected errors are closed forms (for filter banks over 256
ranges); draws of the very noise that is released check them. The exit status is the number of bars missed.
"""

from __future__ import annotations

import sys

import numpy as np

from discreet.measures import ZCDP, Measure, PureDP
from discreet.publish.privelet import Automatic, Bank, Flat, Haar, Strategy, Tree
from discreet.publish.privelet.designs import Design
from discreet.publish.privelet.facts import Facts
from discreet.publish.privelet.strategies import Problem

CELLS, SIDE = 3**10, 256
DRAWS, QUERIES = 12, 400
QUICK = {"CELLS": 81, "SIDE": 9, "DRAWS": 2, "QUERIES": 5}


def choose(strategy: Strategy, cells: tuple[int, ...], measure: Measure) -> Design:
    """The design for all ranges, or all boxes."""
    return strategy.choose(Problem(cells, ("ranges",) * len(cells), Facts(), measure))


def drawn(design: Design, cells: tuple[int, ...], generator: np.random.Generator) -> float:
    """The mean squared error of random boxes over a few whole releases of an empty histogram."""
    total = 0.0
    for _ in range(DRAWS):
        noise = design.run(np.zeros(cells, np.int64))
        for _ in range(QUERIES):
            ends = [np.sort(generator.choice(n + 1, 2, replace=False)) for n in cells]
            total += float(noise[tuple(slice(a, b) for a, b in ends)].sum()) ** 2
    return total / (DRAWS * QUERIES)


def compare(
    strategies: dict[str, Strategy], cells: tuple[int, ...], measure: PureDP | ZCDP
) -> dict[str, float]:
    """Print the errors of some strategies; the expected ones by name."""
    generator, found = np.random.default_rng(0), {}
    print(f"\n{' × '.join(map(str, cells))} cells, {measure!r}")
    for name, strategy in strategies.items():
        design = choose(strategy, cells, measure)
        found[name] = design.error
        seen = drawn(design, cells, generator)
        print(f"{name:28} {design.error:10.1f}  drawn {seen:10.1f}   {design.name}", flush=True)
    return found


def main() -> int:
    """Print the tables and return the number of bars missed."""
    one: dict[str, Strategy] = {
        "flat": Flat(),
        "2-regular bank": Bank(),
        "3-band Haar": Haar(3),
        "Privelet": Haar(2, split="equal"),
        "Haar, best split": Haar(2),
        "tree, branching 16": Tree(16),
        "automatic": Automatic(),
    }
    pure = compare(one, (CELLS,), PureDP(1))
    several: dict[str, Strategy] = {"flat": Flat(), "Haar": Haar(2), "automatic": Automatic()}
    compare(several, (CELLS,), ZCDP("1/2"))
    plane = compare(several, (SIDE, SIDE), PureDP(1))
    fine = compare({"flat": Flat(), "automatic": Automatic()}, (SIDE, SIDE), PureDP("1/10"))
    compare(several, (SIDE, SIDE), ZCDP("1/2"))
    textbook = 2 * ((SIDE + 2) / 3) ** 2
    print(f"\nLaplace noise of variance 2/ε² on cells, {SIDE} × {SIDE}, ε = 1: {textbook:.0f}")
    bars = {
        "automatic at most 1/60 of flat": pure["automatic"] <= pure["flat"] / 60,
        "automatic at most Privelet": pure["automatic"] <= pure["Privelet"],
        "2-regular bank behind Privelet, ahead of flat": pure["Privelet"]
        < pure["2-regular bank"]
        < pure["flat"],
        "rectangles, ε = 1: at most 1/5 of flat": plane["automatic"] <= plane["flat"] / 5,
        "rectangles, ε = 0.1: at most 1/5 of flat": fine["automatic"] <= fine["flat"] / 5,
    }
    for name, holds in bars.items():
        print(f"{name:50} {'PASS' if holds else 'FAIL'}")
    failures = sum(not holds for holds in bars.values())
    print(f"{failures} bars missed" if failures else "all bars hold")
    return failures


if __name__ == "__main__":
    sys.exit(main())
