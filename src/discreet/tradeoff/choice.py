"""Which ε for a wanted utility, and which utility for an ε: with what is known, not with what is hoped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from scipy.stats import t as student

from discreet.show import Shown, Table
from discreet.tradeoff.curves import Curve, Point

__all__ = ["Recommendation", "recommend"]


@final
@dataclass(frozen=True)
class Recommendation(Shown):
    """What a curve recommends.

    Attributes
    ----------
    model : str
    epsilon : float
    mean, stderr : float
        The utility of `model` at `epsilon`, over `repeats` repeats.
    repeats : int
    lower : float
        The mean of many repeats is at least this good, with confidence `level` (one-sided; for a loss, at
        most this bad).
    level : float
    words : str
        Why, and what comes next.

    Examples
    --------
    >>> from discreet.tradeoff import Curve, recommend
    >>> from discreet.tradeoff.curves import Point
    >>> points = (Point("NB", 0.1, (0.60, 0.70, 0.65)), Point("NB", 1.0, (0.80, 0.81, 0.82)))
    >>> advice = recommend(Curve(points, "accuracy", True, 0.0, True), utility=0.75)
    >>> advice.model, advice.epsilon, advice.repeats
    ('NB', 1.0, 3)
    """

    model: str
    epsilon: float
    mean: float
    stderr: float
    repeats: int
    lower: float
    level: float
    words: str

    def to_table(self, level: float = 0.95) -> Table:
        """The recommendation as a table of one row."""
        columns = ("model", "epsilon", "mean", "stderr", "repeats", "sure of")
        row = (self.model, self.epsilon, self.mean, self.stderr, self.repeats, self.lower)
        return Table(columns, [row], "Recommended", self.words)

    def __str__(self) -> str:
        return str(self.to_table())


def recommend(
    curve: Curve,
    *,
    utility: float | None = None,
    epsilon: float | None = None,
    level: float = 0.95,
) -> Recommendation:
    """The smallest ε for a wanted utility, or the best utility for an ε.

    Parameters
    ----------
    curve : Curve
    utility : float
        The wanted value of the curve's metric: at least this, or at most for a loss. The smallest ε whose
        mean reaches it *with confidence* `level` is recommended, and not one whose few repeats were lucky.
    epsilon : float
        The most that may be spent: the model with the best mean at the largest ε of the curve within it.
    level : float

    Raises
    ------
    ValueError
        If no ε that was tried will do.

    Examples
    --------
    >>> from discreet.tradeoff import Curve, recommend
    >>> from discreet.tradeoff.curves import Point
    >>> points = (Point("NB", 0.1, (0.60, 0.70, 0.65)), Point("NB", 1.0, (0.80, 0.81, 0.82)))
    >>> found = recommend(Curve(points, "accuracy", True, 0.0, True), utility=0.75)
    >>> found.epsilon, round(found.mean, 2)
    (1.0, 0.81)

    Privacy
    -------
    Post-processing of the curve. Its level is that of one comparison: the ε that is chosen among many because
    it was good enough is, over many choices, a little worse than it looked.
    """
    if not isinstance(curve, Curve):
        raise TypeError(f"curve must be what tradeoff.curve gave, not {type(curve).__name__}.")
    if (utility is None) == (epsilon is None):
        raise ValueError(
            "give either utility, the wanted value of the metric, or epsilon, the most to spend."
        )
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}.")
    if utility is not None:
        return _find_epsilon(curve, float(utility), level)
    assert epsilon is not None
    return _find_utility(curve, float(epsilon), level)


def _sign(curve: Curve) -> float:
    return 1.0 if curve.is_better_if_larger else -1.0


def _sure(curve: Curve, point: Point, level: float) -> float:
    """The one-sided bound on the mean, on the bad side."""
    if math.isinf(point.stderr):
        return -_sign(curve) * math.inf
    far = float(student.ppf(level, len(point.scores) - 1)) * point.stderr
    return point.mean - _sign(curve) * far


def _finite(curve: Curve) -> list[Point]:
    return [point for point in curve.points if math.isfinite(point.epsilon)]


def _find_epsilon(curve: Curve, utility: float, level: float) -> Recommendation:
    sign = _sign(curve)
    points = sorted(_finite(curve), key=lambda p: (p.epsilon, -sign * p.mean))
    sure = [p for p in points if sign * _sure(curve, p, level) >= sign * utility]
    hoped = [p for p in points if sign * p.mean >= sign * utility]
    best = max(points, key=lambda p: sign * p.mean)
    if not sure:
        reached = f"{best.mean:.4g} ± {best.stderr:.2g} ({best.model} at epsilon {best.epsilon:g})"
        more = (
            "more repeats may show that it is reached"
            if hoped
            else "try larger epsilons or other models"
        )
        raise ValueError(
            f"no epsilon of the curve reaches {curve.metric} {utility:g} with confidence {level:g}: the best "
            f"mean is {reached}; {more}."
        )
    goal = f"{curve.metric} reaches {utility:g} with confidence {level:g}"
    words = f"The smallest epsilon tried whose mean {goal}."
    if hoped[0].epsilon < sure[0].epsilon:
        words += (
            f" Epsilon {hoped[0].epsilon:g} ({hoped[0].model}) may do: its mean is {hoped[0].mean:.4g}, but "
            f"{len(hoped[0].scores)} repeats are too few to be sure."
        )
    return _finish(curve, sure[0], level, words)


def _find_utility(curve: Curve, epsilon: float, level: float) -> Recommendation:
    sign = _sign(curve)
    within = [p for p in _finite(curve) if p.epsilon <= epsilon]
    if not within:
        raise ValueError(
            f"epsilon {epsilon:g} is below all that were tried: the smallest is {min(curve.epsilons):g}."
        )
    largest = max(p.epsilon for p in within)
    order = sorted((p for p in within if p.epsilon == largest), key=lambda p: -sign * p.mean)
    words = f"The best mean {curve.metric} at epsilon {largest:g}, the largest tried within {epsilon:g}."
    if len(order) > 1:
        first, second = order[:2]
        apart = abs(first.mean - second.mean) / math.hypot(first.stderr, second.stderr or 1e-300)
        if not apart > 2:
            words += (
                f" {second.model} is not told apart from it by these repeats ({second.mean:.4g})."
            )
    return _finish(curve, order[0], level, words)


def _finish(curve: Curve, point: Point, level: float, words: str) -> Recommendation:
    numbers = (point.mean, point.stderr, len(point.scores), _sure(curve, point, level), level)
    return Recommendation(point.model, point.epsilon, *numbers, f"{words} {curve.origin}")
