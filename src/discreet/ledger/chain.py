"""Entries, and the hashes that tie each to the one before."""

from __future__ import annotations

import functools
import getpass
import hashlib
import json
import platform
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from discreet.events import Event, event_from_dict
from discreet.ledger.amounts import amounts_from_text
from discreet.ledger.errors import LedgerCorrupt
from discreet.ledger.filters import Filter
from discreet.measures import Measure, measure_from_dict

__all__ = [
    "FIRST",
    "SURPRISES",
    "Entry",
    "canonical",
    "check_token",
    "digest",
    "entry_from_body",
    "expect_whole",
    "follow",
    "new_token",
    "now",
    "parse_entry",
    "store_token",
    "who",
]

#: What stands for "the hash of the entry before" in entry 0.
FIRST = "0" * 64

#: One encoder for all entries: sorted keys, no spaces, ASCII. Floats appear only in declared Rényi
#: curves, and Python writes and reads them exactly.
canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


@dataclass(frozen=True)
class Entry:
    """One line of a ledger.

    Attributes
    ----------
    number : int
        0 is the entry that opened the ledger.
    kind : str
        ``"ledger"``, ``"account"`` or ``"charge"``.
    time : str
        UTC, ISO 8601.
    who : str
        User and machine that made the entry, as the machine reports them.
    account : str
        ``"/"`` is the ledger itself.
    event : Event or None
        What was charged for.
    booked : Measure or None
        What it cost.
    delta : Fraction
        What it took from the δ set aside at opening.
    note : str
    hash, previous : str
        SHA-256 of this entry, and of the one before.
    token : str
        Finds the charge again when its connection was lost; empty in entries that aren't charges or
        are older than tokens.

    Examples
    --------
    >>> import discreet as dp
    >>> ledger = dp.Ledger(limit=dp.PureDP(2))
    >>> entry = ledger.charge(dp.events.DiscreteLaplace(2), note="visits by ward")
    >>> entry.number, entry.kind, entry.note, entry.booked
    (1, 'charge', 'visits by ward', PureDP(epsilon=0.5))
    """

    number: int
    kind: str
    time: str
    who: str
    account: str
    event: Event | None
    booked: Measure | None
    delta: Fraction
    note: str
    hash: str
    previous: str
    token: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain data."""
        return {
            **self.__dict__,
            "event": None if self.event is None else self.event.to_dict(),
            "booked": None if self.booked is None else self.booked.to_dict(),
            "delta": str(self.delta),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Entry:
        """The inverse of `to_dict`, for statements and releases that were written down."""
        if data["kind"] not in ("ledger", "account", "charge"):
            raise ValueError("no entry is written like this.")
        texts = ("kind", "time", "who", "account", "note", "hash", "previous", "token")
        event, booked = data["event"], data["booked"]
        return cls(
            number=int(data["number"]),
            event=None if event is None else event_from_dict(event),
            booked=None if booked is None else measure_from_dict(booked),
            delta=Fraction(data["delta"]),
            **{name: _text(data, name) for name in texts},
        )


def digest(body: str) -> str:
    """The hash of an entry; its body holds the hash of the entry before."""
    return hashlib.sha256(body.encode()).hexdigest()


def new_token() -> str:
    """A name for a charge that no other one has: 128 random bits."""
    return secrets.token_hex(16)


def store_token(token: str) -> str:
    """A token as it is stored, in 32 hexadecimal digits: itself if it is that, else a hash of it."""
    if re.fullmatch("[0-9a-f]{32}", token):
        return token
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def check_token(token: str | None) -> None:
    """Raise unless it may name a charge."""
    if token is not None and (not isinstance(token, str) or not token):
        raise TypeError("token must be a string of at least one character.")


def now() -> str:
    """The time of an entry."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@functools.cache
def who() -> str:
    """The user and machine that make an entry."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):
        user = "unknown"
    return f"{user}@{platform.node() or 'unknown'}"


#: What reading raises for data that isn't as it was written.
SURPRISES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@contextmanager
def expect_whole(what: str) -> Iterator[None]:
    """Turn whatever goes wrong with stored data in the block into `LedgerCorrupt`."""
    try:
        yield
    except SURPRISES:
        raise LedgerCorrupt(f"{what} can't be read: it was changed.") from None


def parse_entry(number: Any, hash_: Any, body: Any) -> dict[str, Any]:
    """The body of a stored entry as data, after comparing it with its hash."""
    with expect_whole(f"Entry {_short(number)}"):
        if digest(body) != hash_:
            raise LedgerCorrupt(f"Entry {_short(number)} was changed: its hash doesn't match.")
        data = json.loads(body)
        if not isinstance(data, dict):
            raise TypeError
    if data.get("number") != number:
        raise LedgerCorrupt(f"Entry {_short(number)} doesn't follow the one before it.")
    return data


def _short(number: Any) -> str:
    """The number of an entry for messages; what isn't a number is not shown."""
    return str(number) if isinstance(number, int) else "without a number"


def follow(rows: Iterable[Any]) -> list[tuple[dict[str, Any], str]]:
    """The data and hash of each entry, in order, if each follows the one before it.

    The rows hold number, hash, body and token.
    """
    previous, found = FIRST, []
    for expected, (number, hash_, body, token) in enumerate(rows):
        if number != expected:
            raise LedgerCorrupt(f"Entry {expected} is missing.")
        data = parse_entry(number, hash_, body)
        if data.get("previous") != previous:
            raise LedgerCorrupt(f"Entry {number} doesn't follow the one before it.")
        if data.get("token") != token:
            raise LedgerCorrupt(f"Entry {number} has another token than the one it was made with.")
        previous = hash_
        found.append((data, hash_))
    if not found:
        raise LedgerCorrupt("The entries of this ledger are missing.")
    return found


def _text(data: Mapping[str, Any], key: str) -> str:
    if not isinstance(data[key], str):
        raise TypeError(key)
    return str(data[key])


def entry_from_body(filter_: Filter, data: Mapping[str, Any], hash_: str) -> Entry:
    """The entry that a stored body describes."""
    with expect_whole(f"Entry {_short(data.get('number'))}"):
        if data["kind"] not in ("ledger", "account", "charge"):
            raise ValueError
        amounts = amounts_from_text(data["booked"]) if data["kind"] == "charge" else None
        delta = Fraction(0) if amounts is None else Fraction(filter_.reserve_of(amounts))
        if not 0 <= delta <= 1:
            raise ValueError
        return Entry(
            number=int(data["number"]),
            kind=data["kind"],
            time=_text(data, "time"),
            who=_text(data, "who"),
            account=_text(data, "account"),
            event=event_from_dict(data["event"]) if amounts is not None else None,
            booked=None if amounts is None else filter_.measure(amounts),
            delta=delta,
            note=_text(data, "note"),
            hash=hash_,
            previous=_text(data, "previous"),
            token=_text({"token": "", **data}, "token"),
        )
