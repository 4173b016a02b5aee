"""All that is particular to one database: addresses, locks, time-outs, error messages.

Everything else in the ledger is one code for all of them.
"""

from __future__ import annotations

import re
from contextlib import suppress

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from discreet.ledger.dialects import postgres
from discreet.ledger.dialects.base import Dialect, Failure
from discreet.ledger.dialects.postgres import PostgreSQL
from discreet.ledger.dialects.sqlite import SQLite

__all__ = ["Dialect", "Failure", "dialect_for", "with_secrets"]

_FORMS = "'sqlite:///budget.db' or 'postgresql://user@host:5432/database'"


def dialect_for(url: object) -> Dialect:
    """The database that a URL names. What a message says of a bad URL never holds a password."""
    if not isinstance(url, str | URL):
        raise TypeError(f"url must be a string such as {_FORMS}, not {type(url).__name__}.")
    shown = _shown(url)
    parsed = None
    with suppress(ArgumentError, ValueError):  # whose text holds the URL
        parsed = make_url(url)
    if parsed is None:
        raise ValueError(f"url must look like {_FORMS}, got {shown}.")
    if parsed.drivername in ("sqlite", "sqlite+pysqlite"):
        return SQLite(parsed, shown)
    if parsed.drivername in ("postgresql", "postgresql+psycopg"):
        return PostgreSQL(parsed)
    raise ValueError(f"url must begin with 'sqlite:///' or 'postgresql://', got {shown}.")


def with_secrets(url: str) -> str | URL:
    """A URL from a pickle, with the password that this process was given for it, if any."""
    return postgres.remembered(url)


def _shown(url: str | URL) -> str:
    text = str(url)  # hides the password of a parsed one
    if "@" not in text and "?" not in text:
        return repr(text)
    scheme = re.match(r"[A-Za-z0-9+]{1,20}(?=:)", text)
    return f"'{scheme[0] if scheme else ''}:…'"
