"""Accuracy against privacy of masked data and input perturbation, as in Pham, Ghosh & Yegneswaran (figure 5).

Run ``python papers/data_masking/curves.py`` (six minutes on one free core; ``--quick`` a few seconds). It
writes ``curves.json`` and ``curves.png`` beside itself and prints the bars; the exit status is the number of
bars missed. A run that is stopped goes on with the next table. ``--bare`` draws training rows as they come
and has no constant feature; it writes ``curves_bare.json`` alone. ``--report`` prints the bars of the results
that are there.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from algorithms import STRENGTH, Floats, clipped, logistic, norm_gamma, published_masks
from harness import seed_of
from sets import DATA, TABLES, Table
from settings import (
    EPSILONS,
    INPUT,
    INPUT_GAMMA,
    INPUT_PUBLISHED,
    MASKED,
    MASKED_PUBLISHED,
    METHODS,
    OUTPUT,
    OUTPUT_PUBLISHED,
    PLAIN,
    SIZES,
)

import discreet as dp
from discreet import testing
from discreet.publish import MaskedData, RowPerturbation
from report import draw, report

Integers = npt.NDArray[np.int64]

HERE = Path(__file__).parent


#: Validation rows of each class: at least, at most.
FEWEST, MOST = 20, 100


class Trials:
    """Repeated draws of training and validation rows from one table, from both classes alike.

    With `bare`, training rows are drawn as they come, and there is no constant feature.
    """

    def __init__(self, table: Table, size: int, repetitions: int, bare: bool = False) -> None:
        self.size, self.repetitions, self.bare = size, repetitions, bare
        z, y = table.read()
        self.width = z.shape[1]
        self.norm = math.sqrt(self.width / 3 + (not bare))
        draw = self.draw = np.random.default_rng([len(table.name), size])
        train, self.test = [], []
        for _ in range(repetitions):
            order = draw.permutation(len(y))
            parts = [order[y[order] == label] for label in (0, 1)]
            if bare:
                train.append(order[:size])
                rest = order[size:]
                parts = [rest[y[rest] == label] for label in (0, 1)]
            else:
                train.append(np.concatenate([part[: size // 2] for part in parts]))
                parts = [part[size // 2 :] for part in parts]
            few = min(MOST, *(len(part) for part in parts))
            chosen = np.concatenate([part[:few] for part in parts])
            self.test.append((z[chosen], y[chosen]))
        self.z, self.y = z[np.array(train)], y[np.array(train)]
        self.signs = np.where(self.y > 0, 1.0, -1.0)
        self.x = clipped(self.joined(self.z), self.norm) / self.norm

    @staticmethod
    def fits(table: Table, size: int) -> bool:
        """Whether both classes have enough rows."""
        counts = np.bincount(table.read()[1], minlength=2)
        return bool(counts.min() >= size // 2 + FEWEST)

    def joined(self, z: Floats) -> Floats:
        """Features with the constant one."""
        return z if self.bare else np.concatenate([z, np.ones((*z.shape[:-1], 1))], axis=-1)

    def accuracies(self, weights: Floats) -> list[float]:
        """The share of right labels, for weights of every repetition."""
        return [
            float(((self.joined(z) @ w > 0) == (y > 0)).mean())
            for w, (z, y) in zip(weights, self.test, strict=True)
        ]

    def published(self, epsilon: float) -> Iterator[tuple[str, list[float]]]:
        """The algorithms as published: true labels, noise in floating point."""
        exact = logistic(self.x, self.signs)
        scale = 2 / (STRENGTH * self.size * epsilon)
        noisy = exact + norm_gamma(self.draw, scale, exact.shape)
        yield OUTPUT_PUBLISHED, self.accuracies(noisy)
        masks = published_masks(noisy, self.signs)
        yield MASKED_PUBLISHED, self.accuracies(logistic(masks, self.signs))
        ball = math.sqrt(self.width / 3)
        blurred = clipped(self.z, ball) + ball * norm_gamma(self.draw, 2 / epsilon, self.z.shape)
        yield (
            INPUT_PUBLISHED,
            self.accuracies(logistic(self.joined(blurred) / self.norm, self.signs)),
        )

    def perturbed(self, epsilon: float, kind: Any) -> list[float]:
        """Input perturbation of the whole row, label included."""
        columns: dict[str, Any] = {f"x{j}": dp.Real(-1, 1) for j in range(self.width)}
        schema = dp.Schema({**columns, "y": dp.Categorical(0, 1)})
        channel = RowPerturbation(schema, epsilon=epsilon, target="y", kind=kind)
        flat = self.z.reshape(-1, self.width)
        told = channel.randomize(
            {**{f"x{j}": flat[:, j] for j in range(self.width)}, "y": self.y.ravel()}
        )
        z = np.column_stack([told[name] for name in columns]).reshape(self.z.shape)
        x = self.joined(z) / self.norm
        signs = np.where(told["y"] > 0, 1.0, -1.0).reshape(self.y.shape)
        return self.accuracies(logistic(x, signs))

    def masked(
        self, epsilon: float, ledger: Any, **ridge: Any
    ) -> tuple[list[float], list[float], list[float]]:
        """Accuracies of the noisy weights, of scikit-learn's fit on masked rows, and their cosines.

        With λ of the paper, and noise on the weights as in it, unless `ridge` says otherwise.
        """
        if not ridge:
            ridge = {"perturbation": "output", "alpha": STRENGTH * self.size * self.norm**2}
        direct, fitted, cosines = [], [], []
        for z, y, (test, labels) in zip(self.z, self.y, self.test, strict=True):
            masked = MaskedData(
                epsilon=epsilon,
                bounds=(-1, 1),
                classes=[0, 1],
                ledger=ledger,
                fit_intercept=not self.bare,
                random_state=0,
                **ridge,
            ).fit(z, y)
            model = masked.classifier().fit(masked.X_, masked.y_)
            direct.append(float((masked.predict(test) == labels).mean()))
            fitted.append(float((model.predict(test) == labels).mean()))
            a = np.append(model.coef_[0], model.intercept_)
            b = np.append(masked.coef_[0], masked.intercept_)
            cosines.append(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))
        return direct, fitted, cosines


#: Differences that are summed up over repetitions.
PAIRS = (
    (MASKED, INPUT),
    (MASKED, INPUT_GAMMA),
    (MASKED, OUTPUT),
    (MASKED, PLAIN),
    (INPUT, PLAIN),
    (MASKED_PUBLISHED, INPUT_PUBLISHED),
    (MASKED_PUBLISHED, OUTPUT_PUBLISHED),
)


def measured(table: Table, size: int, repetitions: int, bare: bool = False) -> dict[str, Any]:
    """All methods on one table: means and standard errors of accuracies and paired differences."""
    with testing.fixed_noise(seed_of(table.name, size, bare)):
        return _measured(table, size, repetitions, bare)


def _measured(table: Table, size: int, repetitions: int, bare: bool) -> dict[str, Any]:
    trials = Trials(table, size, repetitions, bare)
    ledger = dp.Ledger(limit=dp.PureDP(10**9), unit=dp.Unit(dp.REPLACE_ONE))
    plain = trials.accuracies(logistic(trials.x, trials.signs))
    found: dict[str, list[list[float]]] = {method: [] for method in METHODS}
    least = 1.0
    for epsilon in EPSILONS:
        found[PLAIN].append(plain)
        direct, fitted, cosines = trials.masked(epsilon, ledger)
        found[OUTPUT].append(direct)
        found[MASKED].append(fitted)
        least = min(least, *cosines)
        found[INPUT].append(trials.perturbed(epsilon, "grid"))
        found[INPUT_GAMMA].append(trials.perturbed(epsilon, "norm-gamma"))
        for method, accuracies in trials.published(epsilon):
            found[method].append(accuracies)
    return {
        "table": table.name,
        "rows": size,
        "features": trials.width,
        "least cosine": least,
        **summary(found),
    }


def summary(found: dict[str, list[list[float]]]) -> dict[str, Any]:
    """Means with standard errors of accuracies by method, and of paired differences."""
    return {
        "accuracy": {
            method: [mean_and_error(values) for values in found[method]] for method in METHODS
        },
        "difference": {
            f"{one} - {other}": [
                mean_and_error(np.subtract(a, b))
                for a, b in zip(found[one], found[other], strict=True)
            ]
            for one, other in PAIRS
        },
    }


def mean_and_error(values: Any) -> list[float]:
    """A mean over repetitions and its standard error."""
    array = np.asarray(values, np.float64)
    return [
        round(float(array.mean()), 6),
        round(float(array.std(ddof=1)) / math.sqrt(len(array)), 6),
    ]


def main(arguments: list[str] | None = None) -> int:
    """The number of bars that were missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument(
        "--quick", action="store_true", help="two tables, five repetitions; no files"
    )
    parser.add_argument(
        "--bare", action="store_true", help="rows as they come, no constant feature"
    )
    parser.add_argument(
        "--report", action="store_true", help="print the bars of the results there are"
    )
    parser.add_argument(
        "--default-ridge", action="store_true", help="two tables, the toolkit's ridge"
    )
    options = parser.parse_args(arguments)
    path = HERE / ("curves_bare.json" if options.bare else "curves.json")
    if options.report:
        return report(json.loads(path.read_text("utf-8"))["results"])
    if not DATA.is_dir():
        print(f"no tables in {DATA}: set DISCREET_DATA")
        return 1
    repetitions = 5 if options.quick else options.repetitions
    if options.default_ridge:
        return default_ridge(repetitions)
    kept = None if options.quick else HERE / ".runs" / f"{path.stem}_{repetitions}.jsonl"
    results = measure_all(TABLES[3:5] if options.quick else TABLES, repetitions, options.bare, kept)
    if not options.quick:
        save(path, results, repetitions)
        if not options.bare:
            draw(results)
    missed = report(results)
    return 0 if options.quick else missed  # five repetitions say nothing about bars


def measure_all(
    tables: Sequence[Table], repetitions: int, bare: bool, kept: Path | None
) -> list[dict[str, Any]]:
    """All tables; each one's line is on disk before the next begins, and isn't made again."""
    done: dict[tuple[str, int], dict[str, Any]] = {}
    if kept is not None:
        kept.parent.mkdir(exist_ok=True)
        lines = kept.read_text("utf-8").split("\n")[:-1] if kept.is_file() else []
        done = {(line["table"], line["rows"]): line for line in map(json.loads, lines)}
        kept.write_text("".join(json.dumps(line) + "\n" for line in done.values()), "utf-8")
    results = []
    for table in tables:
        for size in SIZES:
            if not (Trials.fits(table, size) or bare):
                continue
            found = done.get((table.name, size)) or measured(table, size, repetitions, bare)
            results.append(found)
            if kept is not None and (table.name, size) not in done:
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")
            print(f"{table.name}, N = {size}: done", flush=True)
    return results


def default_ridge(repetitions: int) -> int:
    """Masked data with the toolkit's own ridge and noise, where λ = 0.5 is too much of it."""
    ledger = dp.Ledger(limit=dp.PureDP(10**9), unit=dp.Unit(dp.REPLACE_ONE))
    for table in TABLES:
        if table.name not in ("Ionosphere", "Banknotes"):
            continue
        for size in SIZES:
            trials = Trials(table, size, repetitions)
            for epsilon in (5, 20, 50):
                with testing.fixed_noise(seed_of(table.name, size, epsilon)):
                    accuracies = trials.masked(epsilon, ledger, perturbation="objective")[1]
                found = mean_and_error(accuracies)
                print(f"{table.name}, N = {size}, ε = {epsilon}: {found[0]:.3f} ± {found[1]:.3f}")
    return 0


def save(path: Path, results: list[dict[str, Any]], repetitions: int) -> None:
    """A line for each table."""
    settings = {"lambda": STRENGTH, "repetitions": repetitions, "epsilons": EPSILONS}
    text = json.dumps({"settings": settings, "results": results}, separators=(",", ":"))
    path.write_text(text.replace('{"table"', '\n{"table"') + "\n")


if __name__ == "__main__":
    sys.exit(main())
