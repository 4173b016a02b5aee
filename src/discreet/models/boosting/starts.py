"""Where boosting starts, from the noised first answer: everything here is post-processing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discreet.models.boosting.layout import count_rows
from discreet.models.boosting.learning import Start
from discreet.models.boosting.prior import Prior, centre
from discreet.models.posterior import shrink_shares
from discreet.models.tree.target import Target
from discreet.queries.residuals import CENTRE, REACH

Floats = npt.NDArray[np.float64]

#: The share of the first shapes that is kept: each of them alone explains all it can.
START = 0.3
#: With more columns than this, first shapes are smaller in proportion, so that their sum isn't larger.
MANY_COLUMNS = 10
#: How much the first answer counts beside residuals: it knows nothing of other columns.
FIRST_TRUST = 0.1
#: The variance that an intercept of classes gains in a step, as shapes change about it.
DRIFT = 1e-4
#: The least curvature per row that is believed.
MIN_CURVATURE = 0.02
#: The least share of an even part of the rows that a cell is believed to hold.
MIN_PART = 0.05
#: How far shares of a class vary from cell to cell, in units of p(1 - p).
VARYING = 0.7
#: Where residuals are clipped: those of classes, and those of numbers in standard deviations of the target.
CLASS_CLIP, NUMBER_CLIP = 0.5, 1.25
#: A mean is left as it is whose error is at most this share of the target's standard deviation: means of
#: clipped residuals are off by as much.
CERTAIN = 0.1


def shrink_counts(counts: Floats, errors: Floats, total: float) -> Floats:
    """Noised counts shrunk towards equal ones by their noise (James & Stein 1961); none is nearly 0."""
    even = total / len(counts)
    apart, noise = counts - even, float(np.square(errors).sum())
    kept = max(0.0, 1 - noise / max(float(np.square(apart).sum()), 1e-12))
    return np.maximum(even + kept * apart, MIN_PART * even)


def class_start(
    counts: Sequence[Floats],
    cells: Sequence[Floats],
    noise: float,
    places: Sequence[int],
    is_ordered: list[bool],
) -> Start:
    """Shrunk log-odds of the classes at `places`, from noised counts of shape (cells, classes).

    Each count is the sum of this many `cells`, each with noise of deviation `noise`.
    """
    labels = counts[0].shape[1]
    own = [noise * np.sqrt(joined) for joined in cells]
    weights = np.array([1 / float(joined.sum()) for joined in cells])
    total = count_rows([c.sum(axis=1) for c in counts], [o * np.sqrt(labels) for o in own])
    sums = np.average([c.sum(axis=0) for c in counts], axis=0, weights=weights)
    shares = np.clip(sums / total, 0.0, 1.0)
    base = shrink_shares(shares, noise / float(np.sqrt(weights.sum())) / total)[list(places)]
    base = np.clip(base, 1e-3, 1 - 1e-3)
    bend_each = base * (1 - base)
    prior = Prior.of(len(counts))
    rows, curvature, values, errors, wanted = [], [], [], [], []
    for count, error, ordered in zip(counts, own, is_ordered, strict=True):
        here = shrink_counts(count.sum(axis=1), error * np.sqrt(labels), total)
        # shares between their own and those of all rows, by noise and number of rows
        varying = np.square(here[:, None] * VARYING * bend_each)
        kept = varying / (varying + error[:, None] ** 2 + here[:, None] * bend_each)
        share = base + kept * (count[:, list(places)] / here[:, None] - base)
        share = np.clip(share, 0.01, 0.99)
        bend = np.maximum(here[:, None] * share * (1 - share), MIN_CURVATURE * here[:, None])
        raw = np.clip((count[:, list(places)] + 4 * base) / (here[:, None] + 4), 0.01, 0.99)
        odds = np.log(raw / (1 - raw)) - np.log(base / (1 - base))
        shrinkage = prior.shrinkage(bend, float(np.sqrt(np.mean(error**2))), ordered)
        scale = START * min(1.0, MANY_COLUMNS / len(counts))
        rows.append(here)
        curvature.append(bend)
        values.append(scale * centre(shrinkage.apply(odds), here))
        errors.append(scale * shrinkage.errors)
        wanted.append(scale * odds)
    intercept = np.log(base) - np.log(1 - base)
    if len(places) > 1:  # scores of several classes are compared with each other
        intercept = np.log(base) - np.log(base).mean()
    variance = noise**2 / weights.sum() / (total * bend_each) ** 2
    variance = np.minimum(variance, 1.0) + 1e-3
    return Start(
        rows,
        curvature,
        values,
        errors,
        wanted,
        noise**2 / FIRST_TRUST,
        intercept,
        variance,
        prior,
        is_ordered,
        CLASS_CLIP,
        REACH / CENTRE,
        DRIFT,
    )


def number_start(
    answers: Sequence[Floats],
    cells: Sequence[Floats],
    noise: Floats,
    target: Target,
    is_ordered: list[bool],
) -> Start:
    """Shrunk means of the target u in [-1, 1], from noised counts and sums by cell."""
    own = [noise[:, None] * np.sqrt(joined) for joined in cells]
    total = count_rows([a[:, 0] for a in answers], [o[0] for o in own])
    mean, deviation = float(np.clip(target.mean, -1, 1)), target.deviation
    prior = Prior.of(len(answers), deviation)
    rows, values, errors, wanted = [], [], [], []
    for answer, error, ordered in zip(answers, own, is_ordered, strict=True):
        here = shrink_counts(answer[:, 0], error[0], total)
        # the sum of u - mean, with the noise of both
        left = (answer[:, 1] - mean * answer[:, 0])[:, None]
        noisy = float(np.sqrt(np.mean(error[1] ** 2 + (mean * error[0]) ** 2)))
        shrinkage = prior.shrinkage(here[:, None], noisy, ordered)
        scale = START * min(1.0, MANY_COLUMNS / len(answers))
        rows.append(here)
        values.append(scale * centre(shrinkage.apply(left / here[:, None]), here))
        errors.append(scale * shrinkage.errors)
        wanted.append(scale * left / here[:, None])
    curvature = [here[:, None] for here in rows]
    clip = NUMBER_CLIP * deviation
    doubt = np.array([max(0.0, target.mean_error**2 - (CERTAIN * deviation) ** 2)])
    return Start(
        rows,
        curvature,
        values,
        errors,
        wanted,
        float(noise[1]) ** 2 / FIRST_TRUST,
        np.array([mean]),
        doubt,
        prior,
        is_ordered,
        clip,
    )
