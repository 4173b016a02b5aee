"""The private side of a written table: draws that nobody has seen yet, and how to go on after a crash."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from discreet.ledger import Book, Progress
from discreet.noise import random_bytes
from discreet.publish.tables.sinks import Sink, require_arrow, sync_folder

__all__ = ["PrivateFolder", "Staging"]

_NAME_BYTES = 12


@final
class Staging:
    """Writes draws where nobody sees them. It may be sent to other processes.

    Privacy
    -------
    Files have no compression and no dictionary, so that the size of numbers is the same whatever was drawn:
    no disk that is full chooses between draws.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, number: int, columns: Mapping[str, Any]) -> str:
        """Write columns to a file of a new name, durably, and return the name."""
        arrow = require_arrow()
        name = random_bytes(_NAME_BYTES).hex()
        target = self.path(number, name)
        made = target.with_suffix(".unfinished")
        table = arrow.table({key: arrow.array(values) for key, values in columns.items()})
        with open(made, "wb") as file:
            arrow.parquet.write_table(
                table, file, compression="none", use_dictionary=False, write_statistics=False
            )
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, target)
        sync_folder(self.folder)
        return name

    def path(self, number: int, name: str) -> Path:
        """The file of a part that was made under a name."""
        return self.folder / f"{number:06d}.{name}.parquet"


@final
class PrivateFolder:
    """A folder that its owner alone may read, locked by the one process that writes the table.

    Parameters
    ----------
    path : path
        It must survive a restart, and must never be published or backed up to where others read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.staging = Staging(path / "staged")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Create the folder, and keep other processes out; a process that dies gives the lock back."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.staging.folder.mkdir(mode=0o700, exist_ok=True)
        os.chmod(self.staging.folder, 0o700)
        handle = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RuntimeError(
                    f"another process is writing this table (it holds {self.path / 'lock'}): wait for it."
                ) from None
            yield
        finally:
            os.close(handle)

    def _agree(self, facts: Mapping[str, Any], is_paid: Callable[[str], bool]) -> str:
        """The token of the release that was begun here with these facts, or that begins now.

        One that was never paid for has published nothing, and is forgotten where it differs.
        """
        file = self.path / "release.json"
        known = json.loads(file.read_text()) if file.exists() else None
        if known is not None and (known["facts"] == dict(facts) or is_paid(known["token"])):
            for key, value in json.loads(json.dumps(dict(facts))).items():
                if known["facts"].get(key) != value:
                    raise ValueError(
                        f"{key}: the release that was begun in {self.path} has "
                        f"{known['facts'].get(key)!r}, not {value!r}. Go on with what was begun, or publish "
                        "to another place."
                    )
            return str(known["token"])
        token = random_bytes(16).hex()
        made = file.with_suffix(".unfinished")
        with open(made, "w") as out:
            out.write(json.dumps({"token": token, "facts": dict(facts)}))
            out.flush()
            os.fsync(out.fileno())
        os.replace(made, file)
        sync_folder(self.path)
        return token

    def begin(
        self, facts: Mapping[str, Any], sink: Sink, book: Book | None, cost: Callable[[str], str]
    ) -> str:
        """The token of a release that was begun here or begins now; `cost` names its charge.

        A place that holds what this ledger has not paid for is refused: it would be published twice.
        """

        def is_paid(token: str) -> bool:
            return book is not None and book.find(cost(token)) is not None

        token = self._agree(facts, is_paid)
        if book is not None and not is_paid(token) and not sink.is_empty():
            raise ValueError(
                f"to: {sink.place} holds a table already, which {self.path} and this ledger don't know of: a "
                "table is published once, so publish to another place."
            )
        return token

    def recover(self, progress: Progress, sink: Sink, label: Callable[[int], str]) -> int:
        """Publish draws that were entered before a crash, and forget those that were not: nobody saw them.

        Returns how many were published.
        """
        published = 0
        for file in sorted(self.staging.folder.iterdir()):
            number, name = _read_name(file)
            if number is not None and progress.find(number) == name:
                sink.publish(label(number), file)
                published += 1
            else:
                file.unlink()
        return published


def _read_name(file: Path) -> tuple[int | None, str]:
    parts = file.name.split(".")
    if len(parts) == 3 and parts[0].isdigit() and parts[2] == "parquet":
        return int(parts[0]), parts[1]
    return None, ""
