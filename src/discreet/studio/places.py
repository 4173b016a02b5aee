"""Where tables and files may be: below the folder in which the studio was started, or in a database."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import final
from urllib.parse import parse_qs, unquote, urlsplit

from discreet.studio.visits import FieldErrors

__all__ = ["TABLES", "Places", "has_password", "name_source"]

#: The files that a table can be.
TABLES = (".csv", ".csv.gz", ".parquet")
#: Databases whose tables can be asked by address.
DATABASES = ("postgresql", "duckdb")
#: Options of PostgreSQL's client that hold a password, and those that name files.
_PASSWORDS = {"password", "sslpassword"}
_FILES = {
    "passfile",
    "service",
    "servicefile",
    "sslcert",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslrootcert",
}
UPLOADS = "discreet-uploads"
MAX_LISTED = 200
MAX_DEPTH = 3


@final
class Places:
    """The files that pages may name: those below one folder, wherever links lead."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.uploads = self.root / UPLOADS

    def find(self, text: str, field: str = "place") -> Path:
        """A path below the folder; anything else is refused without a word on what is there."""
        if not text or "\0" in text or len(text) > 1000:
            raise FieldErrors({field: "Give the path of a file in this folder."})
        found = Path(os.path.realpath(self.root / text))
        if not found.is_relative_to(self.root) or found == self.root:
            raise FieldErrors(
                {field: "Only files below the folder in which the studio was started can be used."}
            )
        return found

    def find_origin(self, source: str) -> str:
        """A table's one name, however its path was written."""
        return source if "://" in source else os.path.realpath(self.root / source)

    def check_source(self, text: str, field: str = "place") -> str:
        """A table that a person named: a path below the folder, or the address of a database's table."""
        text = text.strip()
        if "://" in text:
            return self._check_address(text, field)
        found = self.find(text, field)
        if not found.name.lower().endswith(TABLES):
            raise FieldErrors({field: f"A table is a file that ends in {', '.join(TABLES)}."})
        if not found.is_file():
            raise FieldErrors({field: "There is no such file in this folder."})
        return str(found.relative_to(self.root))

    def _check_address(self, text: str, field: str) -> str:
        if not text.isprintable():  # parsers drop some of them, each others
            raise FieldErrors({field: "This is not the address of a table."})
        try:
            parts = urlsplit(text)
            tables = parse_qs(parts.query).get("table", [])
        except ValueError:
            raise FieldErrors({field: "This is not the address of a table."}) from None
        if parts.scheme not in DATABASES:
            raise FieldErrors(
                {
                    field: "Give postgresql://user@host/database?table=name or "
                    "duckdb:///file.db?table=name."
                }
            )
        _check_options(text, field)
        if len(tables) != 1 or not tables[0]:
            raise FieldErrors({field: "Say which table: the address ends in ?table=name."})
        if parts.scheme == "duckdb":
            path = self.find(unquote(parts.path.removeprefix("/")), field)
            if not path.is_file():
                raise FieldErrors({field: "There is no such file in this folder."})
        return text

    def check_ledger(self, text: str, field: str = "ledger") -> str:
        """A ledger that a person named: a file below the folder, or the address of a database."""
        text = text.strip()
        if text.startswith("postgresql://"):
            _check_options(text, field)
            return text
        if "://" in text:
            raise FieldErrors(
                {field: "Give a file in this folder, or postgresql://user@host/name."}
            )
        found = self.find(text, field)
        if not found.name.lower().endswith((".db", ".sqlite")):
            raise FieldErrors({field: "The file of a ledger ends in .db, such as budget.db."})
        return str(found.relative_to(self.root))

    def list_tables(self) -> list[str]:
        """Tables below the folder, without hidden ones."""
        found: list[str] = []
        for folder, inner, files in os.walk(self.root):
            depth = len(Path(folder).relative_to(self.root).parts)
            inner[:] = sorted(
                name
                for name in inner
                if not name.startswith(".") and depth < MAX_DEPTH and name != "node_modules"
            )
            for name in sorted(files):
                if name.lower().endswith(TABLES) and not name.startswith("."):
                    found.append(str((Path(folder) / name).relative_to(self.root)))
            if len(found) >= MAX_LISTED:
                break
        return found[:MAX_LISTED]

    def new_upload(self, name: str) -> Path:
        """A place for an upload, in a folder of its own that others can't read."""
        ending = next((end for end in TABLES if name.lower().endswith(end)), None)
        if ending is None:
            raise FieldErrors({"file": f"A table is a file that ends in {', '.join(TABLES)}."})
        self.uploads.mkdir(mode=0o700, exist_ok=True)
        if self.uploads.is_symlink() or not self.uploads.is_dir():
            raise FieldErrors({"file": f"The folder {UPLOADS} is something else here."})
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", name[: -len(ending)]).strip("_")[:40] or "table"
        return self.uploads / f"{stem}-{secrets.token_hex(4)}{ending}"


def _check_options(text: str, field: str) -> None:
    """Refuse an address of PostgreSQL with a password, or with files to read: neither is for a page."""
    if has_password(text):
        raise FieldErrors(
            {
                field: "Leave the password out: PostgreSQL finds it in ~/.pgpass or in PGPASSWORD, "
                "and nobody reads it here."
            }
        )
    named = sorted(set(parse_qs(urlsplit(text).query, keep_blank_values=True)) & _FILES)
    if named:
        raise FieldErrors(
            {
                field: f"Leave {named[0]} out: it names a file. Set it in the environment, such as in "
                "PGSSLROOTCERT, or give the address when you start the studio."
            }
        )


def has_password(text: str) -> bool:
    """Whether the address of a database holds a password, which files of the desk would keep."""
    try:
        parts = urlsplit(text)
        options = parse_qs(parts.query, keep_blank_values=True)
        return parts.password is not None or bool(_PASSWORDS & set(options))
    except ValueError:
        return True


def name_source(source: str) -> str:
    """A short name for a table, for the files that belong to it."""
    if "://" in source:
        name = (parse_qs(urlsplit(source).query).get("table") or ["table"])[0]
    else:
        name = Path(source).name
        name = next((name[: -len(end)] for end in TABLES if name.lower().endswith(end)), name)
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:60] or "table"
