"""The desk: one table, with the files that belong to it. The command line reads and writes the same files.

==========================  ===========================================================
``visits.toml``             public facts and unit, as ``discreet init`` writes them
``visits.db``               the ledger, as ``discreet ledger open`` makes it
``visits.questions.json``   questions, for ``discreet query --questions``
``visits.releases/``        results, as ``--out`` writes them, for ``discreet report``
``visits.studio.json``      what is chosen on the pages and nowhere else
==========================  ===========================================================
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from discreet.cli.common import to_url
from discreet.cli.outcome import CommandError
from discreet.cli.questionnaire import Questionnaire
from discreet.dataset import list_columns
from discreet.ledger import Book, Ledger
from discreet.schema import Schema
from discreet.show import read_document, write_document
from discreet.studio.places import Places, name_source
from discreet.unit import Unit

__all__ = ["Desk", "write_file"]


@final
@dataclass(frozen=True)
class _Kept:
    """What a frozen desk goes by, instead of the files."""

    facts: tuple[Schema | None, Unit | None]
    unit: Unit
    questions: Questionnaire


@final
class Desk:
    """A table with its facts, its ledger, and what is asked of it.

    Parameters
    ----------
    places : Places
    source : str
        The table: a path, below the folder where a page named it, or a database's address.
    schema, ledger : str, optional
        Where facts and ledger are; beside the other files of the table by default.
    """

    def __init__(
        self, places: Places, source: str, schema: str | None = None, ledger: str | None = None
    ) -> None:
        self.places, self.source = places, source
        self.name = name_source(source)
        home = Path()
        if "://" not in source and (places.root / source).resolve().is_relative_to(places.root):
            home = (places.root / source).resolve().parent.relative_to(places.root)
        self._state_path = places.root / home / f"{self.name}.studio.json"
        self.questions_file = str(home / f"{self.name}.questions.json")
        self.releases = places.root / home / f"{self.name}.releases"
        self._lock = threading.RLock()
        self._facts: tuple[Any, Schema | None, Unit | None] | None = None
        self._columns: list[tuple[str, str]] | None = None
        self._kept: _Kept | None = None
        self._state = self._read_state()
        self.schema_file = schema or str(home / f"{self.name}.toml")
        if ledger is not None:
            self._state["ledger"] = ledger
        self._state.setdefault("ledger", str(home / f"{self.name}.db"))

    @property
    def id(self) -> str:
        """What tells this desk from another one that was open before."""
        return hashlib.sha256(f"{self.places.root}\0{self.source}".encode()).hexdigest()[:16]

    @property
    def origin(self) -> str:
        """The table's one name; below the folder relative to it, so that both can be moved."""
        found = Path(self.places.find_origin(self.source))
        is_inside = "://" not in self.source and found.is_relative_to(self.places.root)
        return str(found.relative_to(self.places.root)) if is_inside else self.source

    @property
    def is_text(self) -> bool:
        """Whether the table is a CSV file, which doesn't say whether its first line holds names."""
        return "://" not in self.source and not self.source.lower().endswith(".parquet")

    @property
    def path(self) -> str:
        """The table as the door takes it, wherever this process runs."""
        return self.source if "://" in self.source else str(self.places.root / self.source)

    def freeze(self) -> Desk:
        """The desk as it stands now: what another tab or program changes later changes nothing of it.

        A release is confirmed, planned and charged on such a copy, so that what is charged is what was shown.
        """
        with self._lock:
            found = copy.copy(self)
            found._state = copy.deepcopy(self._state)
            found._kept = _Kept(self.facts(), self.unit(), self.questions())
            return found

    # -- what is chosen on the pages

    def _read_state(self) -> dict[str, Any]:
        try:
            text = self._state_path.read_text(encoding="utf-8")
            with read_document(text, "studio", 1) as body:
                return dict(body)
        except (OSError, UnicodeDecodeError, ValueError):
            return {}

    def get(self, name: str, default: Any = None) -> Any:
        """What was chosen."""
        with self._lock:
            return self._state.get(name, default)

    def save(self, **values: Any) -> None:
        """Keep what was chosen."""
        if self._kept is not None:
            raise RuntimeError("a frozen desk isn't changed.")
        with self._lock:
            self._state.update(values)
            kept = {k: v for k, v in self._state.items() if k not in ("format", "version")}
            write_file(self._state_path, write_document("studio", 1, kept) + "\n")

    @property
    def rows(self) -> int | None:
        """A person's public guess of the number of rows."""
        found = self.get("rows")
        return found if isinstance(found, int) else None

    def draft(self, kind: str) -> dict[str, Any]:
        """What is about to be asked."""
        found = self.get("drafts", {}).get(kind, {})
        return dict(found) if isinstance(found, dict) else {}

    def save_draft(self, kind: str, values: Mapping[str, Any]) -> None:
        """Keep what is about to be asked."""
        with self._lock:
            drafts = {**self.get("drafts", {}), kind: {**self.draft(kind), **values}}
            self.save(drafts=drafts)

    def find_token(self, kind: str, seal: str) -> str:
        """The name of the release of a draft as it stands: one for all tabs, until it is renewed."""
        with self._lock:
            nonce = self.draft(kind).get("nonce")
            if not isinstance(nonce, str):
                nonce = secrets.token_hex(16)
                self.save_draft(kind, {"nonce": nonce})
        return hashlib.sha256(f"{self.id}\0{kind}\0{nonce}\0{seal}".encode()).hexdigest()[:32]

    def renew(self, kind: str) -> None:
        """Let a draft be released once more, which is charged once more."""
        self.save_draft(kind, {"nonce": secrets.token_hex(16)})

    # -- facts

    @property
    def has_names(self) -> bool:
        """Whether names of columns may be read: of a CSV file after a person said that it has some.

        What was said holds for the file as it was then: the next of its name may begin with somebody's data.
        """
        return not self.is_text or (self.get("header") or "") == self._mark()

    def say_names(self) -> None:
        """A person says that the first line of the file holds names."""
        self._columns = None
        self.save(header=self._mark())

    def _mark(self) -> str:
        try:
            seen = Path(self.path).stat()
        except OSError:
            return "-"
        return f"{seen.st_size}-{seen.st_mtime_ns}"

    def columns(self) -> list[tuple[str, str]]:
        """Names and declared types of the table's columns; no row is read."""
        if not self.has_names:
            return []
        if self._columns is None:
            self._columns = list_columns(self.path)
        return self._columns

    def facts(self) -> tuple[Schema | None, Unit | None]:
        """The schema and the unit of the schema file; None where there is none yet."""
        if self._kept is not None:
            return self._kept.facts
        path = self.places.root / self.schema_file
        try:
            seen = path.stat()
        except OSError:
            return None, None
        mark = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
        with self._lock:
            if self._facts is None or self._facts[0] != mark:
                text = path.read_text(encoding="utf-8")
                title = Path(self.schema_file).name
                self._facts = (
                    mark,
                    Schema.from_toml(text, title),
                    Unit.from_toml(text, title),
                )
            return self._facts[1], self._facts[2]

    def schema(self) -> Schema:
        """The schema; an error that says what to do where there is none."""
        found, _ = self.facts()
        if found is None:
            raise CommandError("nothing is declared about the columns yet: begin with Facts.")
        return found

    def write_facts(self, schema: Schema, unit: Unit | None) -> None:
        """Write the schema file."""
        write_file(self.places.root / self.schema_file, schema.to_toml(unit))

    # -- the ledger

    @property
    def ledger(self) -> str:
        """Where the ledger is."""
        return str(self.get("ledger"))

    @property
    def ledger_place(self) -> str:
        """The ledger as the library takes it, wherever this process runs."""
        return self._find_ledger(self.ledger)

    def _find_ledger(self, ledger: str) -> str:
        return ledger if "://" in ledger else str(self.places.root / ledger)

    @property
    def account(self) -> str:
        """The account that pays; empty for the ledger itself."""
        return str(self.get("account", "") or "")

    def book(
        self, *, read_only: bool = True, account: str | None = None, ledger: str | None = None
    ) -> Book | None:
        """The ledger that pays or is named, or an account of it; None where there is none yet."""
        place = self._find_ledger(ledger or self.ledger)
        if "://" not in place and not Path(place).exists():
            return None
        try:
            book: Book = Ledger(to_url(place), read_only=read_only)
        except ValueError as error:
            if str(error).startswith("limit must be given"):
                return None
            raise
        names = self.account if account is None else account
        for name in filter(None, names.split("/")):
            book = book.account(name)
        return book

    def unit(self) -> Unit:
        """Who is protected: as the ledger says, else the schema file."""
        if self._kept is not None:
            return self._kept.unit
        book = self.book()
        return (self.facts()[1] or Unit()) if book is None else book.unit

    # -- questions

    def questions(self) -> Questionnaire:
        """The questions that are about to be asked."""
        if self._kept is not None:
            return self._kept.questions
        path = self.places.root / self.questions_file
        return Questionnaire.read(path) if path.exists() else Questionnaire()

    def save_questions(self, questions: Questionnaire) -> None:
        """Keep them."""
        write_file(self.places.root / self.questions_file, questions.to_json() + "\n")


def write_file(path: Path, text: str) -> None:
    """Write a file of ours whole or not at all, for its owner alone."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def read_json(path: Path) -> dict[str, Any]:
    """A small JSON file of ours; empty if it isn't one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
