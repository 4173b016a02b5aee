"""Fairness by group: how well a model serves each group, and how much of the gap privacy added."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from discreet.dataset import PrivateDataset
from discreet.measures import Measure, PureDP, measure_from_dict
from discreet.models.metrics import GroupCounts, Score, private_score
from discreet.models.metrics.groups import DEFAULT_BINS
from discreet.show import Shown, Table, decode_value, encode_value, read_document, write_document
from discreet.tradeoff.running import check_bill

__all__ = ["FIGURES", "Counts", "Fairness", "Rate", "fairness"]

Floats = npt.NDArray[np.float64]

#: The figures of a group, and what they mean.
FIGURES = {
    "accuracy": "the share of rows that are predicted right",
    "selection rate": "the share of rows that are predicted positive",
    "true positive rate": "the share of positive rows that are predicted positive",
    "false positive rate": "the share of negative rows that are predicted positive",
    "calibration": "how far the share of positive rows lies above the mean prediction",
}
#: A group with fewer rows than this many deviations of its noise has no figures.
MIN_DEVIATIONS = 3


@final
@dataclass(frozen=True)
class Rate:
    """A figure of a group, and the standard deviation that noise and sampling give it; NaN if unknown."""

    value: float
    stderr: float

    def interval(self, deviations: float, figure: str) -> tuple[float, float]:
        """Reach this many deviations to either side, within what the figure can be."""
        lowest, reach = -1.0 if figure == "calibration" else 0.0, deviations * self.stderr
        return max(lowest, self.value - reach), min(1.0, self.value + reach)


@final
@dataclass(frozen=True, eq=False)
class Counts:
    """The (noised) counts of one model: groups × truths (negative, positive) × bins of predictions.

    Attributes
    ----------
    cells : array
    deviation : float
        The standard deviation of the noise on each cell; 0 for public rows.
    """

    cells: Floats
    deviation: float

    @property
    def rows(self) -> Floats:
        """The number of rows of each group."""
        return np.asarray(self.cells.sum(axis=(1, 2)), np.float64)

    def rate(self, group: int, figure: str) -> Rate:
        """A figure of a group."""
        cells = self.cells[group]
        bins = cells.shape[1]
        right, chosen = np.zeros_like(cells), np.zeros_like(cells)
        chosen[:, bins // 2 :] = 1
        right[0], right[1] = 1 - chosen[0], chosen[1]
        positive = np.array([[0.0], [1.0]]) + np.zeros_like(cells)
        match figure:
            case "accuracy":
                return self._ratio(cells, right, np.ones_like(cells))
            case "selection rate":
                return self._ratio(cells, chosen, np.ones_like(cells))
            case "true positive rate":
                return self._ratio(cells, chosen * positive, positive)
            case "false positive rate":
                return self._ratio(cells, chosen * (1 - positive), 1 - positive)
            case "calibration":
                centres = (np.arange(bins) + 0.5) / bins if bins > 2 else np.array([0.0, 1.0])
                return self._ratio(cells, positive - centres, np.ones_like(cells))
        raise KeyError(f"there is no figure {figure!r}; there are: {', '.join(FIGURES)}.")

    def _ratio(self, cells: Floats, top: Floats, below: Floats) -> Rate:
        """Σ top·cells / Σ below·cells, with the deviation that noise and sampling give it to first order."""
        rows = float((below * cells).sum())
        noise = self.deviation * math.sqrt(float((below**2).sum()))
        if rows < max(1.0, MIN_DEVIATIONS * noise):
            return Rate(math.nan, math.nan)
        value = float((top * cells).sum()) / rows
        slopes = (top - value * below) / rows
        # as if one more row of each kind had been seen: a share of 0 or 1 is never certain
        sampling = float((np.maximum(cells, 0.0) * slopes**2).sum()) + 1 / rows**2
        return Rate(value, math.sqrt(self.deviation**2 * float((slopes**2).sum()) + sampling))


@final
@dataclass(frozen=True, repr=False, eq=False)
class Fairness(Shown):
    """How well a model serves each group, beside a twin that was learned without privacy.

    It can be shown: `to_frame`, `to_csv`, `to_json`, in a notebook, and in `dp.write_report`.

    Attributes
    ----------
    group : str
        The column of the groups.
    labels : tuple
    positive : str
        The class that is called positive.
    model : Counts
    twin : Counts or None
    is_public : bool
        Whether the rows were declared public: then nothing was charged, and nothing is private.
    charged : tuple of Measure
        What each of the histograms cost; empty for public rows.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> table = {"x": [0.1, 0.9] * 50, "sex": ["F", "F", "M", "M"] * 25, "y": [0, 1] * 50}
    >>> schema = dp.Schema(x=dp.Real(0, 1), sex=dp.Categorical("F", "M"), y=dp.Categorical(0, 1))
    >>> data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    >>> model = GaussianNB(epsilon=float("inf"), bounds=(0, 1), classes=[0, 1], unit=dp.PUBLIC)
    >>> found = dp.tradeoff.fairness(model.fit([[x] for x in table["x"]], table["y"]), data, "sex")
    >>> found.labels, found.gap("accuracy").value
    (('F', 'M'), 0.0)
    """

    group: str
    labels: tuple[Any, ...]
    positive: str
    model: Counts
    twin: Counts | None
    is_public: bool
    charged: tuple[Measure, ...] = ()

    @property
    def origin(self) -> str:
        """Where the figures come from, in a sentence."""
        if self.is_public:
            return "From rows declared public: nothing was charged, and nothing here is private."
        return f"From private rows: {len(self.charged)} noised histogram(s), each charged."

    def gap(self, figure: str, *, of_twin: bool = False) -> Rate:
        """The largest difference of a figure between two groups; NaN if fewer than two are known."""
        counts = self.twin if of_twin else self.model
        if counts is None:
            raise ValueError("there is no twin: give fairness(..., twin=model_without_privacy).")
        rates = [counts.rate(at, figure) for at in range(len(self.labels))]
        known = sorted((r for r in rates if not math.isnan(r.value)), key=lambda r: r.value)
        if len(known) < 2:
            return Rate(math.nan, math.nan)
        low, high = known[0], known[-1]
        return Rate(high.value - low.value, math.hypot(low.stderr, high.stderr))

    def to_table(self, level: float = 0.95) -> Table:
        """Each figure of each group with an interval; with a twin, also its figure and the difference."""
        columns = ["group", "rows", "figure", "value", "lower", "upper"]
        columns += ["without privacy", "privacy added"] if self.twin is not None else []
        told = (
            f"lower, upper: noise and sampling, as if normal, level {level:g}; empty: too few rows."
        )
        mark = "  [NOT PRIVATE]" if self.is_public else ""
        title = f"Fairness by {self.group}, positive: {self.positive}{mark}"
        return Table(columns, list(self._iter_rows(level)), title, f"{self.origin}\n{told}")

    def _iter_rows(self, level: float) -> Iterator[tuple[Any, ...]]:
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        far = float(ndtri((1 + level) / 2))
        for at, label in enumerate(self.labels):
            for figure in FIGURES:
                rate = self.model.rate(at, figure)
                cells = [rate.value, *rate.interval(far, figure)]
                if self.twin is not None:
                    other = self.twin.rate(at, figure)
                    cells += [other.value, rate.value - other.value]
                yield (str(label), float(self.model.rows[at]), figure, *map(_known, cells))

    def to_gaps(self) -> Table:
        """The largest difference between two groups, by figure; with a twin, how much privacy added."""
        columns = ["figure", "gap", "stderr"]
        columns += ["without privacy", "privacy added"] if self.twin is not None else []
        rows = []
        for figure in FIGURES:
            gap = self.gap(figure)
            cells = [gap.value, gap.stderr]
            if self.twin is not None:
                other = self.gap(figure, of_twin=True).value
                cells += [other, gap.value - other]
            rows.append((figure, *map(_known, cells)))
        return Table(columns, rows, f"Gaps between groups of {self.group}", self.origin)

    def to_json(self) -> str:
        """The counts and what they cost as JSON, exact to the last digit."""
        body = {
            "group": self.group,
            "labels": [encode_value(label) for label in self.labels],
            "positive": self.positive,
            "model": _write_counts(self.model),
            "twin": None if self.twin is None else _write_counts(self.twin),
            "is_public": self.is_public,
            "charged": [measure.to_dict() for measure in self.charged],
        }
        return write_document("fairness", 1, body)

    @classmethod
    def from_json(cls, text: str) -> Fairness:
        """What `to_json` wrote. Nothing in the text is run, and nothing in it is checked."""
        with read_document(text, "fairness", 1) as body:
            if not isinstance(body["is_public"], bool):
                raise TypeError("is_public")
            labels = tuple(decode_value(label) for label in body["labels"])
            model = _read_counts(body["model"], len(labels))
            twin = None if body["twin"] is None else _read_counts(body["twin"], len(labels))
            charged = tuple(map(measure_from_dict, body["charged"]))
            words = str(body["group"]), labels, str(body["positive"])
            return cls(*words, model, twin, body["is_public"], charged)

    def __repr__(self) -> str:
        return f"{self.to_table()}\n{self.to_gaps()}"


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _write_counts(counts: Counts) -> dict[str, Any]:
    return {"cells": encode_value(counts.cells), "deviation": counts.deviation}


def _read_counts(data: Any, groups: int) -> Counts:
    cells = np.asarray(decode_value(data["cells"]), np.float64)
    if cells.ndim != 3 or cells.shape[:2] != (groups, 2):
        raise ValueError("cells")
    return Counts(cells, float(data["deviation"]))


def fairness(
    model: Any,
    data: PrivateDataset,
    group: str,
    *,
    twin: Any = None,
    budget: Measure | None = None,
    target: str | None = None,
    positive: Any = None,
    bins: int = DEFAULT_BINS,
) -> Fairness:
    """Accuracy, selection rate, true and false positive rate and calibration of a model, by group.

    Parameters
    ----------
    model : fitted classifier
        It may be published: learned privately, or from other rows.
    data : PrivateDataset
        Rows that the model didn't learn from; its schema declares features, target and group.
    group : str
        The column of the groups, a `Categorical`; a feature of the model or not.
    twin : fitted classifier, optional
        The same model learned without privacy, to see how much of a gap privacy added. It may be learned from
        rows declared public alone.
    budget : Measure, optional
        What the histogram of *each* of the two models costs; needed for private rows, refused for public
        ones, whose counts are exact.
    target : str, optional
        The name of the target's column; the schema's last column by default.
    positive : optional
        The class that is called positive; of two classes the last by default.
    bins : int
        Even; for the predicted probabilities, and so for calibration.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> table = {"x": [0.1, 0.9] * 50, "sex": ["F", "F", "M", "M"] * 25, "y": [0, 1] * 50}
    >>> schema = dp.Schema(x=dp.Real(0, 1), sex=dp.Categorical("F", "M"), y=dp.Categorical(0, 1))
    >>> data = dp.PrivateDataset(table, schema, unit=dp.PUBLIC)
    >>> model = GaussianNB(epsilon=float("inf"), bounds=(0, 1), classes=[0, 1], unit=dp.PUBLIC)
    >>> found = dp.tradeoff.fairness(model.fit([[x] for x in table["x"]], table["y"]), data, "sex")
    >>> found.gap("accuracy").value
    0.0

    Privacy
    -------
    One histogram over group × truth × prediction for each model: a row counts in one cell, so a person with
    one row moves one cell by 1 (two cells under replace-one). It is charged before a row is read; all figures
    are computed from the noised counts. They say nothing of people who are not in `data`. Proof page:
    ``docs/proofs/model_selection.md``.
    """
    if not isinstance(data, PrivateDataset):
        raise TypeError(f"data must be a dp.PrivateDataset, not {type(data).__name__}.")
    if budget is None and not data.unit.is_public:
        raise ValueError(
            "budget must be given for private rows, as in budget=dp.PureDP(0.5): counts by group are a "
            "release of their own and are charged."
        )
    if budget is not None and data.unit.is_public:
        raise ValueError(
            "budget is for private rows: counts of public ones are exact and cost nothing."
        )
    asked = PureDP(math.inf) if budget is None else budget
    metric = GroupCounts(group, positive, bins)
    models = [model] if twin is None else [model, twin]
    if budget is not None and data.ledger is not None:
        remedy = "Give a smaller budget, or leave out the twin."
        check_bill(data.ledger.remaining(), [budget] * len(models), "fairness", remedy)
    scores = [private_score(one, data, metric, asked, target=target) for one in models]
    bound = scores[0].metric
    assert isinstance(bound, GroupCounts)
    counts = [_count(score) for score in scores]
    return Fairness(
        group,
        bound.labels,
        str(bound.positive),
        counts[0],
        counts[1] if twin is not None else None,
        data.unit.is_public,
        () if budget is None else (asked,) * len(models),
    )


def _count(score: Score) -> Counts:
    assert isinstance(score.metric, GroupCounts)
    return Counts(score.totals.reshape(score.metric.shape), score.deviation)
