"""Checks and switches for tests: ours, and those of your own mechanisms."""

from discreet.testing.registry import (
    DISCOVERIES,
    EVENTS,
    LAWS,
    LOCALS,
    MECHANISMS,
    QUERIES,
    missing,
)
from discreet.testing.switches import exact_keys, exact_totals, fixed_noise

__all__ = [
    "DISCOVERIES",
    "EVENTS",
    "LAWS",
    "LOCALS",
    "MECHANISMS",
    "QUERIES",
    "exact_keys",
    "exact_totals",
    "fixed_noise",
    "missing",
]
