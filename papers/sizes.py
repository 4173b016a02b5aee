"""How much of everything a run takes: all of it, or what shows that it works."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["FULL", "QUICK", "choose_size", "set_size", "size_of_run"]

FULL, QUICK = "full", "quick"

#: Set for the processes that a run starts as well.
VARIABLE = "DISCREET_PAPERS_SIZE"


def set_size(size: str) -> None:
    """Choose the size of this run and of the processes that it starts."""
    os.environ[VARIABLE] = size


def size_of_run() -> str:
    """The size of this run: full, unless something else was chosen."""
    return os.environ.get(VARIABLE, FULL)


def choose_size(full: Any, quick: Any) -> Any:
    """What fits the size of this run."""
    return quick if size_of_run() == QUICK else full
