"""Σ loss + (Λ/2)‖W‖² + b·W, with a gradient whose error has a public bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.models.erm.features import ONE
from discreet.models.erm.losses import Floats, Loss

#: Weights are whole multiples of this.
WEIGHT_STEP = Fraction(1, 2**56)
#: Digits of weights, so that a product with features sums up exactly in float64.
_BASE = 24
#: How many rows, and numbers, are handled together: at most about what fits the cache of a core.
CHUNK, _CELLS = 2**12, 2**17
#: Residuals are summed in two parts: multiples of this, exactly, and the small rest.
_COARSE = 2.0**16
#: No data set has more rows: they are held in memory.
MAX_ROWS = 2**28
#: Relative error of a residual in units of 2^-53: of the margin's sum, and of the few operations after it.
_ROUNDINGS = 32

Weights = list[int]


def gradient_error(loss: Loss, radius: float) -> float:
    """How far `Objective.gradient` can be from the true gradient, for any rows and weights.

    MAX_ROWS · 32 · 2^-53 · radius · √outputs · max(1, slope, trace); ``docs/proofs/erm.md`` adds it up.
    """
    return (
        MAX_ROWS
        * _ROUNDINGS
        * 2.0**-53
        * radius
        * math.sqrt(loss.outputs)
        * max(1.0, float(loss.slope), float(loss.trace))
    )


@dataclass(frozen=True, repr=False)
class Objective:
    """The objective of one data set.

    Parameters
    ----------
    features : array of shape (n, d), float32 or float64
        Integers: `ONE` times the features.
    target : array of shape (n,)
    loss : Loss
    regulariser : Fraction
        Λ.
    tilt : list of int
        b in units of `tilt_step`, for the weights in the order (output, feature).
    tilt_step : Fraction
    """

    features: npt.NDArray[Any]
    target: Floats
    loss: Loss
    regulariser: Fraction
    tilt: list[int]
    tilt_step: Fraction

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and features."""
        return self.loss.outputs, self.features.shape[1]

    def _blocks(self) -> Iterator[tuple[Floats, Floats]]:
        """Features, in float64, and targets of some rows at a time."""
        size = max(64, min(CHUNK, _CELLS // max(1, self.features.shape[1])))
        for start in range(0, len(self.features), size):
            block = np.asarray(self.features[start : start + size], np.float64)
            yield block, self.target[start : start + size]

    def gradient(self, weights: Weights) -> Floats:
        """The gradient at exact weights, within `gradient_error` of the truth."""
        outputs, width = self.shape
        digits = _digits(weights, outputs, width)
        coarse = np.zeros((outputs, width), np.int64)
        fine, lost = np.zeros((outputs, width)), np.zeros((outputs, width))
        for z, target in self._blocks():
            margins = _margins(z, digits, outputs, self.loss.relative)
            slope = self.loss.gradient(margins, target)
            whole = np.rint(slope * _COARSE)
            # |whole| ≤ 2^22, |z| ≤ 2^15, 2^12 rows: below 2^53, so this sum is exact
            sums = np.concatenate([whole, slope - whole / _COARSE], axis=1).T @ z
            coarse += sums[:outputs].astype(np.int64)
            part = sums[outputs:]
            total = fine + part
            # what float64 drops of a sum of two (Knuth 1969), so that errors don't grow with the blocks
            back = total - fine
            lost += (fine - (total - back)) + (part - back)
            fine = total
        unit = WEIGHT_STEP * self.regulariser
        size = Fraction(1, int(_COARSE) * ONE)
        exact = [
            float(unit * w + self.tilt_step * b + size * c)
            for w, b, c in zip(weights, self.tilt, coarse.ravel().tolist(), strict=True)
        ]
        return np.array(exact) + (fine + lost).ravel() / ONE

    def quick(self, weights: Floats) -> Floats:
        """The gradient in plain float64, to get near the minimum fast."""
        outputs, width = self.shape
        found = float(self.regulariser) * weights + float(self.tilt_step) * np.array(
            self.tilt, np.float64
        )
        table = weights.reshape(outputs, width).T / ONE
        sums = np.zeros((outputs, width))
        for z, target in self._blocks():
            sums += self.loss.gradient(z @ table, target).T @ z
        return np.asarray(found + sums.ravel() / ONE)

    def hessian(self, weights: Floats) -> Floats:
        """The Hessian in plain float64."""
        outputs, width = self.shape
        table = weights.reshape(outputs, width).T / ONE
        found = np.zeros((outputs, width, outputs, width))
        for z, target in self._blocks():
            bend = self.loss.curvature(z @ table, target)
            if bend.ndim == 1:
                z = z * np.sqrt(bend)[:, None]
                found[0, :, 0, :] += z.T @ z
                continue
            for one in range(outputs):
                for other in range(one, outputs):
                    if bend[:, one, other].any():
                        found[one, :, other, :] += z.T @ (z * bend[:, one, other, None])
        for one in range(outputs):
            for other in range(one):
                found[one, :, other, :] = found[other, :, one, :].T
        size = outputs * width
        return found.reshape(size, size) / ONE**2 + float(self.regulariser) * np.eye(size)

    def steepest(self) -> float:
        """A bound on the largest eigenvalue of the Hessian."""
        squares = sum(float(np.einsum("ij,ij->", z, z)) for z, _ in self._blocks()) / ONE**2
        return float(self.regulariser) + float(self.loss.trace) * squares

    def thin(self, every: int) -> Objective:
        """Thin rows to one of every so many, and Λ and b alike: roughly this objective divided by `every`."""
        return replace(
            self,
            features=np.ascontiguousarray(self.features[::every]),
            target=np.ascontiguousarray(self.target[::every]),
            regulariser=self.regulariser / every,
            tilt_step=self.tilt_step / every,
        )


def _digits(weights: Weights, outputs: int, width: int) -> list[tuple[int, Floats]]:
    """Weights as Σ digit·2^(24k - 56), digits at most 2^23 in size; highest first."""
    left, found, power = list(weights), [], 0
    half, base = 1 << (_BASE - 1), 1 << _BASE
    while any(left):
        low = [(w + half) % base - half for w in left]
        found.append((power, np.array(low, np.float64).reshape(outputs, width).T))
        left = [(w - d) >> _BASE for w, d in zip(left, low, strict=True)]
        power += 1
    return found[::-1]


def _margins(z: Floats, digits: list[tuple[int, Floats]], outputs: int, relative: bool) -> Floats:
    """Margins, to a few units in the last place of themselves.

    Where only their differences count (`relative`), less that of the largest output, subtracted digit by
    digit. Every product and difference is one of integers below 2^53: exact.
    """
    products = z @ np.concatenate([table for _, table in digits], axis=1) if digits else z[:, :0]
    scaled = [
        (math.ldexp(1.0, _BASE * power - 56 - 15), products[:, at * outputs : (at + 1) * outputs])
        for at, (power, _) in enumerate(digits)
    ]
    total = np.zeros((len(z), outputs))
    for size, part in scaled:
        total += size * part
    if not relative:
        return total
    best = total.argmax(axis=1)[:, None]
    total = np.zeros((len(z), outputs))
    for size, part in scaled:
        total += size * (part - np.take_along_axis(part, best, axis=1))
    return total
