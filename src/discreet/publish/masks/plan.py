"""Masks of private rows: blocks of numbers in the wavelet domain, categories by randomised response."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, final, overload

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.accounting import satisfies
from discreet.coding import VALUE_BITS
from discreet.columns import Categorical, Numeric
from discreet.dataset import PrivateDataset
from discreet.measures import Measure
from discreet.mechanisms.local.response import respond
from discreet.publish.masks.releases import Floats, Integers, Release
from discreet.publish.row_release import RowRelease
from discreet.publish.rows import ONE, RowPerturbation, as_units
from discreet.publish.tables.sinks import open_sink
from discreet.publish.tables.writing import Written, release_rows
from discreet.publish.wavelets import THREE_BAND, FilterBank, padded_length
from discreet.rational import as_integer
from discreet.schema import Schema

__all__ = ["MaskPlan", "MaskedRows", "RowMask"]

Array = npt.NDArray[Any]
#: About this many numbers are noised at a time: all arrays of a chunk fit a second-level cache.
CHUNK = 2**15
Order = Literal["random", "position"]


@dataclass(frozen=True)
class RowMask(ABC):
    """A mask of private rows; see the classes that `discreet.publish.masks` lists.

    Parameters
    ----------
    epsilon : number
        What one row costs, label and all other columns included.
    target : str, optional
        The column that is to be learned, if it holds categories: it gets `label_share` of ε.
    label_share : number, optional
        As for `RowPerturbation`.
    block : int
        How many rows are transformed together; a multiple of Mˡᵉᵛᵉˡˢ.
    levels : int
        How often the approximation band is transformed again.
    bank : FilterBank
        The paper's 3-band bank by default.
    order : {"random", "position"}
        Which rows form a block: a random order, in which rows then come out; or rows as they stand, for
        sources whose rows have a place of their own (arrays, data frames in memory, CSV files).
    """

    epsilon: Any
    target: str | None = field(default=None, kw_only=True)
    label_share: Any = field(default=None, kw_only=True)
    block: int = field(default=9, kw_only=True)
    levels: int = field(default=1, kw_only=True)
    bank: FilterBank = field(default=THREE_BAND, kw_only=True, repr=False)
    order: Order = field(default="random", kw_only=True)

    def __post_init__(self) -> None:
        size = as_integer(self.block, "block", minimum=1)
        if size != padded_length(size, self.bank, self.levels):
            raise ValueError(
                f"block must be a multiple of {self.bank.bands**self.levels} for {self.levels} levels of "
                f"{self.bank!r}, got {size}."
            )
        if self.order not in ("random", "position"):
            raise ValueError(f"order must be 'random' or 'position', got {self.order!r}.")

    def plan(self, schema: Schema) -> MaskPlan:
        """What will be released of rows with these columns; from public facts alone."""
        channel = RowPerturbation(
            schema,
            epsilon=self.epsilon,
            delta=self._delta(),
            target=self.target,
            label_share=self.label_share,
        )
        count = len(channel.numbers)
        release = self._release(count, channel.shares[""]) if count else None
        plan = MaskPlan(channel, release, self.block, self.order)
        if not satisfies(plan.event(), plan.measure):
            raise ValueError(
                f"{type(self).__name__}: the accountant can't show that numbers and categories together "
                f"cost {plan.measure!r}; use WaveletLaplace, which adds up exactly."
            )
        return plan

    @overload
    def publish(self, data: PrivateDataset) -> dict[str, Array]: ...
    @overload
    def publish(
        self,
        data: PrivateDataset,
        *,
        to: Any,
        order_by: str | None = None,
        private: str | Path | None = None,
    ) -> Written: ...
    def publish(
        self,
        data: PrivateDataset,
        *,
        to: Any = None,
        order_by: str | None = None,
        private: str | Path | None = None,
    ) -> dict[str, Array] | Written:
        """Publish all rows of a data set, masked.

        Parameters
        ----------
        data : PrivateDataset
            Its unit must be replace-one, with one row per person: every row is published.
        to : path or URL, optional
            A folder for Parquet files, or the address of a table: rows are written there once, in bounded
            memory, and not returned. They stand in public slots (``order="position"``).
        order_by, private
            As for `write_rows`.

        Returns
        -------
        mapping of columns to arrays, or Written
            The columns of the schema; numbers may lie beyond their bounds.
        """
        to = None if to is None else open_sink(to)
        if not isinstance(data, PrivateDataset):
            raise TypeError(f"data must be a dp.PrivateDataset, not {type(data).__name__}.")
        plan = self.plan(data.schema)
        step = MaskedRows(plan, data.rows)
        found: dict[str, Array] | Written = release_rows(
            data, step, plan.measure, to, order_by, private
        )
        return found

    def _delta(self) -> Any:
        return 0

    @abstractmethod
    def _release(self, columns: int, share: Fraction) -> Release:
        """The release of this many columns of numbers, for this share of ε."""


@final
@dataclass(frozen=True)
class MaskPlan:
    """A mask of rows with certain columns, ready to be charged and run.

    Attributes
    ----------
    channel : RowPerturbation
        Which column gets which share, and how categories are told.
    release : Release or None
        What is released of each block of numbers; None where no number can differ.
    block : int
    order : {"random", "position"}
    """

    channel: RowPerturbation
    release: Release | None
    block: int
    order: Order

    @property
    def measure(self) -> Measure:
        """The guarantee of one row."""
        return self.channel.measure

    def event(self) -> events.Event:
        """The event of the whole release, as one row can change it: one block, one row of categories."""
        numbers = [] if self.release is None else [self.release.event()]
        responses = [self.channel.response(name).event() for name in self.channel.categories]
        return events.Compose(*numbers, *responses)

    def event_of_two(self) -> events.Event:
        """The event as two rows can change it together: rows tell their categories apart from each other."""
        numbers = [] if self.release is None else [self.release.event_of_two()]
        responses = [self.channel.response(name).event() for name in self.channel.categories]
        return events.Compose(*numbers, *(events.Repeat(each, 2) for each in responses))

    def spread(self) -> dict[str, float]:
        """The standard deviation of the noise on each column of numbers, in its unit, where it is fixed."""
        size = None if self.release is None else self.release.spread()
        if size is None:
            return {}
        base = self.channel.schema.base
        return {name: size / ONE * base[name].width / 2 for name in self.channel.numbers}  # type: ignore[union-attr]

    @cached_property
    def _steps(self) -> Integers:
        base = self.channel.schema.base
        return np.array([base[name].steps(VALUE_BITS) for name in self.channel.numbers])  # type: ignore[union-attr]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.channel.schema.base)}

    def blur(self, codes: Integers) -> tuple[Floats, Integers]:
        """Noised numbers in units of 1/ONE, and reports of categories, for rows of the schema's codes.

        A function of the codes and fresh noise: rows 0 to block - 1 form the first block, and so on; the last
        one is filled up with rows in the middle of all ranges, which are dropped.
        """
        return self.blur_numbers(codes), self._answer(codes)

    def blur_numbers(self, codes: Integers) -> Floats:
        """The numbers of `blur`: an array of shape (rows, columns of numbers)."""
        found = np.empty((len(codes), len(self.channel.numbers)))
        if self.release is not None:
            step = max(1, CHUNK // (self.block * found.shape[1])) * self.block
            for start in range(0, len(codes), step):  # whole blocks
                part = codes[start : start + step]
                found[start : start + step] = self._blur_blocks(part, self.release)
        return found

    def _blur_blocks(self, codes: Integers, release: Release) -> Floats:
        names, count = self.channel.numbers, len(codes)
        blocks = -(-count // self.block)
        units = np.zeros((len(names), blocks * self.block), np.int64)
        for place, name in enumerate(names):
            column = codes[:, self._places[name]]
            units[place, :count] = as_units(column, self._steps[place])
        noised = release.run(units.reshape(len(names), blocks, self.block))
        return noised.reshape(len(names), -1)[:, :count].T

    def _answer(self, codes: Integers) -> Integers:
        names = self.channel.categories
        found = np.zeros((len(codes), len(names)), np.int64)
        for place, name in enumerate(names):
            response = self.channel.response(name)
            known = np.maximum(codes[:, self._places[name]], 0)
            found[:, place] = respond(known, response.k, response.lie)
        return found

    def decode(self, numbers: Floats, answers: Integers) -> dict[str, Array]:
        """Reports as columns of the schema."""
        found: dict[str, Array] = {}
        for name, column in self.channel.schema.base.items():
            if isinstance(column, Numeric):
                half = column.width / 2
                found[name] = np.full(len(numbers), float(column.lower) + half)
                if name in self.channel.numbers:
                    found[name] += half / ONE * numbers[:, self.channel.numbers.index(name)]
            else:
                assert isinstance(column, Categorical)
                told = np.zeros(len(answers), np.int64)
                if name in self.channel.categories:
                    told = answers[:, self.channel.categories.index(name)]
                found[name] = np.asarray(column.values)[told]
        return found


@final
class MaskedRows(RowRelease):
    """All rows, masked.

    Parameters
    ----------
    plan : MaskPlan
    rows : int or None
        As for `RowRelease`.

    Privacy
    -------
    What one row costs, under replace-one with one row per person: the row is in one block, and all others
    are as they were. Refused under add/remove, and with ids: a row more would shift all blocks after it, and
    the number of published rows would reveal the number of rows. Proof page: ``docs/proofs/masks.md``.
    """

    title = "masked rows"

    def __init__(self, plan: MaskPlan, rows: int | None) -> None:
        super().__init__(plan.channel.schema, rows)
        self._plan, self.block = plan, plan.block
        self.ordered = plan.order == "position"

    def event_of_row(self) -> events.Event:
        return self._plan.event()

    def event_of_two_rows(self) -> events.Event:
        return self._plan.event_of_two()

    def blur(self, codes: Integers) -> dict[str, Array]:
        return self._plan.decode(*self._plan.blur(codes))

    def as_columns(self, blurred: dict[str, Array]) -> dict[str, Array]:
        return blurred
