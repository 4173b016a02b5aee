"""The codes of rows, collected for steps that need rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.coding import Code, CodedQuery, Integers

if TYPE_CHECKING:
    from discreet.coding.chunks import Chunk

#: Rows whose codes are collected at once.
ROWS_TILE = 2**11

Mask = npt.NDArray[np.bool_]
Chunks = Iterable[tuple["Chunk", Mask]]


def rows_of(codes: tuple[Code, ...], chunks: Chunks, maximum: int | None = None) -> Integers:
    """The codes of the rows that count; of `maximum` rows at most, if that is known."""
    if maximum is None:
        parts = [np.zeros((0, len(codes)), np.int64)]
        for chunk, mask in chunks:
            parts.append(np.empty((int(mask.sum()), len(codes)), np.int64))
            _write_rows(parts[-1], codes, chunk, mask)
        return np.concatenate(parts)
    result, at = np.empty((maximum, len(codes)), np.int64), 0
    for chunk, mask in chunks:
        count = int(mask.sum())
        _write_rows(result[at : at + count], codes, chunk, mask)
        at += count
    return result[:at]


def person_rows_of(query: CodedQuery, codes: tuple[Code, ...], chunks: Chunks) -> Integers:
    """The codes of the rows that count, and their persons' numbers, which stand in the column of ids."""
    assert query.keep is not None
    parts = [np.zeros((0, len(codes) + 1), np.int64)]
    for chunk, mask in chunks:
        columns = [*map(chunk.code, codes), chunk.column(query.keep.id_column)]
        parts.append(np.stack([column[mask] for column in columns], axis=1))
    return np.concatenate(parts)


def join_persons(parts: list[Integers]) -> Integers:
    """The rows of parts of a table that share no person, each with numbers of its own in the last column."""
    shifted, taken = [], 0
    for part in parts:
        moved = part.copy()
        moved[:, -1] += taken
        taken = int(moved[:, -1].max(initial=taken - 1)) + 1
        shifted.append(moved)
    return np.concatenate(shifted)


def _write_rows(out: Integers, codes: tuple[Code, ...], chunk: Chunk, mask: Mask) -> None:
    """Write the codes of a chunk's rows that count, a tile at a time: columns are made where cache is."""
    everyone = len(out) == chunk.length
    writers = [chunk.writer(code) for code in codes]
    tile = np.empty((len(codes), ROWS_TILE))
    at = 0
    for start in range(0, chunk.length, ROWS_TILE):
        rows = slice(start, min(start + ROWS_TILE, chunk.length))
        part = tile[:, : rows.stop - start]
        for index, write in enumerate(writers):
            write(part[index], rows)
        kept = part.T if everyone else part.T[mask[rows]]
        out[at : at + len(kept)] = kept  # integers below 2^53: the cast is exact
        at += len(kept)
