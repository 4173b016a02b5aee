"""What all publishers of rows share: who may use them, how many rows come out, and in which order."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet import noise
from discreet.coding import VALUE_BITS
from discreet.columns import Numeric
from discreet.events import Event, Repeat
from discreet.schema import Schema
from discreet.step import CodedRows, Step
from discreet.unit import Unit

__all__ = ["RowRelease", "SeparateRows", "middle_codes"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

#: The most cells that are published at once: they are held in memory.
MAX_CELLS = 2**28


class RowRelease(Step):
    """Every row of a table, blurred: exactly as many rows as were declared.

    Parameters
    ----------
    schema : Schema
        The columns that it is for.
    rows : int or None
        The public number of rows: this many are published, however many there are. None on public rows.

    Privacy
    -------
    What one row costs, under replace-one with one row per person. Refused under add/remove, and with ids:
    the number of published rows would reveal the number of rows. Rows come out in a random order, so that
    an engine's own order reveals nothing, unless `ordered` is set, for sources whose rows have a place of
    their own. Proof page: ``docs/proofs/input_perturbation.md``.
    """

    columns: tuple[str, ...]
    #: What is published, in words.
    title: str = "rows"
    #: This many rows are blurred together, from the first on.
    block: int

    def __init__(self, schema: Schema, rows: int | None) -> None:
        self.schema, self.rows = schema, rows
        self.columns = tuple(schema.base)

    @abstractmethod
    def event_of_row(self) -> Event:
        """What one row costs, wherever it stands."""

    @abstractmethod
    def event_of_two_rows(self) -> Event:
        """What two rows cost that change together, wherever they stand: in one block or in two."""

    @abstractmethod
    def blur(self, codes: Integers) -> Any:
        """What is published of rows of the schema's codes, in their order, with fresh noise."""

    @abstractmethod
    def as_columns(self, blurred: Any) -> dict[str, Array]:
        """What `blur` returned as one array for each column of the schema."""

    def check_columns(self, schema: Schema) -> None:
        """Raise if this was made for other columns."""
        if dict(schema.base) != dict(self.schema.base):
            raise ValueError("schema: this step was made for other columns.")

    def check_unit(self, unit: Unit) -> None:
        """Raise unless the number of rows is public, and declared."""
        if not unit.is_public and not unit.length_is_public:
            raise ValueError(
                f"{self.title} can be published under dp.REPLACE_ONE only, with one row per person: "
                "otherwise the number of rows is private, as many published rows would reveal it, and a row "
                "that comes or goes would move all rows after it. Use unit=dp.Unit(dp.REPLACE_ONE) if the "
                "number is public; Synthesizer and MaskedData publish made-up rows under any unit."
            )
        if self.rows is None and not unit.is_public:
            raise ValueError(
                "rows must be declared for this source, as in dp.PrivateDataset(..., rows=1000): this many "
                "are published, and their number is never taken from private data."
            )

    def event(self, schema: Schema, unit: Unit) -> Event:
        self.check_unit(unit)
        self.check_columns(schema)
        if self.rows is not None and self.rows * len(self.columns) > MAX_CELLS:
            raise ValueError(
                f"rows: at most {MAX_CELLS // len(self.columns)} rows are published at once, but "
                f"rows={self.rows} was declared; give to= to write them in batches."
            )
        return self.event_of_row()

    def run(self, rows: CodedRows) -> Any:
        return self.blur(self.arrange(rows.codes))

    def arrange(self, codes: Integers) -> Integers:
        """The declared number of rows, in a random order unless places are public."""
        if not self.ordered:
            # if there are too many, which ones are left out must not depend on an engine's order
            codes = codes[noise.permutation(len(codes))]
        if self.rows is None:
            return codes
        codes = codes[: self.rows]
        lacking = np.tile(middle_codes(self.schema), (self.rows - len(codes), 1))
        if not len(lacking):
            return codes
        codes = np.concatenate([codes, lacking])
        return codes if self.ordered else codes[noise.permutation(len(codes))]

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.columns}"


class SeparateRows(RowRelease):
    """Rows that are blurred one by one: two of them are two releases, whose costs add up."""

    block = 1

    @final
    def event_of_two_rows(self) -> Event:
        return Repeat(self.event_of_row(), 2)


def middle_codes(schema: Schema) -> Integers:
    """The codes of a row that stands for a missing one: the middle of each range, the first category."""
    return np.array(
        [
            column.steps(VALUE_BITS) // 2 if isinstance(column, Numeric) else 0
            for column in schema.base.values()
        ],
        np.int64,
    )
