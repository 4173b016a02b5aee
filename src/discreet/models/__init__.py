"""Private models as scikit-learn estimators: training sees rows only through the door.

``from discreet.models.naive_bayes import GaussianNB``; `discreet.models.base` is what they share.
"""

from discreet.models.base import PrivateEstimator
from discreet.models.facts import Blueprint, Facts
from discreet.models.privacy import FitPlan, FitPrivacy

__all__ = ["Blueprint", "Facts", "FitPlan", "FitPrivacy", "PrivateEstimator"]
