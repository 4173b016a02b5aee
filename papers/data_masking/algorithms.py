"""The paper's algorithms as a reader would write them: many tables at once, noise in floating point."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: The paper's λ, and the steps of its descent for one masked record.
STRENGTH = 0.5
DESCENTS = 20


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
