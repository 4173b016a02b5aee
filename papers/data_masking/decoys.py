"""Decoys for a sensitive class: three classes in the plane (figure 2), and digits (figures 3 and 4).

The rows that are published show a 6 where the private ones have a 3 (an 8 for a 4), and rows made up beside
them bring the private classifier back. The private digits are drawn from MNIST's training part; everything
public (the axes, the bounds, the rows that masks begin with) is of its test part.
"""

from __future__ import annotations

import gzip
from functools import cache
from typing import Any

import numpy as np
from harness import DATA, choose_size, seed_of
from study import STUDY

from discreet import testing
from discreet.publish import MaskedData

__all__ = [
    "AXES",
    "DECOYS",
    "EPSILONS",
    "digit_classifiers",
    "digit_rows",
    "read_digits",
    "toy_masks",
]

FILES = ("mnist/train-images-idx3-ubyte.gz",)
AXES, BEGIN, SAMPLES, PRIVATE = 25, 100, 1500, 9000
#: A sensitive digit, and what is shown in its place.
DECOYS = ((3, 6), (4, 8))
EPSILONS = (1.0, 10.0)


@cache
def read_images(part: str) -> tuple[Any, Any]:
    """Images as rows between 0 and 1, and their digits."""
    found = []
    for kind, head in (("images-idx3", 16), ("labels-idx1", 8)):
        with gzip.open(DATA / "mnist" / f"{part}-{kind}-ubyte.gz") as file:
            found.append(np.frombuffer(file.read(), np.uint8)[head:])
    return found[0].reshape(len(found[1]), -1) / 255.0, found[1].astype(np.int64)


@cache
def axes() -> tuple[Any, Any]:
    """The mean and the first 25 principal axes of public images."""
    public = read_images("t10k")[0]
    mean = public.mean(axis=0)
    return mean, np.linalg.svd(public[:3000] - mean, full_matrices=False)[2][:AXES]


@cache
def read_digits(part: str) -> tuple[Any, Any]:
    """Digits on 25 axes."""
    images, digits = read_images(part)
    mean, directions = axes()
    return (images - mean) @ directions.T, digits


def digit_rows(sensitive: int, decoy: int, seed: int) -> dict[str, tuple[Any, Any]]:
    """Private rows to learn from, others to test with, and public ones to begin with."""
    rows, digits = read_digits("train")
    public, public_digits = read_digits("t10k")
    kept = np.flatnonzero(np.isin(digits, (0, 1, sensitive)))
    kept = np.random.default_rng(seed).permutation(kept)
    size = choose_size(PRIVATE, 2000)
    train, test = kept[:size], kept[size:]
    shown = [np.flatnonzero(public_digits == digit)[:BEGIN] for digit in (0, 1, decoy)]
    return {
        "train": (rows[train], digits[train]),
        "test": (rows[test], digits[test]),
        "start": (public[np.concatenate(shown)], np.repeat([0, 1, sensitive], BEGIN)),
    }


def digit_classifiers(rows: dict[str, Any], epsilon: float, seed: int) -> tuple[Any, Any, Any]:
    """The masked data; scikit-learn's classifiers of its rows, and of the start alone."""
    low, high = np.quantile(read_digits("t10k")[0], [0.01, 0.99], axis=0)
    with testing.fixed_noise(seed_of(epsilon, seed)):
        masked = MaskedData(
            epsilon=epsilon,
            bounds=(low, high),
            classes=[int(label) for label in np.unique(rows["start"][1])],
            start=rows["start"],
            samples=SAMPLES,
            random_state=seed,
        ).fit(*rows["train"])
    fit = masked.classifier().fit
    return masked, fit(masked.X_, masked.y_), masked.classifier().fit(*rows["start"])


@STUDY.experiment(DECOYS, EPSILONS, repeats=5, quick=1, needs=FILES)
def digits(decoy: tuple[int, int], epsilon: float, *, seed: int) -> dict[str, float]:
    rows = digit_rows(*decoy, seed)
    masked, found, begun = digit_classifiers(rows, epsilon, seed)
    one, other = ((m.coef_ - m.coef_.mean(axis=0)).ravel() for m in (found, masked))
    return {
        "private weights": masked.score(*rows["test"]),
        "masked rows": found.score(*rows["test"]),
        "public start alone": begun.score(*rows["test"]),
        "true rows, not private": masked.classifier().fit(*rows["train"]).score(*rows["test"]),
        "cosine": float(one @ other / np.linalg.norm(one) / np.linalg.norm(other)),
        "gradient": masked.gradient_,
    }


CENTRES = np.array([[0, 1.5], [1, 1], [1, -1]])


def toy_rows(centres: Any, count: int, draw: np.random.Generator) -> tuple[Any, Any]:
    """Rows of three classes around their centres, with variance 0.25."""
    labels = np.repeat([0, 1, 2], -(-count // 3))[:count]
    return centres[labels] + draw.normal(0, 0.5, (count, 2)), labels


def toy_masks(epsilon: float, seed: int) -> tuple[Any, Any, Any]:
    """Private rows as in the paper, decoys around (2, 2) for the third class, and masked rows."""
    draw = np.random.default_rng(seed)
    rows = toy_rows(CENTRES, 100, draw)
    decoys = CENTRES.copy()
    decoys[2] = 2, 2
    start = toy_rows(decoys, 60, draw)
    with testing.fixed_noise(seed_of(epsilon, seed)):
        masked = MaskedData(
            epsilon=epsilon,
            bounds=(-3, 4),
            classes=[0, 1, 2],
            start=start,
            samples=300,
            random_state=seed,
        ).fit(*rows)
    return rows, start, masked


@STUDY.experiment((1.0, 10.0, 100.0), repeats=20)
def toy(epsilon: float, *, seed: int) -> dict[str, float]:
    rows, start, masked = toy_masks(epsilon, seed)
    test = toy_rows(CENTRES, 3000, np.random.default_rng([seed, 1]))
    found = masked.classifier().fit(masked.X_, masked.y_)
    return {
        "private weights": masked.score(*test),
        "masked rows": found.score(*test),
        "public start alone": masked.classifier().fit(*start).score(*test),
        "true rows, not private": masked.classifier().fit(*rows).score(*test),
        "same predictions": float((found.predict(test[0]) == masked.predict(test[0])).mean()),
    }
