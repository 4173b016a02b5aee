"""A trusted step on rows: for what is not a sum of contributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.events import Event
from discreet.schema import Schema
from discreet.unit import Unit


@dataclass(frozen=True, repr=False)
class CodedRows:
    """The rows of a data set as integer codes, for a `Step` alone.

    Attributes
    ----------
    codes : int64 array of shape (rows, columns)
        In the order of `names`; -1 where a cell is no declared category.
    names : tuple of str
    schema : Schema
    """

    codes: npt.NDArray[np.int64]
    names: tuple[str, ...]
    schema: Schema

    def __repr__(self) -> str:
        return f"CodedRows({', '.join(self.names)})"


class Step(ABC):
    """Something that reads rows and returns what may be published.

    Privacy
    -------
    The author of a step vouches that `run` is as private as `event` says. The door charges the event
    before `run` sees a row.
    """

    #: The columns it reads; all of the schema's by default.
    columns: tuple[str, ...] | None = None
    #: Whether it rests on the places of rows; the door refuses it where a cell might decide them.
    ordered: bool = False

    @abstractmethod
    def event(self, schema: Schema, unit: Unit) -> Event:
        """What it will be, for the accountant; from public facts alone."""

    @abstractmethod
    def run(self, rows: CodedRows) -> Any:
        """The result. It must neither raise nor change its shape because of a row."""
