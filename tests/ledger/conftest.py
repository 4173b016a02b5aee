"""What the ledger's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The address of a ledger that doesn't exist yet."""
    return f"sqlite:///{tmp_path}/budget.db"
