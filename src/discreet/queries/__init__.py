"""What is asked of private rows.

>>> from discreet import measures, mechanisms
>>> from discreet.queries import Budget
>>> isinstance(measures.PureDP(1), Budget), isinstance(mechanisms.Laplace(1), Budget)
(True, True)
"""

from discreet.coding import CodedQuery, PersonLimit, Sensitivity, Term
from discreet.queries.additive import Additive
from discreet.queries.answer import (
    Answer,
    Budget,
    Interval,
    NoiseInterval,
    Prepared,
    Sampling,
    check_budget,
    expect_budget,
)
from discreet.queries.base import Query, not_a_query
from discreet.queries.best_split import BestSplit
from discreet.queries.cell_counts import Axis, CellCounts
from discreet.queries.centred import CentredSums
from discreet.queries.check import Check
from discreet.queries.choice import Best, Choice
from discreet.queries.counts import Count, Histogram
from discreet.queries.discovery import Bounds, BoundsValue, KeyCounts, Keys
from discreet.queries.estimate import Estimate
from discreet.queries.estimates import MeanEstimate, ShareEstimate, SumEstimate
from discreet.queries.far_marginals import FarMarginals
from discreet.queries.gram import Gram
from discreet.queries.marginals import Marginals, MarginalsValue
from discreet.queries.means import Mean
from discreet.queries.moments import Moments, MomentsValue, Variance
from discreet.queries.nonnegative import nonnegative_counts
from discreet.queries.normal_equations import NormalEquations
from discreet.queries.people import CountPeople, RowsPerPerson
from discreet.queries.quantile import Median, Quantile
from discreet.queries.quantile_estimate import QuantileEstimate
from discreet.queries.residuals import Cells, ClassResiduals, NumberResiduals, Residuals
from discreet.queries.several import Joint, Several
from discreet.queries.sums import Sum
from discreet.queries.tightened import Tighten, Tightened
from discreet.queries.with_columns import WithColumns

__all__ = [
    "Additive",
    "Answer",
    "Axis",
    "Best",
    "BestSplit",
    "Bounds",
    "BoundsValue",
    "Budget",
    "CellCounts",
    "Cells",
    "CentredSums",
    "Check",
    "Choice",
    "ClassResiduals",
    "CodedQuery",
    "Count",
    "CountPeople",
    "Estimate",
    "FarMarginals",
    "Gram",
    "Histogram",
    "Interval",
    "Joint",
    "KeyCounts",
    "Keys",
    "Marginals",
    "MarginalsValue",
    "Mean",
    "MeanEstimate",
    "Median",
    "Moments",
    "MomentsValue",
    "NoiseInterval",
    "NormalEquations",
    "NumberResiduals",
    "PersonLimit",
    "Prepared",
    "Quantile",
    "QuantileEstimate",
    "Query",
    "Residuals",
    "RowsPerPerson",
    "Sampling",
    "Sensitivity",
    "Several",
    "ShareEstimate",
    "Sum",
    "SumEstimate",
    "Term",
    "Tighten",
    "Tightened",
    "Variance",
    "WithColumns",
    "check_budget",
    "expect_budget",
    "nonnegative_counts",
    "not_a_query",
]
