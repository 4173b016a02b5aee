"""How good a model is on private rows: noised counts and sums of what it gets right and wrong.

>>> from discreet.models.metrics import METRICS
>>> sorted(METRICS)
['accuracy', 'auc', 'f1', 'log_loss', 'mean_absolute_error', 'mean_squared_error', 'precision', 'recall']
"""

from discreet.models.metrics.groups import GroupCounts
from discreet.models.metrics.kinds import (
    AUC,
    Accuracy,
    LogLoss,
    MeanAbsoluteError,
    MeanSquaredError,
    Metric,
)
from discreet.models.metrics.names import METRICS
from discreet.models.metrics.positives import F1, Precision, Recall
from discreet.models.metrics.scoring import Score, ScoredRows, private_score

__all__ = [
    "AUC",
    "F1",
    "METRICS",
    "Accuracy",
    "GroupCounts",
    "LogLoss",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "Metric",
    "Precision",
    "Recall",
    "Score",
    "ScoredRows",
    "private_score",
]
