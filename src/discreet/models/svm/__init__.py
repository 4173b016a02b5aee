"""Support-vector machines with smoothed losses: linear, and with a Gaussian kernel."""

from discreet.models.svm.kernel import SVC, SVR
from discreet.models.svm.linear import LinearSVC, LinearSVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR"]
