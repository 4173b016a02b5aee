"""Made-up rows for which given weights are stationary: all moved at once, by least-norm Newton steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: The mean gradient must become at least this small.
TOLERANCE = 1e-12
#: Newton steps, and halvings of one.
_STEPS, _HALVINGS = 50, 12
#: The search ends where this many steps don't halve the gradient.
_PATIENCE = 6
#: How many rows are handled together.
_CHUNK = 2**11


@dataclass(frozen=True)
class Goal:
    """Weights at which the regularised logistic gradient of made-up rows must vanish.

    Attributes
    ----------
    weights : array of shape (classes, features)
    intercept : array of shape (classes,)
    pull : array of shape (classes, features)
        The gradient of the ridge, with opposite sign: Σ (1[y = c] - p_c(z))·z is to be ``pull[c]``.

    Notes
    -----
    With y in {0, 1} the signs are those of min (1/N)·Σ log(1 + e^(-s·w·x)) + λ/2·‖w‖²; Pham, Ghosh &
    Yegneswaran print the ridge of equations (1)-(3) with the opposite sign. The intercept is not in the
    ridge: Σ (1[y = c] - p_c(z)) is to be 0.
    """

    weights: Floats
    intercept: Floats
    pull: Floats

    @cached_property
    def wanted(self) -> Floats:
        """What the residuals times (z, 1) must sum up to, for all classes but the first."""
        return np.concatenate([self.pull[1:], np.zeros((len(self.pull) - 1, 1))], axis=1)

    def shares(self, z: Floats) -> Floats:
        """The classes' probabilities at points."""
        scores = z @ self.weights.T + self.intercept
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores

    def residuals(self, z: Floats, y: Integers) -> Floats:
        """1[y = c] - p_c(z) for all classes c."""
        found = -self.shares(z)
        found[np.arange(len(y)), y] += 1.0
        return found

    def gap(self, z: Floats, y: Integers) -> Floats:
        """The sum of gradients that must vanish, for all classes but the first."""
        residuals = self.residuals(z, y)[:, 1:]
        return np.concatenate([residuals.T @ z, residuals.sum(axis=0)[:, None]], axis=1) - (
            self.wanted
        )

    def less(self, z: Floats, y: Integers) -> Goal:
        """What these rows leave for others to do: a goal with `wanted` diminished."""
        rest = Goal(self.weights, self.intercept, self.pull)
        there = self.gap(z, y)
        rest.__dict__["wanted"] = -there
        return rest


def balance(goal: Goal, z: Floats, y: Integers) -> Floats:
    """Points near `z`, with labels `y`, at which the goal's gradient vanishes.

    F(z) = Σ residual ⊗ (z, 1) - wanted has far fewer coordinates than z. A step is the least change of all
    points that removes F to first order, dz = -Jᵀ(JJᵀ)⁻¹F, halved until F gets shorter. The best points found
    are returned, however good they are.
    """
    count = max(1, len(z))
    with np.errstate(all="ignore"):
        gap = goal.gap(z, y)
        length = float(np.linalg.norm(gap))
        before = [length]
        for _ in range(_STEPS):
            if not length > TOLERANCE * count:
                break
            if len(before) > _PATIENCE and length > before[-1 - _PATIENCE] / 2:
                break
            step = _minimum_step(goal, z, y, gap)
            share = 1.0
            for _ in range(_HALVINGS):
                moved = z + share * step
                found = goal.gap(moved, y)
                size = float(np.linalg.norm(found))
                if size <= (1 - share / 4) * length:
                    break
                share /= 2
            else:
                break
            z, gap, length = moved, found, size
            before.append(length)
    return z


def _minimum_step(goal: Goal, z: Floats, y: Integers, gap: Floats) -> Floats:
    """-Jᵀ(JJᵀ)⁻¹F. For class a the block of J at a row is r_a·(I, 0) + (z, 1)·b_a, b_a = ∂r_a/∂z."""
    parts = [slice(start, start + _CHUNK) for start in range(0, len(z), _CHUNK)]
    classes, width = len(goal.weights) - 1, z.shape[1]
    blocks = np.zeros((classes, width + 1, classes, width + 1))
    for part in parts:
        joined, residuals, slopes = _derivatives(goal, z[part], y[part])
        for a in range(classes):
            for b in range(a + 1):
                block = (joined * np.einsum("ij,ij->i", slopes[a], slopes[b])[:, None]).T @ joined
                block[:width] += (residuals[:, a, None] * slopes[b]).T @ joined
                block[:, :width] += joined.T @ (residuals[:, b, None] * slopes[a])
                block.ravel()[: width * (width + 1) : width + 2] += (
                    residuals[:, a] @ residuals[:, b]
                )
                blocks[a, :, b] += block
    for a in range(classes):
        for b in range(a):
            blocks[b, :, a] = blocks[a, :, b].T
    wanted = _solve(blocks.reshape(gap.size, gap.size), gap.ravel()).reshape(gap.shape)
    step = np.empty_like(z)
    for part in parts:
        joined, residuals, slopes = _derivatives(goal, z[part], y[part])
        step[part] = -(residuals @ wanted[:, :width])
        for slope, line in zip(slopes, wanted, strict=True):
            step[part] -= (joined @ line)[:, None] * slope
    return step


def _derivatives(goal: Goal, z: Floats, y: Integers) -> tuple[Floats, Floats, list[Floats]]:
    """(z, 1), the residuals of all classes but the first, and their slopes in z."""
    shares = goal.shares(z)
    mean = shares @ goal.weights
    slopes = [-shares[:, a, None] * (goal.weights[a] - mean) for a in range(1, len(goal.weights))]
    shares *= -1.0
    shares[np.arange(len(y)), y] += 1.0
    return np.concatenate([z, np.ones((len(z), 1))], axis=1), shares[:, 1:], slopes


def _solve(matrix: Floats, right: Floats) -> Floats:
    """The solution in coordinates of equal size, or the least one where the matrix is singular."""
    size = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    even = matrix / size / size[:, None]
    if not np.isfinite(even).all():
        return np.zeros_like(right)
    try:
        found = np.linalg.solve(even, right / size)
    except np.linalg.LinAlgError:
        found = np.full_like(right, np.nan)
    if not np.isfinite(found).all():
        found = np.linalg.lstsq(even, right / size, rcond=1e-13)[0]
    return np.asarray(found / size)
