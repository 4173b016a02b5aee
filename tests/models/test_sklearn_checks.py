"""scikit-learn's own checks of every estimator."""

from __future__ import annotations

from typing import Any

from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import testing
from discreet.testing.estimators import estimator_classes

CHECKED = list(testing.all_estimators_for_checks())


def _failing(estimator: Any) -> dict[str, str]:
    return next(failing for checked, failing in CHECKED if checked is estimator)


@parametrize_with_checks(
    [estimator for estimator, _ in CHECKED], expected_failed_checks=_failing, xfail_strict=True
)
def test_check(estimator: Any, check: Any) -> None:
    if getattr(check, "func", check).__name__ == "check_array_api_input":
        # it runs where SCIPY_ARRAY_API is set, for estimators that take other libraries' arrays
        assert not get_tags(estimator).array_api_support
        return
    check(estimator)


def test_no_estimator_is_forgotten() -> None:
    shown = {type(estimator) for estimator, _ in CHECKED}
    assert [kind.__name__ for kind in estimator_classes() if kind not in shown] == []


def unexplained(failing: dict[str, str]) -> list[str]:
    """Checks that are said to fail without a reason, or that are none."""
    return [c for c, reason in failing.items() if not c.startswith("check_") or len(reason) <= 20]


def test_every_failure_has_a_reason() -> None:
    assert unexplained({"check_fit": "slow", "fit": "this is no check, whatever it says"}) == [
        "check_fit",
        "fit",
    ]
    assert CHECKED
    for _, failing in CHECKED:
        assert not unexplained(failing)
