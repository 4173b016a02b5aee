"""What is asked of private rows."""

from discreet.queries.base import Additive, CodedQuery, Keep, Query, Sensitivity, Term
from discreet.queries.counts import Count, Histogram
from discreet.queries.discovery import Bounds, BoundsValue, Keys
from discreet.queries.quantile import Median, Quantile
from discreet.queries.sums import Gram, Mean, Moments, MomentsValue, Sum, Variance

__all__ = [
    "Additive",
    "Bounds",
    "BoundsValue",
    "CodedQuery",
    "Count",
    "Gram",
    "Histogram",
    "Keep",
    "Keys",
    "Mean",
    "Median",
    "Moments",
    "MomentsValue",
    "Quantile",
    "Query",
    "Sensitivity",
    "Sum",
    "Term",
    "Variance",
]
