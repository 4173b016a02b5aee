"""What the accountant's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import pytest


@pytest.fixture
def many_digits() -> Iterator[None]:
    """Sums of mpmath with 40 digits."""
    with mpmath.workdps(40):
        yield
