"""What a test patches must not outlive it in a cache."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

#: Packages that remember what they computed; those that list claims and attacks may keep their lists.
PACKAGES = ("accounting", "measures", "mechanisms", "models", "noise", "publish", "queries")


def clear_caches() -> int:
    """Forget all that functions of the toolkit remember; how many functions that were."""
    found = {
        id(value): value
        for name, module in list(sys.modules.items())
        if name.startswith(tuple(f"discreet.{package}" for package in PACKAGES))
        for value in vars(module).values()
        if hasattr(value, "cache_clear")
    }
    for value in found.values():
        value.cache_clear()
    return len(found)


@pytest.fixture(autouse=True)
def _forget_what_was_patched(request: pytest.FixtureRequest) -> Iterator[None]:
    patched = "monkeypatch" in request.fixturenames
    if patched:
        clear_caches()
    yield
    if patched:
        assert clear_caches() > 10
