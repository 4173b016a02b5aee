"""Input perturbation by a curator: all rows of a data set, each perturbed, in a random order."""

from __future__ import annotations

from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from discreet import events, noise
from discreet.coding import VALUE_BITS
from discreet.columns import Numeric
from discreet.dataset import PrivateDataset
from discreet.publish.rows import RowPerturbation
from discreet.schema import Schema
from discreet.step import CodedRows, Step
from discreet.unit import Unit

Array = npt.NDArray[Any]

#: The most rows that are published: they are held in memory.
MAX_ROWS = 2**28


def perturb(
    data: PrivateDataset,
    *,
    epsilon: Any,
    delta: Any = 0,
    target: str | None = None,
    norm: Any = None,
    label_share: Any = None,
    kind: Literal["grid", "norm-gamma"] = "grid",
) -> dict[str, Array]:
    """Publish all rows of a data set, each perturbed by `RowPerturbation`, in a random order.

    Parameters
    ----------
    data : PrivateDataset
        Its unit must be replace-one, with one row per person: every row is published.
    epsilon, delta, target, norm, label_share, kind
        As for `RowPerturbation`.

    Returns
    -------
    mapping of columns to arrays
        The columns of the schema; numbers are not clamped.

    Privacy
    -------
    (ε, δ) for the whole row, label included: a row's report depends only on that row. It is refused under
    add/remove, and with ids, since the number of published rows would reveal the number of rows. The order is
    random, so the engine's own order reveals nothing. Proof page: ``docs/proofs/input_perturbation.md``.
    """
    if not isinstance(data, PrivateDataset):
        raise TypeError(
            f"data must be a dp.PrivateDataset, not {type(data).__name__}; to perturb one's own row, "
            "use RowPerturbation."
        )
    channel = RowPerturbation(
        data.schema,
        epsilon=epsilon,
        delta=delta,
        target=target,
        norm=norm,
        label_share=label_share,
        kind=kind,
    )
    found: dict[str, Array] = data.run(PerturbedRows(channel, data.rows), channel.measure)
    return found


@final
class PerturbedRows(Step):
    """Every row, perturbed, in a random order.

    Parameters
    ----------
    channel : RowPerturbation
    rows : int or None
        The public number of rows: this many are published, however many there are. None on public rows.

    Privacy
    -------
    What one row's report costs, under replace-one with one row per person.
    Proof page: ``docs/proofs/input_perturbation.md``.
    """

    def __init__(self, channel: RowPerturbation, rows: int | None) -> None:
        self._channel, self._rows = channel, rows
        self.columns = tuple(channel.schema.base)

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        if not unit.is_public and not unit.length_is_public:
            raise ValueError(
                "rows can be published under dp.REPLACE_ONE only, with one row per person: otherwise the "
                "number of rows is private, and as many published rows would reveal it. Use "
                "unit=dp.Unit(dp.REPLACE_ONE) if the number is public; MaskedData publishes made-up rows "
                "under any unit."
            )
        check_row_count(unit, self._rows)
        if dict(schema.base) != dict(self._channel.schema.base):
            raise ValueError("schema: this step was made for other columns.")
        return self._channel.event()

    def run(self, rows: CodedRows) -> dict[str, Array]:
        codes = rows.codes
        if self._rows is not None:  # a declared number is a constant, however many there are
            lacking = max(0, self._rows - len(codes))
            # if there are more, which ones are left out must not depend on an engine's order
            codes = codes[noise.permutation(len(codes))][: self._rows]
            codes = np.concatenate(
                [codes, np.tile(middle_codes(self._channel.schema), (lacking, 1))]
            )
        reports = self._channel.blur(codes)
        return self._channel.decode(reports[noise.permutation(len(reports))])

    def __repr__(self) -> str:
        return f"PerturbedRows{self.columns}"


def check_row_count(unit: Unit, rows: int | None) -> None:
    """Refuse a table to be published whose public number of rows is not declared, or too large."""
    if rows is None and not unit.is_public:
        raise ValueError(
            "rows must be declared for this source, as in dp.PrivateDataset(..., rows=1000): this many are "
            "published, and their number is never taken from private data."
        )
    if rows is not None and rows > MAX_ROWS:
        raise ValueError(
            f"rows: at most {MAX_ROWS} rows are published, but rows={rows} was declared."
        )


def middle_codes(schema: Schema) -> npt.NDArray[np.int64]:
    """The codes of a row that stands for a missing one."""
    return np.array(
        [
            column.steps(VALUE_BITS) // 2 if isinstance(column, Numeric) else 0
            for column in schema.base.values()
        ],
        np.int64,
    )
