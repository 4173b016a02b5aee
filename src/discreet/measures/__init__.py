"""Ways to say how private an answer is, and what follows from one about another.

>>> from discreet.measures import ORDERS, ZCDP, Renyi, convert
>>> ORDERS[0], ORDERS[-1]  # the orders at which Rényi curves are kept
(1.1, inf)
>>> len(convert(ZCDP(0.1), Renyi).orders) == len(ORDERS)
True
"""

from discreet.measures.convert import convert
from discreet.measures.kinds import (
    ORDERS,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Measure,
    PureDP,
    Renyi,
    measure_from_dict,
)
from discreet.measures.loss import PrivacyLoss
from discreet.measures.random_dp import RandomDP

__all__ = [
    "ORDERS",
    "ZCDP",
    "ApproxDP",
    "GaussianDP",
    "Measure",
    "PrivacyLoss",
    "PureDP",
    "RandomDP",
    "Renyi",
    "convert",
    "measure_from_dict",
]
