"""All that is particular to one database: addresses, locks, time-outs, error messages.

Everything else in the ledger is the same code for all of them.
"""

from __future__ import annotations

import re
from contextlib import suppress

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from discreet.ledger.dialects import postgres
from discreet.ledger.dialects.base import Dialect, Draft, Failure, Refusal
from discreet.ledger.dialects.postgres import PostgreSQL
from discreet.ledger.dialects.sqlite import SQLite
from discreet.ledger.errors import LedgerUnavailable
from discreet.measures import Measure
from discreet.secret import strip_frames

__all__ = [
    "Dialect",
    "Draft",
    "Failure",
    "Refusal",
    "dialect_for",
    "find_dialect",
    "restore_secrets",
]

_FORMS = "'sqlite:///budget.db' or 'postgresql://user@host:5432/database'"


def dialect_for(url: object, *, read_only: bool = False) -> Dialect:
    """The database that a URL names. No message about a bad URL holds a password."""
    found = find_dialect(url, read_only=read_only)
    url = None
    if isinstance(found, Exception):
        raise found
    return found


def find_dialect(url: object, *, read_only: bool = False) -> Dialect | Exception:
    """The database that a URL names, or the error that its caller should raise.

    The error is returned without a traceback, whose frames would hold the URL and with it a password:
    the caller forgets the URL first.
    """
    try:
        return _parse(url, read_only)
    except Exception as error:
        failed = strip_frames(error)
    # ours; others hold what they read
    if type(failed) in (ValueError, TypeError, LedgerUnavailable):
        return failed
    return ValueError(f"url must look like {_FORMS}; this one can't be read.")


def _parse(url: object, read_only: bool) -> Dialect:
    if not isinstance(url, str | URL):
        given = type(url).__name__
        is_limit = isinstance(url, Measure)
        hint = f" A limit is given by name: dp.Ledger(limit=dp.{url!r})." if is_limit else ""
        raise TypeError(f"url must be a string such as {_FORMS}, not {given}.{hint}")
    shown = _show_start(url)
    parsed = None
    with suppress(ArgumentError, ValueError):  # whose text holds the URL
        parsed = make_url(url)
    if parsed is None:
        raise ValueError(f"url must look like {_FORMS}, got {shown}.")
    if parsed.drivername in ("sqlite", "sqlite+pysqlite"):
        return SQLite(parsed, shown, read_only=read_only)
    if parsed.drivername in ("postgresql", "postgresql+psycopg"):
        return PostgreSQL(parsed, read_only=read_only)
    raise ValueError(f"url must begin with 'sqlite:///' or 'postgresql://', got {shown}.")


def restore_secrets(url: str) -> str:
    """A URL from a pickle, with the password that this process was given for it, if any."""
    return postgres.restore_password(url)


def _show_start(url: str | URL) -> str:
    """How a URL that can't be used begins: the rest may hold a password in any form."""
    scheme = re.match(r"[A-Za-z0-9+]{1,20}(?=:)", str(url))
    return f"'{scheme[0]}:…'" if scheme else "something else"
