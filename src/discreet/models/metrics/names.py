"""Metrics by name, for ``scoring=`` and for files."""

from __future__ import annotations

from discreet.models.metrics.kinds import (
    AUC,
    Accuracy,
    LogLoss,
    MeanAbsoluteError,
    MeanSquaredError,
    Metric,
)
from discreet.models.metrics.positives import F1, Precision, Recall

__all__ = ["METRICS", "metric_of"]

METRICS: dict[str, type[Metric]] = {
    "accuracy": Accuracy,
    "log_loss": LogLoss,
    "auc": AUC,
    "precision": Precision,
    "recall": Recall,
    "f1": F1,
    "mean_squared_error": MeanSquaredError,
    "mean_absolute_error": MeanAbsoluteError,
}


def metric_of(metric: Metric | str) -> Metric:
    """Look up a metric by its name; a metric is returned as it is."""
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str) and metric in METRICS:
        return METRICS[metric]()
    raise ValueError(f"metric must be one of {', '.join(map(repr, METRICS))}, got {metric!r}.")
