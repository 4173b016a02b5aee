"""Private models as scikit-learn estimators: training sees rows only through the door.

``from discreet.models.naive_bayes import GaussianNB``; `discreet.models.base` is what they share.
"""

from discreet.models.base import PrivateEstimator
from discreet.models.facts import Facts
from discreet.models.plan import FitPlan
from discreet.models.privacy import FitPrivacy

__all__ = ["Facts", "FitPlan", "FitPrivacy", "PrivateEstimator"]
