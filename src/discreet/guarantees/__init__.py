"""Our own dossier: what is claimed, for whom, on what proof, and which attack tests it.

Each topic is a folder: ``claims.py`` has a tuple ``CLAIMS`` and is light, since listing claims must be quick;
``attacks.py`` (or several ``attacks_….py``) has for each claim an attack of its name, a function that
yields cases and is decorated with ``@attack("name-of-the-claim")``; ``broken.py`` has mechanisms that were
published or are seen in practice and don't keep what they claim, in a small form, so that their attack can
run them many thousands of times. None of those can be reached through the toolkit's own door.

All are found automatically: `discreet claims` lists them, `discreet audit` attacks them, and the tests
compare the verdict with the status (*proved*: consistent; *refuted*: violated).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from discreet.guarantees.base import ANY_UNIT, Claim, Status

if TYPE_CHECKING:
    from discreet.audit import Attack

__all__ = ["ANY_UNIT", "Claim", "Status", "all_attacks", "all_claims", "claim", "topics"]


def topics() -> tuple[str, ...]:
    """The names of all topics, which are those of the folders."""
    return tuple(module.name for module in iter_modules(__path__) if module.ispkg)


@cache
def all_claims() -> tuple[Claim, ...]:
    """All claims, in the order of topics and of entries in them."""
    found: dict[str, Claim] = {}
    for topic in topics():
        for entry in import_module(f"{__name__}.{topic}.claims").CLAIMS:
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


@cache
def all_attacks() -> dict[str, Attack]:
    """All attacks by name. This imports the whole toolkit, which takes seconds."""
    from discreet.audit.registry import list_attacks

    for topic in topics():
        package = import_module(f"{__name__}.{topic}")
        for module in iter_modules(package.__path__):
            if module.name.startswith("attacks"):
                import_module(f"{package.__name__}.{module.name}")
    return list_attacks()
