"""Profiles of Hypothesis, chosen by the environment variable HYPOTHESIS_PROFILE.

`ci` is what runs without one: the same examples each time. `deep` draws new ones, ten times as many.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

__all__ = ["DEEPER", "max_examples"]

#: How many times as many examples the profile `deep` draws.
DEEPER = 10
_USUAL = 100

_COMMON = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("ci", _COMMON, derandomize=True, max_examples=_USUAL)
settings.register_profile(
    "deep", _COMMON, derandomize=False, max_examples=_USUAL * DEEPER, print_blob=True
)


def max_examples(number: int, **options: object) -> settings:
    """Settings of a test with so many examples, and more of them in a profile that has more."""
    return settings(max_examples=number * settings.default.max_examples // _USUAL, **options)
