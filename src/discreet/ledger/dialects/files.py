"""The file of a SQLite ledger: which one it is, and how a new one gets its name.

A file is known by device and inode. A new ledger is built under another name and linked into place
when it is whole, so that nobody ever meets half of one, and no ledger replaces another.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.ledger.dialects.base import Refusal
from discreet.ledger.errors import LedgerUnavailable

__all__ = [
    "Identity",
    "draft_of",
    "find_identity",
    "link_into_place",
    "log_of",
    "make_file",
    "remove_draft_names",
]

#: Device and inode.
Identity = tuple[int, int]

_PREFIX, _SUFFIX = ".discreet-", ".new"


def find_identity(path: Path, *, alone: bool = True) -> Identity:
    """Which file has this name now; `Refusal` if none has or, with `alone`, if the file has two names.

    Under a second name (a hard link) SQLite would keep a second log, and neither would see the
    other's charges.
    """
    try:
        found = os.stat(path)
    except OSError:
        found = None
    if found is None:
        raise Refusal(
            "its file was deleted or moved, and what is charged now would be forgotten; put it back "
            "and open it again"
        )
    if alone and found.st_nlink > 1:
        raise Refusal(
            "its file has another name (a hard link), under which charges made here would be missing; "
            "remove that name"
        )
    return found.st_dev, found.st_ino


def log_of(path: Path) -> Path:
    """The write-ahead log of the file; it stands next to the file itself, not to a symbolic link."""
    return Path(os.path.realpath(path) + "-wal")


def make_file(path: Path, content: bytes = b"") -> None:
    """Make a file where there was none."""
    reason: str | None = None
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666), "wb") as file:
            file.write(content)
    except OSError as error:
        reason = error.strerror
    if reason is not None:
        raise LedgerUnavailable(f"No ledger can be made in {path.parent}: {reason}.")


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A name in the same directory that nobody has; nothing stays there."""
    directory = Path(os.path.realpath(path)).parent
    draft = directory / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
    try:
        yield draft
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            Path(f"{draft}{ending}").unlink(missing_ok=True)


def link_into_place(draft: Path, path: Path) -> bool:
    """Give a whole file its name, unless another file has it; True if it has it now."""
    place = Path(os.path.realpath(path))
    try:
        os.link(draft, place)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        return _move_into_place(draft, place)
    draft.unlink(missing_ok=True)
    _sync_directory(place.parent)
    return True


def _move_into_place(draft: Path, place: Path) -> bool:
    try:
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    os.replace(draft, place)  # until now an empty file stood there, which everybody refuses
    _sync_directory(place.parent)
    return True


def remove_draft_names(path: Path) -> None:
    """Remove the name under which a file was built, if its maker was stopped before it could."""
    place = Path(os.path.realpath(path))
    with suppress(OSError):
        found = os.stat(place)
        if found.st_nlink == 1:
            return
        for other in place.parent.glob(f"{_PREFIX}*{_SUFFIX}"):
            if os.path.samestat(found, os.stat(other)):
                other.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
