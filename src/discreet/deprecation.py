"""Former names, which work for one more version and say what to write instead."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["former_keyword", "former_method", "former_names"]

Act = TypeVar("Act", bound=Callable[..., Any])


def _warn(old: str, new: str, level: int) -> None:
    warnings.warn(
        f"{old} is now {new}; the old name goes with the next version.",
        DeprecationWarning,
        stacklevel=level + 1,
    )


def former_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that finds former names; `names` maps each to its dotted new one."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, new = names[name].rpartition(".")
        _warn(f"{module}.{name}", names[name], 2)
        return getattr(import_module(home), new)

    return find


def former_method(old: str, new: str) -> Callable[..., Any]:
    """A method under its former name."""

    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        kind = type(self).__name__
        _warn(f"{kind}.{old}", f"{kind}.{new}", 2)
        return getattr(self, new)(*arguments, **options)

    call.__name__ = old
    call.__doc__ = f"Use `{new}`: this name goes with the next version."
    return call


def former_keyword(old: str, new: str) -> Callable[[Act], Act]:
    """Let a function take a keyword under its former name, too."""

    def decorate(act: Act) -> Act:
        @functools.wraps(act)
        def call(*arguments: Any, **options: Any) -> Any:
            if old in options:
                _warn(f"{act.__name__}({old}=...)", f"{act.__name__}({new}=...)", 2)
                options[new] = options.pop(old)
            return act(*arguments, **options)

        return call  # type: ignore[return-value]

    return decorate
