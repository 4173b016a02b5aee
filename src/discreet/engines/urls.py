"""Addresses of tables in databases: ``postgresql://…/db?table=t`` and ``duckdb:///file.db?table=t``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from discreet.secret import Secret, strip_frames

POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


@dataclass(frozen=True)
class Address:
    """A database and a table in it. What connects to it may hold a password, and is never shown."""

    kind: str
    place: str
    table: tuple[str, ...]
    secret: Secret


@dataclass(frozen=True)
class Unreadable:
    """An address that can't be read, and the error to raise where nothing holds the address any more."""

    error: Exception


def conceal(source: Any) -> Any:
    """What to use in place of a URL, so that no frame of a traceback holds its password.

    A URL becomes an `Address`, or `Unreadable`; everything else stays as it is. Nothing is raised here.
    """
    if not isinstance(source, str):
        return source
    if not is_url(source):
        if not _looks_secret(source) or os.path.exists(source):
            return source
        return Unreadable(
            FileNotFoundError(
                "there is no file of this name, which isn't shown because it looks like an address that may "
                "hold a password: write postgresql://user@host:5432/database?table=name."
            )
        )
    try:
        return address(source)
    except ValueError as error:
        if type(error) is ValueError:  # one of ours; others hold what they couldn't read
            return Unreadable(strip_frames(error))
    return Unreadable(ValueError("the address can't be read: write it in plain characters."))


def _looks_secret(text: str) -> bool:
    """Whether text that is neither URL nor file may be meant as an address."""
    if re.match(r"[A-Za-z0-9+]{3,}:|postgres", text) or re.search(
        r"pass\w*\s*=|pwd\s*=", text, re.IGNORECASE
    ):
        return True
    return re.search(r"(:|%3a).*(@|%40)", text, re.IGNORECASE) is not None


def is_url(source: object) -> bool:
    """Whether text is an address and not a path."""
    return isinstance(source, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", source) is not None


def address(url: str) -> Address:
    """What a URL says. Errors never repeat it: it may hold a password."""
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme not in (*POSTGRES, "duckdb"):
        raise ValueError(
            f"no engine reads {scheme!r} addresses: give postgresql://user@host/database?table=name or "
            "duckdb:///file.db?table=name, or open the data with Polars, pandas or Spark and pass the frame."
        )
    base, _, query = rest.partition("?")
    options = parse_qsl(query, keep_blank_values=True)
    tables = [value for name, value in options if name == "table"]
    if len(tables) != 1 or not tables[0]:
        raise ValueError("the address must name one table, as in ...?table=patients.")
    table = table_name(tables[0])
    if scheme == "duckdb":
        if not base.startswith("/") or len(base) < 2:
            raise ValueError("the address of a DuckDB file is duckdb:///file.db?table=name.")
        return Address("duckdb", unquote(base[1:]), table, Secret(""))
    others = [(name, value) for name, value in options if name != "table"]
    # unlike urlencode's default, a space is %20: libpq takes + as it stands
    more = "?" + urlencode(others, quote_via=quote) if others else ""
    return Address("postgresql", _place(rest), table, Secret(f"postgresql://{base}{more}"))


def _place(rest: str) -> str:
    """Host, port and database, without user and password."""
    try:
        parts = urlsplit("//" + rest)
        host, database = parts.hostname or "the local server", unquote(parts.path)
        # what isn't where it belongs would be taken for a name, and names are shown
        astray = (
            set(unquote(host)) & set("@#&;=")
            or set(database) & set("@#&;=:")
            or ("%" in host and ":" not in host)
        )
        if not astray:
            return f"{host}{'' if parts.port is None else f':{parts.port}'}{database}"
    except ValueError:
        pass
    raise ValueError(
        "the address can't be read: write postgresql://user@host:5432/database?table=name."
    )


def table_name(text: str) -> tuple[str, ...]:
    """A table's name, or schema and name; quotation marks hold dots. Letters stay as they are."""
    parts, rest = [], text
    while True:
        found = _NAME.match(rest)
        if found is None:
            break
        parts.append(found[1].replace('""', '"') if found[1] is not None else found[2])
        rest = rest[found.end() :]
        if not rest:
            if len(parts) > 2:
                break
            return tuple(parts)
        if not rest.startswith("."):
            break
        rest = rest[1:]
    raise ValueError(
        f"{text!r} is not the name of a table: write table=patients, table=clinic.patients, or quote "
        'names that hold a dot, as in table="clinic 1.2".patients.'
    )
