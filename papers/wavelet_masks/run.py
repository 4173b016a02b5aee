"""Wavelet masks (Choi & Lee 2019): denoising, QR codes, learning; and what reads the masks back.

Run ``python papers/wavelet_masks/run.py`` (three minutes on one free core; ``--quick`` some seconds). It
writes ``results.json`` beside itself and prints its tables; ``--report`` prints those of the results that are
there. The parts can be named: ``run.py denoise codes units learn``. ``figures.py`` draws the pictures.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import discreet as dp
from discreet.audit.denoise import read_back_pairs, smallest_difference
from discreet.publish.imaging import ImageMask, draw_code, parts, scan_code
from discreet.publish.learning import score_on_masked
from discreet.publish.masks import LS, LSPlus, PseudoQuantum, WaveletLaplace
from discreet.publish.wavelets import THREE_BAND

HERE = Path(__file__).parent
DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[3] / "shared" / "data"))
Floats = npt.NDArray[np.float64]

EPSILONS = (0.5, 1, 2, 4, 8)
INTENSITIES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0)
#: Ten times as many factors as the authors say that they try.
FINE = tuple(step / 100 for step in range(-100, 101))
TEXT = "https://example.org/discreet"
#: Columns of KDD Census-Income, with bounds that anyone may know: they stand in for IPUMS.
COLUMNS: dict[str, tuple[float, float]] = {
    "age": (0, 90),
    "num_persons_worked_for_employer": (0, 6),
    "weeks_worked_in_year": (0, 52),
    "own_business_or_self_employed": (0, 2),
    "veterans_benefits": (0, 2),
    "sex": (0, 1),
    "capital_gains": (0, 10_000),
    "dividends_from_stocks": (0, 10_000),
}
SCHEMA = dp.Schema({**{name: dp.Real(0, 1) for name in COLUMNS}, "income": dp.Categorical(0, 1)})


def draw_table(share: float = 0.05) -> Floats:
    """2187 rows of nine zeros and ones."""
    return (np.random.default_rng(2187).random((2187, 9)) < share).astype(np.float64)


def denoise(trials: int) -> dict[str, Any]:
    """H with the true signs of the noise, with guessed ones, and without any; and cells read back."""
    table, draw = draw_table(), np.random.default_rng(0)
    found: dict[str, Any] = {}
    for epsilon in EPSILONS:
        rows: list[list[float]] = []
        for _ in range(trials):
            masks, trace = LS(epsilon).draw(table, 1, unit=dp.PUBLIC, random_state=draw)
            guessed = draw.choice([-1.0, 1.0], trace[0, 0].shape)
            # LS divides ε by 1 + e^-γ; so this draws Laplace noise of scale 1/ε
            plain, signs = LS(epsilon * (1 + math.exp(-1))).draw(
                table, 1, unit=dp.PUBLIC, random_state=draw
            )
            rows.append(
                [
                    smallest_difference(table, masks[0], trace[0, 0]),
                    smallest_difference(table, masks[0], guessed),
                    float(np.abs(masks[0] - table).mean()),
                    smallest_difference(table, plain[0], signs[0, 0]),
                    smallest_difference(table, plain[0], signs[0, 0], FINE),
                    float((read_back_pairs(masks[0]) == table).mean()),
                ]
            )
        names = (
            "true signs",
            "guessed signs",
            "as masked",
            "true signs, scale 1/ε",
            "the same, factors by 0.01",
            "read back",
        )
        found[str(epsilon)] = dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True))
    return found


def codes(trials: int) -> dict[str, Any]:
    """How many pseudo-quantum masks of a QR code are scanned, and how many after reading back."""
    image = draw_code(TEXT, multiple=3)
    found: dict[str, Any] = {}
    for intensity in INTENSITIES:
        counts = {**dict.fromkeys(parts(image), 0), "read back": 0}
        share = 1.0
        for trial in range(trials):
            mask = PseudoQuantum(1, intensity)
            masked = mask.apply(image, unit=dp.PUBLIC, random_state=trial)
            back = read_back_pairs(masked, likely=1.0)  # the quiet zone is white
            share = min(share, float((back == image).mean()))
            for name, part in {**parts(masked), "read back": back}.items():
                counts[name] += scan_code(part) == TEXT
        shares = {name: count / trials for name, count in counts.items()}
        found[str(intensity)] = {**shares, "pixels read back": share}
    return found


def units(trials: int) -> dict[str, Any]:
    """How many repaired masks of a QR code are scanned, by what is protected."""
    found: dict[str, Any] = {}
    for pixels in (1, 3, 8):
        image = draw_code(TEXT, pixels=pixels, multiple=3)
        for words, protects in (("pixel", (1, 1)), ("module", (pixels, pixels))):
            for bank in (None, THREE_BAND):
                title = f"{pixels} × {pixels} pixels, protects a {words}, " + (
                    "plain" if bank is None else "3-band"
                )
                found[title] = {}
                for epsilon in (1, 2, 4, 8, 16, 32):
                    mask = ImageMask(image.shape, epsilon=epsilon, protects=protects, bank=bank)
                    read = [
                        scan_code(mask.randomize(image), pixels=pixels) == TEXT
                        for _ in range(trials)
                    ]
                    found[title][str(epsilon)] = float(np.mean(read))
    return found


def read_census(part: str) -> Floats:
    """Rows of KDD Census-Income, scaled to [0, 1] by the bounds, with the label in the last column."""
    import pandas as pd

    names = [*COLUMNS, "income"]
    frame = pd.read_parquet(DATA / f"kdd_census_income_{part}.parquet", columns=names)
    frame["sex"] = (frame["sex"] == "Female").astype(int)
    low, high = np.array(list(COLUMNS.values()), np.float64).T
    x = np.clip((frame[list(COLUMNS)].to_numpy(np.float64) - low) / (high - low), 0, 1)
    return np.column_stack([x, frame["income"].str.startswith("50000")])


def learn(trials: int) -> dict[str, Any]:
    """Logistic regression on masked rows: accuracy, balanced accuracy, and the rate of the majority."""
    from sklearn.linear_model import LogisticRegression

    if not (DATA / "kdd_census_income_train.parquet").is_file():
        print(f"learn: left out, KDD Census-Income was not found in {DATA}")
        return {}
    rows, draw = [read_census(part) for part in ("train", "test")], np.random.default_rng(1)
    small, large = (2187, 729), (90_000, 30_000)
    masks: dict[str, tuple[Any, tuple[int, int]]] = {
        "LS": (LS, small),
        "LS+": (LSPlus, large),
        "pseudo-quantum": (PseudoQuantum, small),
        "LS+ repaired": (lambda e: WaveletLaplace(e, target="income"), large),
    }
    found: dict[str, Any] = {}
    for name, (kind, sizes) in masks.items():
        found[name] = {}
        for epsilon in (*EPSILONS, 64):
            scores = []
            for _ in range(trials if sizes is small else max(1, trials // 10)):
                chosen = [
                    dp.PrivateDataset(table[draw.choice(len(table), size)], SCHEMA, unit=dp.PUBLIC)
                    for table, size in zip(rows, sizes, strict=True)
                ]
                score = score_on_masked(
                    LogisticRegression(), kind(epsilon), *chosen, target="income", random_state=draw
                )
                scores.append((score.accuracy, score.balanced_accuracy, score.majority_rate))
            mean = np.mean(scores, axis=0).tolist()
            found[name][str(epsilon)] = dict(
                zip(("accuracy", "balanced", "majority"), mean, strict=True)
            )
    return found


PARTS = {"denoise": (denoise, 20), "codes": (codes, 20), "units": (units, 10), "learn": (learn, 50)}


def report(results: dict[str, Any]) -> None:
    """Print each part as a table of Markdown."""
    published = json.loads((HERE / "published.json").read_text("utf-8"))
    if "denoise" in results:
        for epsilon, value in published["denoising"]["H"].items():
            results["denoise"][epsilon] = {"published H": value, **results["denoise"][epsilon]}
    for part, table in results.items():
        if part == "learn":
            for name, lines in table.items():
                show(f"{part}: {name}", lines)
        else:
            show(part, table)


def show(title: str, table: dict[str, Any]) -> None:
    """Print one table."""
    names = list(next(iter(table.values()), {}))
    print(f"\n| {title} | " + " | ".join(names) + " |\n|" + " --- |" * (len(names) + 1))
    for key, line in table.items():
        print(f"| {key} | " + " | ".join(f"{line[name]:.4g}" for name in names) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="two trials, nothing written")
    parser.add_argument("--report", action="store_true", help="print the results that are there")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        sys.exit(f"no part is called {sorted(unknown)[0]!r}; there are {', '.join(PARTS)}.")
    path = HERE / "results.json"
    results: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    if not given.report:
        chosen = given.parts or list(PARTS)
        fresh = {name: PARTS[name][0](2 if given.quick else PARTS[name][1]) for name in chosen}
        results = fresh if given.quick else {**results, **fresh}
        if not given.quick:
            path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    report(results)


if __name__ == "__main__":
    main()
