"""Decision trees and forests from noised counts and private choices of splits."""

from discreet.models.tree.forest import RandomDecisionForest
from discreet.models.tree.forest_regressor import RandomDecisionForestRegressor
from discreet.models.tree.greedy import DecisionTreeClassifier
from discreet.models.tree.regressor import DecisionTreeRegressor

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "RandomDecisionForest",
    "RandomDecisionForestRegressor",
]
