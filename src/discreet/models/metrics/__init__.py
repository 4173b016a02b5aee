"""How good a model is on private rows: noised counts and sums of what it gets right and wrong.

>>> from discreet.models.metrics import METRICS
>>> sorted(METRICS)
['accuracy', 'auc', 'log_loss', 'mean_absolute_error', 'mean_squared_error']
"""

from discreet.models.metrics.groups import GroupCounts
from discreet.models.metrics.kinds import (
    AUC,
    METRICS,
    Accuracy,
    LogLoss,
    MeanAbsoluteError,
    MeanSquaredError,
    Metric,
)
from discreet.models.metrics.scoring import Score, ScoredRows, private_score

__all__ = [
    "AUC",
    "METRICS",
    "Accuracy",
    "GroupCounts",
    "LogLoss",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "Metric",
    "Score",
    "ScoredRows",
    "private_score",
]
