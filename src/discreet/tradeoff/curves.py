"""A curve of utility against ε: means of repeated fits, with their uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.stats import t as student

from discreet.measures import Measure, measure_from_dict
from discreet.show import Shown, Table, decode_value, encode_value, read_document, write_document

__all__ = ["Curve", "Point"]


@final
@dataclass(frozen=True)
class Point:
    """The utility of a model at one ε.

    Attributes
    ----------
    model : str
    epsilon : float
        Infinite for the non-private line.
    scores : tuple of float
        One for each repeat.
    """

    model: str
    epsilon: float
    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over repeats."""
        return float(np.mean(self.scores))

    @property
    def stderr(self) -> float:
        """The standard error of the mean; infinite for one repeat, from which nothing is known."""
        n = len(self.scores)
        return float(np.std(self.scores, ddof=1)) / math.sqrt(n) if n > 1 else math.inf

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the mean of many repeats lies, by Student's t."""
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        if math.isinf(self.stderr):
            return -math.inf, math.inf
        far = float(student.ppf((1 + level) / 2, len(self.scores) - 1)) * self.stderr
        return self.mean - far, self.mean + far


@final
@dataclass(frozen=True, repr=False)
class Curve(Shown):
    """Utility against ε, as `discreet.tradeoff.curve` measured it.

    It can be shown: `to_frame`, `to_csv`, `to_json`, in a notebook, and in `dp.write_report`.

    Attributes
    ----------
    points : tuple of Point
        For each model and ε; those of the non-private line have ε = ∞.
    metric : str
    is_better_if_larger : bool
    delta : float
        Of each fit.
    is_public : bool
        Whether it was measured on rows declared public: then nothing was charged, and nothing is private.
    charged : tuple of Measure
        What was charged, one for each fit and one for each score; empty for public rows.

    Privacy
    -------
    On private rows every fit and every score was a release of its own, through the door; this is
    post-processing of them.

    Examples
    --------
    >>> from discreet.tradeoff import Curve
    >>> from discreet.tradeoff.curves import Point
    >>> points = (Point("NB", 0.1, (0.60, 0.70, 0.65)), Point("NB", 1.0, (0.80, 0.81, 0.82)))
    >>> curve = Curve(points, "accuracy", True, 0.0, True)
    >>> curve.models, curve.epsilons, round(curve.point("NB", 1.0).mean, 2)
    (('NB',), (0.1, 1.0), 0.81)
    """

    points: tuple[Point, ...]
    metric: str
    is_better_if_larger: bool
    delta: float
    is_public: bool
    charged: tuple[Measure, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(dict.fromkeys(point.model for point in self.points))

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The finite ε, in increasing order."""
        return tuple(sorted({p.epsilon for p in self.points if math.isfinite(p.epsilon)}))

    def point(self, model: str, epsilon: float) -> Point:
        """The point of a model at an ε that was tried; ``math.inf`` is the non-private line."""
        for one in self.points:
            if one.model == model and one.epsilon == epsilon:
                return one
        tried = ", ".join(f"{one:g}" for one in self.epsilons)
        raise KeyError(
            f"the curve has no point of {model!r} at epsilon {epsilon:g}; it has {', '.join(self.models)} at "
            f"{tried}."
        )

    @property
    def origin(self) -> str:
        """Where the figures come from, in a sentence."""
        if self.is_public:
            return "From rows declared public: nothing was charged, and nothing here is private."
        return (
            f"From private rows: {len(self.charged)} charges, one for each fit and one for each score. A "
            "line without noise can't be drawn: it would reveal these rows."
        )

    def to_table(self, level: float = 0.95) -> Table:
        """The mean of each model at each ε, its standard error, an interval, and the number of repeats."""
        rows = [
            (
                p.model,
                p.epsilon,
                p.mean,
                _known(p.stderr),
                *map(_known, p.interval(level)),
                len(p.scores),
            )
            for p in self.points
        ]
        columns = ("model", "epsilon", "mean", "stderr", "lower", "upper", "repeats")
        mark = "  [NOT PRIVATE]" if self.is_public else ""
        note = f"{self.origin}\nlower, upper: the mean of many repeats, level {level:g}, by Student's t."
        return Table(
            columns, rows, f"{self.metric} against epsilon, delta {self.delta:g}{mark}", note
        )

    def to_json(self) -> str:
        """The curve as JSON, exact to the last digit."""
        body = {
            "metric": self.metric,
            "is_better_if_larger": self.is_better_if_larger,
            "delta": self.delta,
            "is_public": self.is_public,
            "charged": [measure.to_dict() for measure in self.charged],
            "points": [
                {"model": p.model, "epsilon": encode_value(p.epsilon), "scores": list(p.scores)}
                for p in self.points
            ],
        }
        return write_document("tradeoff", 1, body)

    @classmethod
    def from_json(cls, text: str) -> Curve:
        """A curve that `to_json` wrote. Nothing in the text is run, and nothing in it is checked."""
        with read_document(text, "tradeoff", 1) as body:
            points = tuple(
                Point(
                    str(one["model"]),
                    float(decode_value(one["epsilon"])),
                    tuple(float(score) for score in one["scores"]),
                )
                for one in body["points"]
            )
            for name in ("is_better_if_larger", "is_public"):
                if not isinstance(body[name], bool):
                    raise TypeError(name)
            charged = tuple(map(measure_from_dict, body["charged"]))
            larger, public = body["is_better_if_larger"], body["is_public"]
            return cls(points, str(body["metric"]), larger, float(body["delta"]), public, charged)

    def __repr__(self) -> str:
        return str(self.to_table())


def _known(value: float) -> Any:
    return value if math.isfinite(value) else None
