"""The bars of the results, and their curves."""
# ruff: noqa: T201

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from settings import (
    EPSILONS,
    INPUT,
    INPUT_GAMMA,
    INPUT_PUBLISHED,
    MASKED,
    MASKED_PUBLISHED,
    METHODS,
    OUTPUT,
    PLAIN,
    SIZES,
)


def report(results: list[dict[str, Any]]) -> int:
    """Print the bars; the number of those missed."""
    missed = 0

    def bar(what: str, value: float, good: bool, limit: str) -> None:
        nonlocal missed
        missed += not good
        print(f"{what:100} {value:9.4f}   {limit:>15}  {'PASS' if good else 'FAIL'}")

    def differences(one: str, other: str, low: float = 0, high: float = math.inf) -> Iterator[Any]:
        for result in results:
            for epsilon, (mean, error) in zip(
                EPSILONS, result["difference"][f"{one} - {other}"], strict=True
            ):
                if low <= epsilon <= high:
                    yield mean, error, f"{result['table']} {result['rows']}, ε = {epsilon:g}"

    sizes = {size: sum(r["rows"] == size for r in results) for size in SIZES}
    print(f"tables: {sizes} by N\n")
    print(f"mean accuracy over tables and N, ε = {'':17}" + "".join(f"{e:>8g}" for e in EPSILONS))
    for method in METHODS:
        means = np.mean([[mean for mean, _ in r["accuracy"][method]] for r in results], axis=0)
        print(f"  {method:52}" + "".join(f"{m:8.3f}" for m in means))
    print()
    for masked, other in (
        (MASKED, INPUT),
        (MASKED, INPUT_GAMMA),
        (MASKED_PUBLISHED, INPUT_PUBLISHED),
    ):
        worst = min(
            (mean / error if error else math.copysign(math.inf, mean) if mean else 0.0, where)
            for mean, error, where in differences(masked, other)
        )
        what = f"{masked} - {other}, in standard errors, worst ({worst[1]})"
        bar(what, worst[0], worst[0] >= -4, "at least -4")
        mean = float(np.mean([found[0] for found in differences(masked, other, 0.5, 10)]))
        bar(f"{masked} - {other}, mean for ε in 0.5 ... 10", mean, mean > 0, "above 0")
    # no rows for λ can teach more than λ itself: where input perturbation beats the classifier without noise
    fair = min(
        max(a / b if b else math.copysign(math.inf, a) if a else 0.0 for a, b in (one, other))
        for one, other in zip(
            ((mean, error) for mean, error, _ in differences(MASKED, INPUT)),
            ((mean, error) for mean, error, _ in differences(MASKED, PLAIN)),
            strict=True,
        )
    )
    print(f"{f'{MASKED} - the lower of {INPUT} and {PLAIN}, worst':100} {fair:9.4f}   (no bar)")
    far = max((abs(mean), where) for mean, _, where in differences(MASKED, OUTPUT))
    bar(f"|{MASKED} - {OUTPUT}|, worst ({far[1]})", far[0], far[0] <= 0.01, "at most 0.01")
    least = min(r["least cosine"] for r in results)
    what = "cosine of scikit-learn's weights on masked rows and the noisy ones, least"
    bar(what, least, least >= 0.9999, "at least 0.9999")
    count = min(sizes.values())
    bar("tables for each N", count, count >= 12, "at least 12")
    return missed


def draw(results: list[dict[str, Any]]) -> None:
    """Curves, two tables a line: full lines for the exact mechanisms, dotted ones as published."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    colours = {PLAIN: "0.4", MASKED: "tab:blue", INPUT: "tab:red"}
    dotted = {MASKED_PUBLISHED: "tab:blue", INPUT_PUBLISHED: "tab:red"}
    tables = list(dict.fromkeys(result["table"] for result in results))
    lines = -(-len(tables) // 2)
    figure, panels = plt.subplots(
        lines, 4, figsize=(12, 2.1 * lines), sharex=True, layout="constrained"
    )
    for panel in panels.flat:
        panel.axis("off")
    for result in results:
        place = tables.index(result["table"])
        panel = panels[place // 2, place % 2 * 2 + (result["rows"] == 200)]
        panel.axis("on")
        for style, chosen in (("-", colours), (":", dotted)):
            for method, colour in chosen.items():
                means, errors = np.transpose(result["accuracy"][method])
                panel.errorbar(EPSILONS, means, errors, ls=style, c=colour, lw=1.4, label=method)
        panel.set_xscale("log")
        panel.xaxis.set_tick_params(labelbottom=True)
        panel.set_title(f"{result['table']}, N = {result['rows']}", size=9)
    handles, names = panels[0, 0].get_legend_handles_labels()
    names = [f"{name} (and output perturbation)" if name == MASKED else name for name in names]
    figure.legend(handles, names, loc="outside lower center", ncols=3)
    for panel in panels[-1]:
        panel.set_xlabel("ε")
    figure.supylabel("accuracy")
    figure.savefig(Path(__file__).parent / "curves.png", dpi=80)
    plt.close(figure)
