"""What noise depends on beside the budget: who is protected, and what is public about the rows."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Facts"]


@dataclass(frozen=True)
class Facts:
    """How one person can change a histogram.

    Attributes
    ----------
    rows : int
        The most rows of one person that count.
    is_replaced : bool
        Whether neighbours have a person's rows replaced, not added or removed.
    total : int or None
        The number of rows that count, where it is public: under replace-one, if no row can fail to count.
    """

    rows: int = 1
    is_replaced: bool = False
    total: int | None = None

    def moved(self, one_row: int, nodes: int = 2) -> int:
        """How far a person moves a vector in L1 that one row moves by `one_row`.

        A replaced row takes as much from one node as it gives another; with one node alone, only a row that
        counts no more moves anything.
        """
        if not self.is_replaced:
            return self.rows * one_row
        if nodes > 1:
            return 2 * self.rows * one_row
        return self.rows * one_row if self.total is None else 0
