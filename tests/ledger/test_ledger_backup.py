"""Copies of a ledger, and reading one without the right to write."""

from __future__ import annotations

import itertools
import os
import pickle
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from ledger_files import path_of

from discreet.events import DiscreteLaplace
from discreet.ledger import Ledger, LedgerCorrupt, LedgerUnavailable
from discreet.measures import PureDP

VERSION_1 = Path(__file__).with_name("version_1.sql")
_names = itertools.count()


@pytest.fixture
def filled(url: str) -> Ledger:
    ledger = Ledger(url, limit=PureDP(1))
    ledger.account("team", PureDP(0.5)).charge(DiscreteLaplace(10), note="one")
    ledger.charge(DiscreteLaplace(10), note="two")
    return ledger


# -- backups -----------------------------------------------------------------------------------


def test_a_backup_is_the_same_ledger_in_one_file(filled: Ledger, tmp_path: Path) -> None:
    anchor = filled.backup(tmp_path / "copy.db")
    assert anchor == filled.head
    assert not (tmp_path / "copy.db-wal").exists()
    copy = Ledger(f"sqlite:///{tmp_path}/copy.db")
    copy.verify(*anchor)
    assert copy.entries() == filled.entries()
    assert copy.account("team").remaining() == filled.account("team").remaining()
    copy.charge(DiscreteLaplace(10))  # and may be used in place of one that is lost
    assert len(filled.entries()) == 4
    assert Ledger(filled.url).account("team").backup(str(tmp_path / "second.db")) == filled.head


def test_a_backup_replaces_nothing(filled: Ledger, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("precious")
    with pytest.raises(LedgerUnavailable, match="never replaces a file"):
        filled.backup(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "precious"
    for bad in ("", "sqlite:///x.db", "what?.db", b"bytes.db"):
        with pytest.raises(ValueError, match="path must name a file"):
            filled.backup(bad)
    with pytest.raises(LedgerUnavailable, match="doesn't exist"):
        filled.backup(tmp_path / "no" / "copy.db")
    assert {part.name for part in tmp_path.iterdir()} <= {
        "copy.db",
        "budget.db",
        "budget.db-wal",
        "budget.db-shm",
    }


def test_a_damaged_ledger_is_not_backed_up(filled: Ledger, tmp_path: Path) -> None:
    with sqlite3.connect(path_of(filled.url)) as connection:
        connection.execute("UPDATE discreet_balances SET totals = replace(totals, '1', '0')")
    connection.close()
    with pytest.raises(LedgerCorrupt):
        filled.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_backups_are_made_while_others_charge(url: str, tmp_path: Path) -> None:
    ledger = Ledger(url, limit=PureDP(100))
    started, stop = threading.Event(), threading.Event()

    def work() -> None:
        while not stop.is_set():
            ledger.charge(DiscreteLaplace(1000))
            started.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(60)
    anchors = [Ledger(url).backup(tmp_path / f"copy{i}.db") for i in range(5)]
    stop.set()
    thread.join()
    for i, (head, number) in enumerate(anchors):
        copy = Ledger(f"sqlite:///{tmp_path}/copy{i}.db", read_only=True)
        assert copy.head == (head, number)
        charges = len(copy.entries()) - 1  # the first one opens the ledger
        assert copy.spent() == PureDP(Fraction(charges, 1000))
        copy.verify(head, number)
        ledger.verify(head, number)
    numbers = [number for _, number in anchors]
    assert 0 < numbers[0] <= sorted(numbers)[-1] <= ledger.head[1]


def test_a_ledger_on_a_server_is_backed_up_to_a_file(postgres_server, tmp_path: Path) -> None:
    url = f"{postgres_server.url()}?ledger=saved_{next(_names)}"
    ledger = Ledger(url, limit=PureDP(1))
    ledger.account("team", PureDP(0.5)).charge(DiscreteLaplace(10), note="one")
    anchor = ledger.backup(tmp_path / "copy.db")
    copy = Ledger(f"sqlite:///{tmp_path}/copy.db", read_only=True)
    copy.verify(*anchor)
    assert copy.entries() == ledger.entries()


# -- reading only ------------------------------------------------------------------------------


def _read(url: str) -> tuple[str, int]:
    auditor = Ledger(url, read_only=True)
    auditor.verify()
    assert len(auditor.statement().entries) == auditor.head[1]
    auditor.account("team").remaining()
    pickle.loads(pickle.dumps(auditor)).verify()
    for act in (
        lambda: auditor.charge(DiscreteLaplace(10)),
        lambda: auditor.account("new", PureDP(0.1)),
        lambda: pickle.loads(pickle.dumps(auditor.account("team"))).charge(DiscreteLaplace(10)),
        lambda: auditor.find("0" * 32),
    ):
        with pytest.raises(LedgerUnavailable, match="opened with read_only=True"):
            act()
    return auditor.head


def test_a_reader_sees_what_is_charged_meanwhile_and_charges_nothing(filled: Ledger) -> None:
    auditor = Ledger(filled.url, read_only=True)
    for _ in range(3):
        assert auditor.head == filled.head  # by the log, which the writer keeps
        filled.charge(DiscreteLaplace(100))
    filled._store.disconnect()
    assert auditor.head == filled.head  # by the file, now that there is no log
    assert _read(filled.url) == filled.head


def test_a_reader_writes_nothing_next_to_the_file(filled: Ledger, tmp_path: Path) -> None:
    filled._store.disconnect()
    before = {part.name: part.stat().st_mtime_ns for part in tmp_path.iterdir()}
    assert set(before) == {"budget.db"}
    _read(filled.url)
    assert {part.name: part.stat().st_mtime_ns for part in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"read_only": 1}, TypeError, "read_only must be True or False"),
        ({"read_only": True, "limit": PureDP(2)}, ValueError, "limit is"),
    ],
)
def test_what_is_given_to_a_reader_is_checked(filled, arguments, error, words) -> None:
    with pytest.raises(error, match=words):
        Ledger(filled.url, **arguments)


def test_reading_makes_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="there is no file"):
        Ledger(f"sqlite:///{tmp_path}/no.db", limit=PureDP(1), read_only=True)
    with pytest.raises(ValueError, match="url must be given"):
        Ledger(limit=PureDP(1), read_only=True)
    (tmp_path / "empty.db").touch()
    with pytest.raises(LedgerUnavailable, match="it is not a ledger"):
        Ledger(f"sqlite:///{tmp_path}/empty.db", limit=PureDP(1), read_only=True)
    assert [part.name for part in tmp_path.iterdir()] == ["empty.db"]


def test_a_reader_notices_damage_and_another_ledger(filled: Ledger, tmp_path: Path) -> None:
    auditor = Ledger(filled.url, read_only=True)
    auditor.verify()
    filled._store.disconnect()
    with sqlite3.connect(path_of(filled.url)) as connection:
        connection.execute("UPDATE discreet_entries SET body = replace(body, '1/10', '1/99')")
    connection.close()
    with pytest.raises(LedgerCorrupt, match="was changed"):
        auditor.verify()
    Ledger(f"sqlite:///{tmp_path}/other.db", limit=PureDP(1))
    os.replace(tmp_path / "other.db", path_of(filled.url))
    with pytest.raises(LedgerUnavailable, match="replaced"):
        auditor.head  # noqa: B018


def test_what_is_read_without_a_lock_is_read_again_if_somebody_wrote(filled, monkeypatch) -> None:
    """A file without log isn't locked: the reader must not mix two states."""
    filled._store.disconnect()
    auditor = Ledger(filled.url, read_only=True)
    tries = []

    def act(connection):
        found = connection.exec_driver_sql("SELECT count(*) FROM discreet_entries").scalar()
        tries.append(found)
        if len(tries) < 3:
            writer = Ledger(filled.url)
            writer.charge(DiscreteLaplace(100))
            writer._store.disconnect()
        if len(tries) == 2:
            raise LedgerCorrupt("what a mixture looks like")
        return found

    assert auditor._store.read(act) == 6
    assert tries == [4, 5, 6]


def test_older_tables_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript(VERSION_1.read_text())
    connection.close()
    before = path.read_bytes()
    auditor = Ledger(f"sqlite:///{path}", read_only=True)
    auditor.verify()
    assert [entry.token for entry in auditor.entries()] == [""] * 6
    assert _read(auditor.url)[1] == 6
    assert path.read_bytes() == before  # nothing was migrated
    auditor.backup(tmp_path / "new.db")
    Ledger(f"sqlite:///{tmp_path}/new.db").verify(*auditor.head)


def test_a_reader_on_a_server_charges_nothing(postgres_server) -> None:
    url = f"{postgres_server.url()}?ledger=read_{next(_names)}"
    with pytest.raises(LedgerUnavailable, match="without read_only"):
        Ledger(url, limit=PureDP(1), read_only=True)
    assert postgres_server.execute("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'read_%'") == []
    ledger = Ledger(url, limit=PureDP(1))
    ledger.account("team", PureDP(0.5)).charge(DiscreteLaplace(10))
    assert _read(url) == ledger.head


# -- without the right to write ----------------------------------------------------------------


@pytest.fixture
def shelf() -> Iterator[Path]:
    """A directory that others may read and not write."""
    made = Path(tempfile.mkdtemp(prefix="discreet-shelf-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def _as_nobody(act: Callable[[], object]) -> None:
    """Run in a child that may only read, and raise what it raised."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody with fewer rights; not here")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            result: object = act()
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(writer, str(result or "").encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    assert said == "", said


@pytest.mark.parametrize("state", ["in use", "closed", "killed"])
def test_an_auditor_without_write_access_reads_and_verifies(shelf: Path, state: str) -> None:
    url = f"sqlite:///{shelf}/budget.db"
    ledger = Ledger(url, limit=PureDP(1))
    ledger.account("team", PureDP(0.5)).charge(DiscreteLaplace(10))
    head = ledger.head
    holder = None
    if state == "closed":
        ledger._store.disconnect()
    if state == "in use":  # by another process: a fork closes this one's connection
        holder = sqlite3.connect(shelf / "budget.db")
    if state == "killed":
        child = os.fork()
        if child == 0:
            ledger.charge(DiscreteLaplace(10))
            os.kill(os.getpid(), 9)
        os.waitpid(child, 0)
        assert (shelf / "budget.db-wal").stat().st_size
        head = None

    def audit() -> None:
        assert not os.access(shelf, os.W_OK)
        found = _read(url)
        if head is not None:
            assert found == head
        else:
            assert found[1] == 4  # with the charge that stands in the log alone
        with pytest.raises(LedgerUnavailable, match="open it with read_only=True"):
            Ledger(url)

    if state == "in use":
        holder.execute("SELECT count(*) FROM discreet_entries").fetchall()
    _as_nobody(audit)
    if holder is not None:
        holder.close()


def test_a_log_that_cannot_be_read_is_not_left_out(shelf: Path) -> None:
    url = f"sqlite:///{shelf}/budget.db"
    ledger = Ledger(url, limit=PureDP(1))
    child = os.fork()
    if child == 0:
        ledger.charge(DiscreteLaplace(10))
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    (shelf / "budget.db-wal").chmod(0o600)

    def audit() -> None:
        with pytest.raises(LedgerUnavailable, match="log can't be read"):
            Ledger(url, read_only=True)

    _as_nobody(audit)
    del ledger
