"""Decoys on digits: 0, 1 and a sensitive 3 (or 4), where the published rows show 6 (or 8) instead.

Run ``python papers/data_masking/digits.py``. The private rows are of MNIST's training part; everything
public (the axes, the bounds, the rows that masks begin with) is of its test part. The exit status is the
number of bars missed.
"""
# ruff: noqa: T201

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from sets import DATA

from discreet.publish import MaskedData

AXES, BEGIN, SAMPLES = 25, 100, 1500


def images(part: str) -> tuple[Any, Any]:
    """Images as rows between 0 and 1, and their digits."""
    found = []
    for kind, head in (("images-idx3", 16), ("labels-idx1", 8)):
        with gzip.open(DATA / "mnist" / f"{part}-{kind}-ubyte.gz") as file:
            found.append(np.frombuffer(file.read(), np.uint8)[head:])
    return found[0].reshape(len(found[1]), -1) / 255.0, found[1].astype(np.int64)


def main() -> int:
    """The number of bars that were missed."""
    if not (DATA / "mnist").is_dir():
        print(f"no digits in {DATA}: set DISCREET_DATA")
        return 1
    public, public_digits = images("t10k")
    private, private_digits = images("train")
    mean = public.mean(axis=0)
    axes = np.linalg.svd(public[:3000] - mean, full_matrices=False)[2][:AXES]
    public, private = ((rows - mean) @ axes.T for rows in (public, private))
    low, high = np.quantile(public, [0.01, 0.99], axis=0)
    missed = 0
    for sensitive, decoy in ((3, 6), (4, 8)):
        keep = np.isin(private_digits, (0, 1, sensitive))
        x, y = private[keep], private_digits[keep]
        train, test = slice(0, 12_000), slice(12_000, None)
        shown = [np.flatnonzero(public_digits == digit)[:BEGIN] for digit in (0, 1, decoy)]
        start = public[np.concatenate(shown)], np.repeat([0, 1, sensitive], BEGIN)
        for epsilon in (1.0, 10.0):
            masked = MaskedData(
                epsilon=epsilon,
                bounds=(low, high),
                classes=[0, 1, sensitive],
                start=start,
                samples=SAMPLES,
                random_state=0,
            ).fit(x[train], y[train])
            found = masked.classifier().fit(masked.X_, masked.y_)
            begun = masked.classifier().fit(*start)
            one, other = ((m.coef_ - m.coef_.mean(axis=0)).ravel() for m in (found, masked))
            cosine = float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
            good = cosine >= 0.9999 and masked.gradient_ <= 1e-8
            missed += not good
            print(
                f"0, 1, {sensitive} with {decoy} for {sensitive}, ε = {epsilon:g}: accuracy of the private "
                f"weights {masked.score(x[test], y[test]):.3f}, of masked rows "
                f"{found.score(x[test], y[test]):.3f}, of the public start alone "
                f"{begun.score(x[test], y[test]):.3f}; gradient {masked.gradient_:.1e}, cosine "
                f"{cosine:.6f}, scale {masked.scale_:.3f}  {'PASS' if good else 'FAIL'}",
                flush=True,
            )
    return missed


if __name__ == "__main__":
    sys.exit(main())
