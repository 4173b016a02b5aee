"""Search over settings of a private model, paid for once."""

from discreet.models.model_selection.budget import SearchBudget
from discreet.models.model_selection.search import PrivateSearch

__all__ = ["PrivateSearch", "SearchBudget"]
