"""Input perturbation by a curator: all rows of a data set, each perturbed, in a random order."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.dataset import PrivateDataset
from discreet.publish.row_release import SeparateRows
from discreet.publish.rows import RowPerturbation
from discreet.publish.tables.sinks import open_sink
from discreet.publish.tables.writing import release_rows

Array = npt.NDArray[Any]


def perturb(
    data: PrivateDataset,
    *,
    epsilon: Any,
    delta: Any = 0,
    target: str | None = None,
    norm: Any = None,
    label_share: Any = None,
    kind: Literal["grid", "norm-gamma"] = "grid",
    to: Any = None,
    order_by: str | None = None,
    private: str | Path | None = None,
) -> Any:
    """Publish all rows of a data set, each perturbed by `RowPerturbation`, in a random order.

    Parameters
    ----------
    data : PrivateDataset
        Its unit must be replace-one, with one row per person: every row is published.
    epsilon, delta, target, norm, label_share, kind
        As for `RowPerturbation`.
    to : path or URL, optional
        A folder for Parquet files, or the address of a table: rows are written there once, in bounded
        memory and in their public order, and not returned.
    order_by, private
        As for `write_rows`.

    Returns
    -------
    mapping of columns to arrays, or Written
        The columns of the schema; numbers are not clamped.

    Privacy
    -------
    (ε, δ) for the whole row, label included: a row's report depends only on that row. It is refused under
    add/remove, and with ids, since the number of published rows would reveal the number of rows. The order is
    random, so the engine's own order reveals nothing. Proof page: ``docs/proofs/input_perturbation.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> ledger = dp.Ledger(limit=dp.PureDP(8), unit=dp.REPLACE_ONE)
    >>> data = dp.PrivateDataset({"x": [0.2, 0.4]}, dp.Schema(x=dp.Real(0, 1)), ledger=ledger)
    >>> dp.publish.perturb(data, epsilon=8)["x"].shape
    (2,)
    """
    to = None if to is None else open_sink(to)
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
    step = PerturbedRows(channel, data.rows)
    return release_rows(data, step, channel.measure, to, order_by, private)


@final
class PerturbedRows(SeparateRows):
    """Every row, perturbed, in a random order.

    Parameters
    ----------
    channel : RowPerturbation
    rows : int or None
        As for `RowRelease`.

    Privacy
    -------
    What one row's report costs, under replace-one with one row per person.
    Proof page: ``docs/proofs/input_perturbation.md``.
    """

    def __init__(self, channel: RowPerturbation, rows: int | None) -> None:
        super().__init__(channel.schema, rows)
        self._channel = channel

    def event_of_row(self) -> events.Event:
        return self._channel.event()

    def blur(self, codes: npt.NDArray[np.int64]) -> dict[str, Array]:
        return self._channel.decode(self._channel.blur(codes))

    def as_columns(self, blurred: dict[str, Array]) -> dict[str, Array]:
        return blurred
