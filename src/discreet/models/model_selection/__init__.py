"""Search over settings of a private model, paid for once; thresholds from noised scores."""

from discreet.models.model_selection.budget import SearchBudget
from discreet.models.model_selection.search import PrivateSearch
from discreet.models.model_selection.threshold import ThresholdClassifier

__all__ = ["PrivateSearch", "SearchBudget", "ThresholdClassifier"]
