"""What a prepared answer is: everything public decided and priced, no row read yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from discreet.coding import Engine
from discreet.events import Event
from discreet.measures import Measure
from discreet.mechanisms import Mechanism
from discreet.release import Release

How = Measure | Mechanism


class Answerer(ABC):
    """A query that is ready to be answered: planned and priced, no row read yet."""

    event: Event
    measure: Measure
    #: Whether the standard error depends on the number of rows.
    error_needs_rows: bool

    @abstractmethod
    def expected_error(self, rows: int) -> Any:
        """The standard error to expect with so many rows."""

    @abstractmethod
    def answer(self, engine: Engine, entry: Any, is_private: bool) -> Release:
        """Read the rows, add the noise."""


def no_noise_refused() -> ValueError:
    """The error for an infinite budget on private rows."""
    return ValueError("how: an infinite budget (no noise) is accepted with dp.PUBLIC only.")
