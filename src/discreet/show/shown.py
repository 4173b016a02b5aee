"""What all results share: whatever can lay itself out as a table can be shown in every form."""

from __future__ import annotations

from abc import abstractmethod
from os import PathLike
from typing import Any

from discreet.show.tables import Table

__all__ = ["Shown"]


class Shown:
    """A result that can lay itself out as a table, and therefore be shown.

    A subclass writes `to_table`; the rest follows.
    """

    @abstractmethod
    def to_table(self, level: float = 0.95) -> Table:
        """The result as a labelled table; `level` is that of the intervals, where it has some."""

    @property
    def mark(self) -> str:
        """What must be said beside each number, such as NOT PRIVATE; empty where nothing must."""
        return ""

    def to_frame(self, level: float | None = None, backend: str | None = None) -> Any:
        """The result as a native frame; what must be said beside its numbers is a column, ``note``.

        Parameters
        ----------
        level : float, optional
            The probability of the intervals, where the result has some; that of `to_table` by default.
        backend : {"pandas", "polars", "pyarrow", "modin"}, optional
            By default the first of pandas, Polars and PyArrow that is installed.
        """
        return self._at(level).add_note(self.mark).to_frame(backend)

    def to_csv(
        self, path: str | PathLike[str] | None = None, level: float | None = None
    ) -> str | None:
        """Write the result as CSV, with the columns of `to_frame`, or return the text if no path is given.

        Text that a spreadsheet program would run as a formula begins with an apostrophe.
        """
        return self._at(level).add_note(self.mark).to_csv(path)

    def _at(self, level: float | None) -> Table:
        return self.to_table() if level is None else self.to_table(level)

    def _repr_html_(self) -> str:
        """The result in a notebook."""
        return self.to_table().to_html()
