"""Private models as scikit-learn estimators: training sees rows only through the door.

``dp.models.naive_bayes.GaussianNB``, or ``from discreet.models.naive_bayes import GaussianNB``; each package
is imported when it is first used. `discreet.models.base` is what they share.
"""

from importlib import import_module
from types import ModuleType

from discreet.models.base import PrivateEstimator
from discreet.models.facts import Facts
from discreet.models.files import ModelFileError, from_json, load, save, to_json
from discreet.models.plan import FitPlan
from discreet.models.privacy import FitPrivacy
from discreet.models.recommending import ModelChoice, ModelChoices, recommend

__all__ = [
    "Facts",
    "FitPlan",
    "FitPrivacy",
    "ModelChoice",
    "ModelChoices",
    "ModelFileError",
    "PrivateEstimator",
    "from_json",
    "load",
    "recommend",
    "save",
    "to_json",
]

#: Where the estimators are.
PACKAGES = (
    "boosting", "cluster", "decomposition", "linear_model", "m_estimation", "metrics", "model_selection",
    "naive_bayes", "pipeline", "preprocessing", "svm", "tree",
)  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    if name not in PACKAGES:
        raise AttributeError(f"module 'discreet.models' has no attribute {name!r}")
    return import_module(f"discreet.models.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *PACKAGES})
