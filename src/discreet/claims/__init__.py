"""The registry of guarantees: what is claimed, of whom, on what proof, and which attack tests it.

Every module of this package that has a tuple ``CLAIMS`` is part of the registry: to register a guarantee,
write one there, its proof page, and an attack of the same name in ``discreet.audit.attacks``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from discreet.claims.base import ANY_UNIT, Claim, Status

__all__ = ["ANY_UNIT", "Claim", "Status", "all_claims", "claim"]


@cache
def all_claims() -> tuple[Claim, ...]:
    """All claims, in the order of modules and of entries in them."""
    found: dict[str, Claim] = {}
    for module in iter_modules(__path__):
        for entry in getattr(import_module(f"{__name__}.{module.name}"), "CLAIMS", ()):
            if entry.name in found:
                raise ValueError(f"two claims are called {entry.name!r}.")
            found[entry.name] = entry
    return tuple(found.values())


def claim(name: str) -> Claim:
    """The claim of this name."""
    for entry in all_claims():
        if entry.name == name:
            return entry
    raise KeyError(f"no claim is called {name!r}; `discreet claims` lists them.")
