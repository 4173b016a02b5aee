"""Addresses of tables in databases: ``postgresql://…/db?table=t`` and ``duckdb:///file.db?table=t``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


@dataclass(frozen=True)
class Address:
    """A database and a table in it. What connects to it may hold a password, and is never shown."""

    kind: str
    place: str
    table: tuple[str, ...]
    secret: str = field(repr=False)


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
        return Address("duckdb", unquote(base[1:]), table, "")
    others = [(name, value) for name, value in options if name != "table"]
    # unlike urlencode's default, a space is %20: libpq takes + as it stands
    more = "?" + urlencode(others, quote_via=quote) if others else ""
    return Address("postgresql", _place(rest), table, f"postgresql://{base}{more}")


def _place(rest: str) -> str:
    """Host, port and database, without user and password."""
    try:
        parts = urlsplit("//" + rest)
        host = parts.hostname or "the local server"
        return f"{host}{'' if parts.port is None else f':{parts.port}'}{unquote(parts.path)}"
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
