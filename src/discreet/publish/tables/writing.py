"""Publish all rows of a data set into a sink, batch by batch, for one charge."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from discreet.coding import Batch, Integers, Places
from discreet.dataset import PrivateDataset
from discreet.events import Event
from discreet.ledger import Progress
from discreet.measures import Measure
from discreet.publish.row_release import RowRelease, middle_codes
from discreet.publish.tables.folders import PrivateFolder, Staging
from discreet.publish.tables.sinks import Sink, open_sink
from discreet.schema import Schema
from discreet.step import BatchStep
from discreet.unit import Unit

__all__ = [
    "DEFAULT_CELLS",
    "BatchedRows",
    "Written",
    "open_folder",
    "release_rows",
    "size_for",
    "write_rows",
]

#: About this many cells are in a batch: nine megabytes as doubles.
DEFAULT_CELLS = 9 * 2**17


@final
@dataclass(frozen=True)
class Written:
    """What was published, and where.

    Attributes
    ----------
    place : str
    rows : int
    parts : int

    Examples
    --------
    >>> from discreet.publish import Written
    >>> Written("masked/", rows=12_000, parts=3)
    Written(place='masked/', rows=12000, parts=3)
    """

    place: str
    rows: int
    parts: int


class BatchedRows(BatchStep):
    """Rows of a release, batch by batch, each written where nobody sees it until it is entered.

    Parameters
    ----------
    release : RowRelease
    staging : Staging

    Privacy
    -------
    That of the release, whose blocks of rows never reach over the end of a batch.
    Proof page: ``docs/proofs/tables.md``.
    """

    def __init__(self, release: RowRelease, staging: Staging) -> None:
        self._release, self._staging = release, staging
        self.columns = release.columns
        self._padding = middle_codes(release.schema)

    def event(self, schema: Schema, unit: Unit) -> Event:
        self._release.check_unit(unit)
        self._release.check_columns(schema)
        return self._release.event_of_row()

    def run_batch(self, batch: Batch) -> str:
        return self._staging.write(batch.number, self.blur(self.arrange(batch)))

    def arrange(self, batch: Batch) -> Integers:
        """The codes of all slots: the row that stands there, or padding."""
        return batch.fill(self._padding)

    def blur(self, codes: Integers) -> dict[str, Any]:
        """What is published of all slots, padding like any other."""
        return self._release.as_columns(self._release.blur(codes))

    def __repr__(self) -> str:
        return f"{self._release!r}, written in batches"


def write_rows(
    data: PrivateDataset,
    release: RowRelease,
    measure: Measure | None = None,
    *,
    to: Any,
    order_by: str | None = None,
    private: str | Path | None = None,
) -> Written:
    """Publish all rows of a data set into a sink, in bounded memory, for one charge.

    Parameters
    ----------
    data : PrivateDataset
        Its unit must be replace-one, with one row per person, and the number of rows declared.
    release : RowRelease
    measure : Measure, optional
        What it may cost, as in `Ledger.charge`.
    to : path or URL
        A folder for Parquet files, or the address of a table, ``postgresql://…?table=public_rows``.
    order_by : str, optional
        For databases and Spark: the column of whole numbers, public, that says in which slot from 0 on each
        row stands. Slots without a row are filled with rows in the middle of all ranges. Rows of arrays,
        frames in memory and files stand in their own order.
    private : path, optional
        A folder for what nobody else may see until it is published. By default beside the folder `to`; for
        tables of databases it must be given.

    Returns
    -------
    Written
        Where the table is; never the rows. After a crash the same call goes on where it was. A release that
        is complete is refused.

    Privacy
    -------
    The release's own, for neighbours that differ in the contents of one slot. One draw of each slot is ever
    published, whatever crashes or runs twice. Proof page: ``docs/proofs/tables.md``.

    Examples
    --------
    >>> import tempfile
    >>> import discreet as dp
    >>> from discreet.publish.perturb import PerturbedRows
    >>> schema, unit = dp.Schema(x=dp.Real(0, 1)), dp.REPLACE_ONE
    >>> ledger = dp.Ledger(limit=dp.PureDP(4), unit=unit)
    >>> data = dp.PrivateDataset({"x": [0.2, 0.4] * 50}, schema, ledger=ledger, rows=100)
    >>> release = PerturbedRows(dp.publish.RowPerturbation(schema, epsilon=4), rows=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(dp.publish.write_rows(data, release, to=f"{folder}/public_rows").rows)
    100
    """
    to = open_sink(to)
    if not isinstance(data, PrivateDataset):
        raise TypeError(f"data must be a dp.PrivateDataset, not {type(data).__name__}.")
    if release.rows is None:
        raise ValueError(
            "rows must be declared to write a table, as in dp.PrivateDataset(..., rows=1000)."
        )
    if not release.ordered and release.block > 1:
        raise ValueError(
            "order: rows that are written in batches stand in public slots; use order='position' if their "
            "places, or the column order_by, are public facts."
        )
    places = Places(release.rows, size_for(release), order_by)
    folder = open_folder(to, private)
    step = BatchedRows(release, folder.staging)
    data.check_batches(step, places)
    with folder.lock():
        facts = facts_of(release, places, data.schema)
        token = folder.begin(facts, to, data.ledger, cost=str)
        progress = Progress(data.ledger, token)
        written = Written(to.place, release.rows, places.batches)
        recovered = folder.recover(progress, to, label_of)
        if all(progress.find(part) is not None for part in range(places.batches)):
            if recovered:  # the last part was entered, and nothing more is to do
                return written
            raise ValueError(f"to: {to.place} is complete: a table is published once.")
        for number, name in data.run_batches(step, places, measure, token=token):
            to.publish(label_of(number), folder.staging.path(number, name))
        folder.recover(progress, to, label_of)  # what tasks made twice
    return written


def release_rows(
    data: PrivateDataset,
    release: RowRelease,
    measure: Measure | None,
    to: Sink | None,
    order_by: str | None,
    private: str | Path | None,
) -> Any:
    """What a publisher of rows does: return them, or write them where `to` says."""
    if to is not None:
        return write_rows(data, release, measure, to=to, order_by=order_by, private=private)
    if order_by is not None or private is not None:
        raise ValueError("order_by and private are for rows that are written: give to=.")
    return data.run(release, measure)


def label_of(number: int) -> str:
    """The public name of a part."""
    return f"part-{number:06d}"


def size_for(release: RowRelease) -> int:
    """How many rows a batch has: whole blocks, about `DEFAULT_CELLS` cells; from public facts alone."""
    blocks = DEFAULT_CELLS // (max(1, len(release.columns)) * release.block)
    return max(1, blocks) * release.block


def facts_of(release: RowRelease, places: Places, schema: Schema) -> dict[str, Any]:
    """The public facts that must be the same when a release is taken up again."""
    return {
        "release": repr(release),
        "event": release.event_of_row().to_dict(),
        "schema": repr(schema),
        "rows": places.slots,
        "batch": places.size,
        "order_by": places.order_by,
    }


def open_folder(sink: Sink, private: str | Path | None) -> PrivateFolder:
    """The private folder of a sink."""
    path = sink.default_private() if private is None else Path(private).absolute()
    if path is None:
        raise ValueError(
            "private must be given: a folder that you alone can read and that survives a restart, for rows "
            "that are on their way to the database."
        )
    if sink.shows(path):
        raise ValueError(
            f"private: {path} is in the folder that is published, where others would see draws that are not "
            "entered yet: give a folder elsewhere, or leave it out for one beside it."
        )
    return PrivateFolder(path)
