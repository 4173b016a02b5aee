"""Risk minimisation many times at once, on a few rows: the toolkit's own noise, a solver for many runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.models.erm.losses import Loss
from discreet.models.erm.perturbation import Perturbation

Floats = npt.NDArray[np.float64]

#: The gradient's length at which a run's minimum counts as found, for each row.
_ENOUGH = 1e-10
_STEPS, _HALVINGS = 300, 60


@dataclass(frozen=True)
class Table:
    """A few rows: features, targets, and how often each occurs."""

    x: Floats
    target: Floats
    count: Floats

    def __len__(self) -> int:
        return len(self.x)

    def joined(self, other: Table) -> Table:
        """The rows of both."""
        return Table(
            np.concatenate([self.x, other.x]),
            np.concatenate([self.target, other.target]),
            np.concatenate([self.count, other.count]),
        )


def table(rows: Iterable[tuple[Any, float]], width: int = 1, count: float = 1.0) -> Table:
    """Rows (x, target), x a number or `width` of them, each occurring `count` times."""
    found = list(rows)
    x = np.array([row[0] for row in found], np.float64).reshape(-1, width)
    return Table(x, np.array([row[1] for row in found], np.float64), np.full(len(x), count))


@dataclass(frozen=True)
class Batch:
    """The objective on a table, for weights of many runs: of shape (runs, outputs, features)."""

    loss: Loss
    rows: Table
    regulariser: float

    def _margins(self, w: Floats) -> tuple[Floats, Floats]:
        margins = np.einsum("tod,nd->tno", w, self.rows.x).reshape(-1, self.loss.outputs)
        return margins, np.tile(self.rows.target, len(w))

    def gradient(self, w: Floats) -> Floats:
        """Without b."""
        slope = self.loss.gradient(*self._margins(w)).reshape(
            len(w), len(self.rows), self.loss.outputs
        )
        slope = slope * self.rows.count[:, None]
        return np.asarray(np.einsum("tno,nd->tod", slope, self.rows.x) + self.regulariser * w)

    def hessian(self, w: Floats) -> Floats:
        """As matrices of shape (runs, weights, weights)."""
        outputs, size = self.loss.outputs, w.shape[1] * w.shape[2]
        bend = self.loss.curvature(*self._margins(w)).reshape(
            len(w), len(self.rows), outputs, outputs
        )
        bend = bend * self.rows.count[:, None, None]
        x = self.rows.x
        found = np.einsum("tnop,nd,ne->todpe", bend, x, x, optimize=True)
        return np.asarray(found.reshape(len(w), size, size) + self.regulariser * np.eye(size))

    def minima(self, tilt: Floats) -> Floats:
        """The minimum for each b, by damped Newton steps of those runs that are not there yet."""
        w = np.zeros_like(tilt)
        gradient = self.gradient(w) + tilt
        enough = _ENOUGH * (1 + float(self.rows.count.sum()))
        for _ in range(_STEPS):
            length = _lengths(gradient)
            left = np.flatnonzero(length > enough * (1 + 1e-3 * np.abs(tilt).max(axis=(1, 2))))
            if not len(left):
                break
            flat = gradient[left].reshape(len(left), -1, 1)
            step = -np.linalg.solve(self.hessian(w[left]), flat).reshape(w[left].shape)
            share = np.ones(len(left))
            for _ in range(_HALVINGS):
                moved = w[left] + share[:, None, None] * step
                found = self.gradient(moved) + tilt[left]
                bad = _lengths(found) > (1 - share / 4) * length[left]
                if not bad.any():
                    break
                share[bad] /= 2
            w[left], gradient[left] = moved, found
        return w


def _lengths(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt((vectors**2).sum(axis=(1, 2))))


def runs(
    plan: Perturbation, weaken: int = 1, *, final: bool = True
) -> Callable[[Table, int], Floats]:
    """The whole mechanism, many runs at once: b, minimum, rounding, noise on it.

    b and noise come from the plan's own methods. A copy that is to be caught has 1/`weaken` of the noise,
    or without `final` no noise on the minimum.
    """
    loss, width = plan.task.loss, plan.task.width

    def run(rows: Table, trials: int) -> Floats:
        drawn = plan.draws(trials)
        tilted = bool(drawn.any())
        tilt = (drawn // weaken).astype(np.float64) * float(plan.step)
        batch = Batch(loss, rows, float(plan.regulariser))
        # without b all runs have the same minimum
        each = batch.minima(tilt.reshape(-1, loss.outputs, width)[: trials if tilted else 1])
        w = np.broadcast_to(each.reshape(len(each), -1), (trials, loss.outputs * width))
        if not final:
            return np.asarray(w)
        units = np.rint(w / float(plan.grid)).astype(np.int64)
        if tilted or weaken == 1:
            return plan.release(units)
        there = units * float(plan.grid)
        return np.asarray(there + (plan.release(units) - there) / weaken)

    return run
