"""What an engine is: something that holds rows and computes integers from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from discreet.coding.batches import Batch, Places
from discreet.coding.cells import Integers
from discreet.coding.codes import Code
from discreet.coding.questions import CodedQuery

if TYPE_CHECKING:
    from discreet.schema import Schema
    from discreet.unit import Unit

__all__ = ["Engine", "Integers", "Tally"]

Result = TypeVar("Result")
_NO_ORDER = (
    "rows are written in batches from arrays, data frames in memory, CSV and Parquet files, and from "
    "databases and Spark with order_by=: this source does not keep the order of its rows, so give one of "
    "these."
)


class Tally(NamedTuple):
    """Counts of code values: for each row (group, code, count), sorted by group and code."""

    groups: Integers
    codes: Integers
    counts: Integers


class Engine(ABC):
    """Holds rows; nothing leaves it but integers that a coded query asks for.

    Whatever stands in a cell, the methods neither raise nor change the shape of what they return.
    """

    #: Whether `rows` gives them as they stand in the source, so that no cell decides their places.
    is_ordered: bool = False

    @abstractmethod
    def check(self, schema: Schema, unit: Unit) -> None:
        """Raise, from names and types of columns alone, if the table can't match the schema."""

    @abstractmethod
    def length(self) -> int | None:
        """The number of rows where it is known without reading them, such as for arrays."""

    @abstractmethod
    def totals(self, query: CodedQuery) -> Integers:
        """The sums of all terms, of shape (groups, terms)."""

    def joint_totals(self, queries: Sequence[CodedQuery]) -> list[Integers]:
        """The sums of several queries, as `totals` gives them; rows are read once where that is possible."""
        return [self.totals(query) for query in queries]

    @abstractmethod
    def tally(self, query: CodedQuery) -> Tally:
        """How often each value of ``query.tally`` occurs in each group."""

    @abstractmethod
    def rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        """The codes of the rows that count, one row each: for steps that need rows."""

    def person_rows(self, query: CodedQuery, codes: tuple[Code, ...]) -> Integers:
        """As `rows`, with one more column: the number of the person whose row it is, from 0 on.

        It is asked with ``query.keep``. Equal ids have equal numbers, different ids different ones; which
        number a person has, and in what order rows come, says nothing.
        """
        raise ValueError("this source can't tell which rows are one person's.")

    @abstractmethod
    def keys(self, query: CodedQuery, column: str, groups: int) -> dict[str, int]:
        """How many rows that count have each text in a column; a person's in `groups` texts at most."""

    def check_places(self, places: Places) -> None:
        """Raise, from names and types alone, if `batches` can't tell in which slot a row stands."""
        raise ValueError(_NO_ORDER)

    def batches(
        self, codes: tuple[Code, ...], places: Places, skip: Collection[int] = ()
    ) -> Iterator[Batch]:
        """The codes of all rows, a batch of slots at a time, in bounded memory.

        Batches in `skip`, and those without a row, may be left out. `check_places` was asked before.
        """
        raise ValueError(_NO_ORDER)

    def map_batches(
        self,
        codes: tuple[Code, ...],
        places: Places,
        act: Callable[[Batch], Result],
        skip: Collection[int] = (),
    ) -> Iterator[tuple[int, Result]]:
        """The number of each batch, and what `act` makes of it: here, or where the rows are."""
        for batch in self.batches(codes, places, skip):
            if batch.number not in skip:
                yield batch.number, act(batch)
