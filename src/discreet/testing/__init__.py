"""Checks and switches for tests: ours, and those of your mechanisms.

>>> from discreet import testing
>>> testing.QUERIES[0], testing.DISTRIBUTIONS[-1]  # one of each kind, for tests of your own
(Count(), NoNoise())
>>> kinds = testing.EVENTS, testing.MECHANISMS, testing.LOCALS, testing.ESTIMATORS
>>> all(len(examples) >= 5 for examples in kinds)
True
>>> [type(query).__name__ for query in (testing.DISCOVERIES[-1], testing.SEVERAL[0])]
['Bounds', 'Joint']
"""

from discreet.deprecation import former_names
from discreet.testing.estimators import ESTIMATORS, Example, all_estimators_for_checks
from discreet.testing.registry import (
    DISCOVERIES,
    DISTRIBUTIONS,
    EVENTS,
    LOCALS,
    MECHANISMS,
    QUERIES,
    SEVERAL,
    missing,
)
from discreet.testing.switches import exact_keys, exact_totals, fixed_noise

__all__ = [
    "DISCOVERIES",
    "DISTRIBUTIONS",
    "ESTIMATORS",
    "EVENTS",
    "LOCALS",
    "MECHANISMS",
    "QUERIES",
    "SEVERAL",
    "Example",
    "all_estimators_for_checks",
    "exact_keys",
    "exact_totals",
    "fixed_noise",
    "missing",
]

__getattr__ = former_names("discreet.testing", {"LAWS": "discreet.testing.registry.DISTRIBUTIONS"})
