"""Accounting: what events cost, in each measure of privacy."""

from discreet.accounting.calibration import calibrate
from discreet.accounting.composition import advanced, group, optimal
from discreet.accounting.costs import NoBound, cost, delta_at, epsilon_at, satisfies
from discreet.accounting.google import from_dp_accounting, to_dp_accounting

__all__ = [
    "NoBound",
    "advanced",
    "calibrate",
    "cost",
    "delta_at",
    "epsilon_at",
    "from_dp_accounting",
    "group",
    "optimal",
    "satisfies",
    "to_dp_accounting",
]
