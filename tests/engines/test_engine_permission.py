"""A file that this user may not read: the reason is told, with the name that the person gave."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

import discreet as dp

SCHEMA = dp.Schema(age=dp.Integer(0, 99))
NOBODY = 65534


def message_as_nobody(source: str) -> str:
    """What a process without rights is told when it opens a source."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        told = "nothing was raised"
        try:
            if os.geteuid() == 0:
                os.setuid(NOBODY)
            dp.PrivateDataset(source, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1)))
        except PermissionError as error:
            told = str(error)
        except BaseException as error:
            told = type(error).__name__
        finally:
            os.write(writer, told.encode())
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        return pipe.read().decode()


@pytest.fixture
def folder(tmp_path):
    """A folder that everybody may enter."""
    path = tmp_path
    while path.parent != path and path != Path(tempfile.gettempdir()):
        path.chmod(path.stat().st_mode | 0o011)
        path = path.parent
    return tmp_path


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.parquet", "rows.db"])
def test_a_file_without_permission_is_named(name, folder):
    path = Path(folder / name)
    path.write_bytes(b"age\n7319\n")
    path.chmod(0)
    source = f"duckdb:///{path}?table=t" if name.endswith(".db") else str(path)
    told = message_as_nobody(source)
    assert told == (
        f"this user may not read the file {str(path)!r}: ask its owner for the permission, or copy it to "
        "where you may."
    )


def test_a_folder_without_permission_is_told_as_such(folder):
    inner = folder / "locked"
    inner.mkdir()
    (inner / "rows.csv").write_text("age\n7319\n")
    inner.chmod(0)
    try:
        assert "may not read the file" in message_as_nobody(str(inner / "rows.csv"))
    finally:
        inner.chmod(0o700)
