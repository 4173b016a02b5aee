"""The former home of `discreet.guarantees`; its names work here for one more version."""

from __future__ import annotations

import warnings
from typing import Any

_MOVED = ("ANY_UNIT", "Claim", "Status", "all_claims", "claim")


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        raise AttributeError(f"module 'discreet.claims' has no attribute {name!r}")
    from discreet import guarantees

    warnings.warn(
        f"discreet.claims.{name} is now discreet.guarantees.{name}; the old name goes with the next version.",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(guarantees, name)
