"""Auditing a training algorithm on one record: many runs with it, many without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri

from discreet.audit.bounds import TwoOutcomes, epsilon_floor
from discreet.audit.membership.game import Answers, class_probabilities, rows, table, trainer
from discreet.rational import Number, as_integer, probability

__all__ = ["RecordAudit", "audit_record", "audit_scores"]

Floats = npt.NDArray[np.float64]

#: How many thresholds are tried on the first half of the runs.
_THRESHOLDS = 64


@dataclass(frozen=True, repr=False)
class RecordAudit:
    """How well one event, chosen on other runs, tells runs with a record from runs without it.

    Parameters
    ----------
    event : str
        The event, in words.
    outcomes : TwoOutcomes
        How often it happened, in independent runs that had no part in choosing it.
    """

    event: str
    outcomes: TwoOutcomes
    delta: float
    confidence: float

    @property
    def epsilon(self) -> float:
        """The algorithm isn't (ε, `delta`)-DP for any smaller ε, with `confidence`."""
        return epsilon_floor(self.outcomes, self.delta, self.confidence)

    @property
    def mu(self) -> float:
        """The algorithm isn't μ-Gaussian DP for any smaller μ: Φ⁻¹(p) - Φ⁻¹(q) (Dong, Roth & Su 2022).

        Bounds that leave no difference give 0: they favour neither direction.
        """
        p, q = self.outcomes.bounds(self.confidence)
        return max(0.0, float(ndtri(p) - ndtri(q))) if p > q else 0.0

    def __repr__(self) -> str:
        found = self.outcomes
        return (
            f"Event: {self.event}.\n"
            f"  {found.hits} of {found.trials} runs against {found.other_hits} of {found.other_trials}.\n"
            f"  ε >= {self.epsilon:.3g} at δ = {self.delta:g}, μ >= {self.mu:.3g}, each with confidence "
            f"{self.confidence:.1%}, for the training algorithm."
        )


def audit_record(
    algorithm: Any,
    X: Any,
    y: npt.ArrayLike,
    record: int,
    *,
    runs: int = 200,
    score: Callable[[Any], float] | None = None,
    delta: Number = 0,
    confidence: float = 0.95,
) -> RecordAudit:
    """Train `runs` models with a record and `runs` without it, and bound ε by a score of the models.

    Parameters
    ----------
    algorithm : classifier or callable
        See `trainer`. Its randomness must be fresh in each run (`random_state=None`); a fixed seed makes
        all runs one and the same, and then nothing here holds.
    X, y : arrays
    record : int
        Which row comes and goes.
    runs : int
        How many models to train with the record, and how many without.
    score : callable of a fitted model, optional
        By default the log-odds of the record's class.

    Privacy
    -------
    Unit: add/remove of one record. Half of the runs choose the event, the other half test it, so that the
    floor is valid (`epsilon_floor`).
    """
    records, labels = table(X), np.asarray(y)
    train = trainer(algorithm)
    as_integer(runs, "runs", minimum=4)
    if not 0 <= as_integer(record, "record") < len(records):
        raise ValueError("record must be the number of a row of X.")
    classes, codes = np.unique(labels, return_inverse=True)
    own = np.array([record])

    def log_odds(model: Any) -> float:
        said = class_probabilities(model, rows(records, own), classes)
        return float(Answers(np.zeros((1, 1), np.bool_), said[None], codes[own]).log_odds()[0, 0])

    ask = score or log_odds
    others = np.arange(len(records)) != record
    inside = [ask(train(records, labels)) for _ in range(runs)]
    outside = [ask(train(rows(records, others), labels[others])) for _ in range(runs)]
    return audit_scores(inside, outside, delta=delta, confidence=confidence)


def audit_scores(
    inside: npt.ArrayLike, outside: npt.ArrayLike, *, delta: Number = 0, confidence: float = 0.95
) -> RecordAudit:
    """Bound ε by one score of each of many independent runs with and without a record.

    The first half of each list chooses a threshold, a side and a direction; the second half tests it.
    """
    values, other = np.asarray(inside, np.float64), np.asarray(outside, np.float64)
    if min(len(values), len(other)) < 2 or values.ndim != 1 or other.ndim != 1:
        raise ValueError("inside and outside must be lists of at least two numbers.")
    if np.isnan(values).any() or np.isnan(other).any():
        raise ValueError("inside and outside must be numbers: NaN can't be ordered.")
    chance = float(probability(delta, "delta"))
    halves = len(values) // 2, len(other) // 2
    found = _choose(values[: halves[0]], other[: halves[1]], chance, confidence)
    outcomes = _count(values[halves[0] :], other[halves[1] :], *found)
    threshold, above, direct = found
    side, kind = ">=" if above else "<", "with" if direct else "without"
    words = f"score {side} {threshold:.4g}, in runs {kind} the record"
    return RecordAudit(words, outcomes, chance, confidence)


def _choose(
    values: Floats, other: Floats, delta: float, confidence: float
) -> tuple[float, bool, bool]:
    """The event (threshold, side, direction) with the highest floor on these runs."""
    levels = np.linspace(0, 1, _THRESHOLDS)
    grid = np.unique(np.quantile(np.concatenate([values, other]), levels, method="nearest"))
    sizes = np.array([[len(values)], [len(other)]])
    above = np.array([(x >= grid[:, None]).sum(axis=1) for x in (values, other)])
    hits = np.stack([above, sizes - above], axis=1)  # (with or without, side, threshold)
    trials, risk = sizes[:, :, None], (1 - confidence) / 2
    with np.errstate(invalid="ignore"):  # no hits, or no misses
        low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), trials - hits + 1, risk), 0.0)
        high = np.where(
            hits < trials, betaincinv(hits + 1, np.maximum(trials - hits, 1), 1 - risk), 1.0
        )
    worth = np.log(np.maximum(low - delta, 1e-300)) - np.log(high[::-1])
    direction, side, threshold = np.unravel_index(int(np.argmax(worth)), worth.shape)
    return float(grid[threshold]), bool(side == 0), bool(direction == 0)


def _count(
    values: Floats, other: Floats, threshold: float, above: bool, direct: bool
) -> TwoOutcomes:
    hits, others = (
        int((x >= threshold).sum() if above else (x < threshold).sum()) for x in (values, other)
    )
    counts = TwoOutcomes(hits, len(values), others, len(other))
    return counts if direct else counts.swapped
