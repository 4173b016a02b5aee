"""Who was in which batch of a growing table: private, kept as keyed hashes in a file of its own."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.coding.cells import id_of
from discreet.noise import random_bytes

__all__ = ["Persons"]

Mask = npt.NDArray[np.bool_]

_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS persons (
  hash BLOB PRIMARY KEY, batch INTEGER NOT NULL, part INTEGER NOT NULL, slot INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS of_part ON persons (batch, part);
CREATE TABLE IF NOT EXISTS parts (
  batch INTEGER NOT NULL, part INTEGER NOT NULL, PRIMARY KEY (batch, part)
) WITHOUT ROWID;
"""
_HASH_BYTES = 16
#: Numbers that take more bits than this as a fraction are nobody's id; Python can write all shorter ones.
MAX_BITS = 2**11
_MAX_PLACES = MAX_BITS // 4
#: Text that is a whole number, as files and frames write it, of at most as many digits as a double's.
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,309}(\.0{0,309})?")


@final
class Persons:
    """The slot in which each person was first seen.

    Parameters
    ----------
    path : path
        A SQLite file that its owner alone may read: as private as the table itself.

    Privacy
    -------
    Nothing of it is ever published. Ids are stored as HMAC-SHA-256 under a key in the same file, cut to 128
    bits: two persons share a hash with a chance below n²/2^129, and then one row is padding. Ids that are
    equal for a `Unit` (text by its characters, numbers as numbers) are one person, and so are a whole number
    and text that says it, as in a file; a number that takes more than `MAX_BITS` bits as a fraction is
    nobody's, so that no cell makes it raise. What is taken of a part is on the disk before the part is
    published.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        handle = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        os.close(handle)
        with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.executescript(_TABLES)
            yield connection

    def take(self, batch: int, part: int, ids: npt.NDArray[Any], slots: npt.NDArray[Any]) -> Mask:
        """Which rows are their person's first ones; what an earlier try of this part took is forgotten.

        Rows without an id are nobody's, and not among them.
        """
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            key = self._key(connection)
            connection.execute("DELETE FROM persons WHERE batch = ? AND part = ?", (batch, part))
            hashes = [_hash(key, cell) for cell in ids]
            found = np.zeros(len(ids), np.bool_)
            for place, (person, slot) in enumerate(zip(hashes, slots.tolist(), strict=True)):
                if person is not None:
                    added = connection.execute(
                        "INSERT OR IGNORE INTO persons VALUES (?, ?, ?, ?)",
                        (person, batch, part, slot),
                    )
                    found[place] = added.rowcount == 1
            connection.execute("INSERT OR IGNORE INTO parts VALUES (?, ?)", (batch, part))
            connection.execute("COMMIT")
        return found

    def knows(self, batch: int, part: int) -> bool:
        """Whether the persons of a part were taken."""
        if not self._path.exists():
            return False
        with self._open() as connection:
            asked = "SELECT 1 FROM parts WHERE batch = ? AND part = ?"
            return connection.execute(asked, (batch, part)).fetchone() is not None

    @staticmethod
    def _key(connection: sqlite3.Connection) -> bytes:
        found = connection.execute("SELECT value FROM facts WHERE name = 'key'").fetchone()
        if found is None:
            found = (random_bytes(32),)
            connection.execute("INSERT INTO facts VALUES ('key', ?)", found)
        return bytes(found[0])


def _hash(key: bytes, cell: Any) -> bytes | None:
    person = id_of(cell)
    if isinstance(person, str):
        text = person.strip()
        # files of text have no types: who is 7 in an array is "7" there
        person = Fraction(text) if WHOLE_NUMBER.fullmatch(text) else person
    if person is None:
        return None
    if isinstance(person, str):
        written = b"t" + person.encode("utf-8", "surrogatepass")
    else:
        ratio = _ratio_of(person)
        if ratio is None:
            return None
        written = b"n" + "/".join(map(str, ratio)).encode()
    return hmac.digest(key, written, hashlib.sha256)[:_HASH_BYTES]


def _ratio_of(number: Any) -> tuple[int, int] | None:
    """Numerator and denominator, the same for equal numbers of all types; None where they are too long.

    A decimal of many places is not even made a fraction: that could take all memory.
    """
    if isinstance(number, Decimal) and -int(number.as_tuple().exponent) > _MAX_PLACES:
        return None
    ratio: tuple[int, int] = number.as_integer_ratio()
    return ratio if max(part.bit_length() for part in ratio) <= MAX_BITS else None
