"""Accuracy against privacy of masked data and input perturbation, as in Pham, Ghosh & Yegneswaran.

Run ``python papers/data_masking/run.py`` (six minutes on one free core; ``--quick`` a few seconds). It writes
``results.json`` and ``curves.png`` beside itself and prints the bars; the exit status is the number of
bars missed. ``--bare`` draws training rows as they come and has no constant feature; it writes
``results_bare.json`` alone. ``--report`` prints the bars of the results that are there.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parent))

from sets import DATA, TABLES, Table

import discreet as dp
from discreet.publish import MaskedData, RowPerturbation

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

HERE = Path(__file__).parent
EPSILONS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
SIZES = (100, 200)
STRENGTH = 0.5
DESCENTS = 20

PLAIN, OUTPUT, MASKED, INPUT = (
    "not private",
    "output perturbation",
    "masked data",
    "input perturbation",
)
OUTPUT_PUBLISHED = "output perturbation, published"
MASKED_PUBLISHED = "masked data, published"
INPUT_PUBLISHED = "input perturbation, published"
INPUT_GAMMA = "input perturbation, norm-Gamma"
METHODS = (
    PLAIN,
    OUTPUT,
    MASKED,
    INPUT,
    INPUT_GAMMA,
    OUTPUT_PUBLISHED,
    MASKED_PUBLISHED,
    INPUT_PUBLISHED,
)


def logistic(x: Floats, signs: Floats) -> Floats:
    """argmin (1/N)·Σ log(1 + e^(-s·w·x)) + λ/2·‖w‖² for many tables at once."""
    rows = x * signs[:, :, None]
    trials, count, width = rows.shape
    w = np.zeros((trials, width))

    def value(w: Floats) -> Floats:
        scores = np.einsum("tnd,td->tn", rows, w)
        return np.logaddexp(0, -scores).mean(axis=1) + STRENGTH / 2 * (w**2).sum(axis=1)

    now = value(w)
    for _ in range(100):
        missed = 1 / (1 + np.exp(np.clip(np.einsum("tnd,td->tn", rows, w), -700, 700)))
        gradient = STRENGTH * w - np.einsum("tn,tnd->td", missed, rows) / count
        if np.abs(gradient).max() < 1e-9:
            break
        bent = rows * (missed * (1 - missed))[:, :, None]
        hessian = np.matmul(bent.transpose(0, 2, 1), rows) / count + STRENGTH * np.eye(width)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        share = np.ones(trials)
        for _ in range(40):
            tried = value(w - share[:, None] * step)
            worse = tried > now - 1e-4 * share * (step * gradient).sum(axis=1) + 1e-15
            if not worse.any():
                break
            share = np.where(worse, share / 2, share)
        w = w - share[:, None] * step
        now = value(w)
    return w


def clipped(rows: Floats, norm: float) -> Floats:
    """Rows longer than `norm` scaled down to it, as the toolkit does."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows * np.minimum(1, norm / np.maximum(length, 1e-12))


def norm_gamma(draw: np.random.Generator, scale: float, shape: tuple[int, ...]) -> Floats:
    """Noise of density ∝ exp(-‖b‖/scale), in floating point as a reader of the paper would draw it."""
    normal = draw.normal(size=shape)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    return normal * draw.gamma(shape[-1], scale, (*shape[:-1], 1))


def published_masks(weights: Floats, signs: Floats) -> Floats:
    """Algorithm 1, step 3, with the true labels: (trials, d) and (trials, N) to (trials, N, d)."""
    trials, count = signs.shape
    ones = (signs > 0).astype(np.float64)
    masked = np.zeros((trials, count, weights.shape[1]))
    residual = -count * STRENGTH * weights
    for at in range(count):
        one = ones[:, at, None]
        record, rate = np.zeros_like(weights), np.ones((trials, 1))
        left = residual.copy()
        for _ in range(DESCENTS):
            score = np.clip((record * weights).sum(1, keepdims=True), -700, 700)
            likely = 1 / (1 + np.exp(-score))
            inner = (record * left).sum(1, keepdims=True)
            slope = (one - likely) * left - likely * (1 - likely) * inner * weights
            tried = record - rate * slope
            score = np.clip((tried * weights).sum(1, keepdims=True), -700, 700)
            found = residual + (one - 1 / (1 + np.exp(-score))) * tried
            better = (found**2).sum(1, keepdims=True) < (left**2).sum(1, keepdims=True)
            record, left = np.where(better, tried, record), np.where(better, found, left)
            rate = np.where(better, 2 * rate, rate / 2)
        masked[:, at], residual = record, left
    return masked


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
    """Curves of all tables: full lines for the exact mechanisms, dotted ones as published."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    colours = {PLAIN: "0.4", OUTPUT: "tab:green", MASKED: "tab:blue", INPUT: "tab:red"}
    dotted = {MASKED_PUBLISHED: "tab:blue", INPUT_PUBLISHED: "tab:red"}
    columns = 6
    lines = -(-len(results) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(18, 2.6 * lines), sharex=True, constrained_layout=True
    )
    for axis, result in zip(axes.flat, results, strict=False):
        for style, chosen in (("-", colours), (":", dotted)):
            for method, colour in chosen.items():
                means, errors = np.transpose(result["accuracy"][method])
                axis.errorbar(EPSILONS, means, errors, ls=style, c=colour, lw=1.2, label=method)
        axis.set_xscale("log")
        axis.set_title(f"{result['table']}, N = {result['rows']}, d = {result['features']}", size=8)
    for axis in axes.flat[len(results) :]:
        axis.axis("off")
    handles, names = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    figure.supxlabel("ε")
    figure.supylabel("accuracy")
    figure.savefig(HERE / "curves.png", dpi=60)


def main() -> int:
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
    options = parser.parse_args()
    path = HERE / ("results_bare.json" if options.bare else "results.json")
    if options.report:
        return report(json.loads(path.read_text("utf-8"))["results"])
    if not DATA.is_dir():
        print(f"no tables in {DATA}: set DISCREET_DATA")
        return 1
    repetitions = 5 if options.quick else options.repetitions
    if options.default_ridge:
        return default_ridge(repetitions)
    results = []
    for table in TABLES[3:5] if options.quick else TABLES:
        for size in SIZES:
            if Trials.fits(table, size) or options.bare:
                results.append(measured(table, size, repetitions, options.bare))
                print(f"{table.name}, N = {size}: done", flush=True)
    if not options.quick:
        save(path, results, repetitions)
        if not options.bare:
            draw(results)
    return report(results)


def default_ridge(repetitions: int) -> int:
    """Masked data with the toolkit's own ridge and noise, where λ = 0.5 is too much of it."""
    ledger = dp.Ledger(limit=dp.PureDP(10**9), unit=dp.Unit(dp.REPLACE_ONE))
    for table in TABLES:
        if table.name not in ("Ionosphere", "Banknotes"):
            continue
        for size in SIZES:
            trials = Trials(table, size, repetitions)
            for epsilon in (5, 20, 50):
                found = mean_and_error(trials.masked(epsilon, ledger, perturbation="objective")[1])
                print(f"{table.name}, N = {size}, ε = {epsilon}: {found[0]:.3f} ± {found[1]:.3f}")
    return 0


def save(path: Path, results: list[dict[str, Any]], repetitions: int) -> None:
    """A line for each table."""
    settings = {"lambda": STRENGTH, "repetitions": repetitions, "epsilons": EPSILONS}
    text = json.dumps({"settings": settings, "results": results}, separators=(",", ":"))
    path.write_text(text.replace('{"table"', '\n{"table"') + "\n")


if __name__ == "__main__":
    sys.exit(main())
