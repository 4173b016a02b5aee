"""Releases as they go on: claimed once, charged once, and told honestly whatever happens in between.

A release has a token. Whoever makes the file of its claim first does the work; everybody else, another tab or
a second click, is shown that work. While it goes on its process holds a lock on the claim, so that a crash is
noticed, and the ledger is then asked what became of the charge.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, final

from discreet.cli.rehearsing import rehearse
from discreet.ledger import BudgetExceeded, Entry, LedgerError
from discreet.report.guarantee import name_measure
from discreet.studio.desk import Desk, read_json, write_file
from discreet.studio.doors import open_door, open_empty
from discreet.studio.orders import Order, Outcome
from discreet.studio.visits import tell_error

__all__ = ["UNPAID", "Job", "Jobs", "start_thread"]

#: What a job can be; the first two go on.
STATES = ("preparing", "running", "done", "refused", "failed", "charged", "unknown")
#: Those that ended without a charge.
UNPAID = ("refused", "failed")
#: Seconds in which a claim that was just made gets its record.
PATIENCE = 10.0
_TOKEN = re.compile(r"[0-9a-f]{32}")


def start_thread(act: Callable[[], None]) -> None:
    """Do something beside the pages."""
    threading.Thread(target=act, daemon=True).start()


@final
@dataclass(frozen=True)
class Job:
    """A release, as it is on record.

    Attributes
    ----------
    state : str
        ``preparing`` and ``running`` go on; ``done`` has a result; ``refused`` and ``failed`` charged
        nothing; ``charged`` was charged and has no result; ``unknown`` can't be told now.
    """

    token: str
    kind: str
    title: str
    asked: str
    price: str
    python: str
    command: str
    state: str = "preparing"
    started: str = ""
    seconds: float = 0.0
    begun: float = 0.0
    words: str = ""
    entry: int | None = None
    files: tuple[str, ...] = ()
    #: The ledger that pays, whichever the desk uses later.
    ledger: str = ""
    #: The table that was asked: another one may have a name as short, and so the same files.
    origin: str = ""

    @property
    def goes_on(self) -> bool:
        """Whether it is still at work."""
        return self.state in STATES[:2]

    def share(self) -> float:
        """How far it is by its expected time, from 0 to 1; negative while nobody knows."""
        if self.state != "running" or self.seconds <= 0:
            return -1.0
        return min(0.99, (time.time() - self.begun) / max(self.seconds, 1.0))


@final
class Jobs:
    """The releases of desks.

    Parameters
    ----------
    start : callable
        How work is begun; in a thread by default.
    """

    def __init__(self, start: Callable[[Callable[[], None]], None] = start_thread) -> None:
        self._start = start

    def begin(self, desk: Desk, order: Order, token: str) -> None:
        """Release an order under its token, unless that was begun before."""
        job = Job(
            token,
            order.kind,
            order.title,
            order.describe(),
            name_measure(order.price),
            order.to_python(),
            order.to_command(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            ledger=order.desk.ledger,
            origin=order.desk.origin,
        )
        desk.releases.mkdir(mode=0o700, exist_ok=True)
        try:
            claim = os.open(
                _claim(desk, token), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600
            )
        except FileExistsError:
            return
        try:
            fcntl.flock(claim, fcntl.LOCK_EX)
            _write(desk, job)
            self._start(lambda: self._work(desk, order, job, claim))
        except (OSError, RuntimeError):  # nobody works on it, so nobody holds it
            os.close(claim)
            raise

    def _work(self, desk: Desk, order: Order, job: Job, claim: int) -> None:
        try:
            if order.is_long:
                job = replace(job, seconds=_rehearse(order))
            job = replace(job, state="running", begun=time.time())
            _write(desk, job)
            door, payer = open_door(order.desk, job.token)
            outcome = order.run(door, payer)
            entry = None if payer.entry is None else payer.entry.number
            files = _store(desk, job.token, outcome)
            _write(desk, replace(job, state="done", entry=entry, files=files))
        except Exception as error:
            _write(desk, _end(desk, job, error))
        finally:
            os.close(claim)

    def find(self, desk: Desk, token: str) -> Job | None:
        """A release; one whose process died is told as what the ledger knows of it."""
        if _TOKEN.fullmatch(token) is None or not _claim(desk, token).exists():
            return None
        with _hold(desk, token) as is_free:
            job = _read(desk, token)
            if job.origin not in ("", desk.origin):
                return None
            age = time.time() - _claim(desk, token).stat().st_mtime
            is_dead = job.goes_on and (job.kind or age > PATIENCE)
            if is_free and (is_dead or job.state == "unknown"):
                words = "the studio ended before the answer was kept." if is_dead else job.words
                job = _settle(desk, job, words)
                if job.state != "unknown":
                    _write(desk, job)
            return job

    def list(self, desk: Desk) -> list[Job]:
        """All releases of a desk, the newest first."""
        tokens = [path.stem for path in desk.releases.glob("*.claim")]
        found = [job for token in tokens if (job := self.find(desk, token)) is not None]
        return sorted(found, key=lambda job: (job.started, job.token), reverse=True)


def _rehearse(order: Order) -> float:
    """How long an order may take on made-up rows, in a thread and so with noise of its own."""
    door = open_empty(order.desk)
    with ThreadPoolExecutor(1) as aside:
        found = aside.submit(rehearse, order.run, door, order.allowance, order.rows)
        return found.result().seconds


def _end(desk: Desk, job: Job, error: Exception) -> Job:
    """A release that came to nothing: refused only if the ledger has no charge of it."""
    job = _settle(desk, job, tell_error(error))
    if not isinstance(error, BudgetExceeded):
        return job
    if job.state == "failed":
        return replace(job, state="refused")
    return replace(job, words="the budget didn't suffice for the rest of it.")


def _settle(desk: Desk, job: Job, words: str) -> Job:
    """What became of a release without a result: the ledger that pays knows whether it was charged."""
    try:
        entry = _find_entry(desk, job)
    except (LedgerError, OSError, ValueError):
        return replace(job, state="unknown", words=words)
    if entry is None:
        return replace(job, state="failed", words=words)
    return replace(job, state="charged", words=words, entry=entry.number)


def _find_entry(desk: Desk, job: Job) -> Entry | None:
    book = desk.book(read_only=False, account="", ledger=job.ledger or None)
    if book is None:
        raise LedgerError("the ledger that pays is not where it was.")
    return book.find(job.token)


@contextmanager
def _hold(desk: Desk, token: str) -> Iterator[bool]:
    """Whether nobody works on a release: then it is held, so that no two settle it."""
    claim = os.open(_claim(desk, token), os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(claim)


def _claim(desk: Desk, token: str) -> Path:
    return desk.releases / f"{token}.claim"


def _write(desk: Desk, job: Job) -> None:
    write_file(desk.releases / f"{job.token}.job", json.dumps(asdict(job)) + "\n")


def _read(desk: Desk, token: str) -> Job:
    body: dict[str, Any] = read_json(desk.releases / f"{token}.job")
    blank = Job(token, "", "a release", "", "", "", "")
    known = {name: body[name] for name in asdict(blank) if name in body}
    return replace(blank, **{**known, "token": token, "files": tuple(known.get("files", ()))})


def _store(desk: Desk, token: str, outcome: Outcome) -> tuple[str, ...]:
    """Keep what was paid for: the document last, since its name is what tells that all is there."""
    for name, body in outcome.files.items():
        path = desk.releases / f"{token}.{name}"
        handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with open(handle, "wb") as file:
            file.write(body)
    write_file(desk.releases / f"{token}.json", outcome.document + "\n")
    return (f"{token}.json", *(f"{token}.{name}" for name in outcome.files))
