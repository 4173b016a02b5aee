"""The ledger: a privacy budget that is kept, shared and checked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from sqlalchemy import URL

from discreet.ledger import journal
from discreet.ledger.amounts import grid_for
from discreet.ledger.book import Book
from discreet.ledger.dialects import dialect_for, find_dialect, restore_secrets
from discreet.ledger.opening import open_terms
from discreet.ledger.store import Store
from discreet.ledger.temporary import temporary_url
from discreet.ledger.terms import new_terms
from discreet.measures import Measure
from discreet.rational import Number
from discreet.unit import Relation, Unit

__all__ = ["Ledger"]


class Ledger(Book):
    """The privacy budget of one population: charged before rows are read, kept in a file or database.

    An existing ledger needs only its URL; what is given again must be what was agreed. A password in the
    URL is neither shown nor pickled: other processes find theirs in ``~/.pgpass`` or ``PGPASSWORD``.

    Parameters
    ----------
    url : str, optional
        ``"sqlite:///budget.db"``, or ``"postgresql://user@host:5432/database"`` with ``?ledger=name``
        where the database keeps several. Without it, a temporary file that is removed when this
        process ends; forked children and joblib workers share it until then.
    limit : PureDP, ApproxDP or ZCDP
        The guarantee. Needed for a new ledger; never raised in place.
    unit : Unit, optional
        Who is protected; by default add/remove with one row per person.
    composition : {"basic", "pure", "zcdp", "renyi"}, optional
        How charges add up. By default ``"basic"`` (Σε, Σδ) for `ApproxDP` limits, ``"pure"`` for
        `PureDP`, ``"zcdp"`` for `ZCDP`. An `ApproxDP` limit also works with ``"zcdp"`` (turned into
        ρ once, at opening) and ``"renyi"`` (a few orders, each with its own share of δ).
    accept_assumed : bool
        Whether to accept events whose guarantee rests on something that isn't proved. The statement
        says so from then on.
    delta_reserve : number
        The part of δ set aside for events with a δ of their own, in ``"zcdp"`` and ``"renyi"``
        ledgers.
    read_only : bool
        Open an existing ledger to read and verify it, without the right to write where it is kept.
        Charges are refused.

    Privacy
    -------
    Whatever is charged, in whatever order, by analysts who look at every answer before they ask the
    next, all accepted charges together keep `limit` for `unit`. The ledger trusts that events are
    charged before they run and that they say what runs. Its hash chain guards against accidents, not
    against the owner of the file. Proof page: ``docs/proofs/ledger.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> ledger = dp.Ledger(limit=dp.ApproxDP(1, 1e-6), unit=dp.Unit(dp.ADD_REMOVE))
    >>> ledger
    Ledger(limit=ApproxDP(epsilon=1, delta=1e-06), 0% used)
    """

    def __init__(
        self,
        url: str | URL | None = None,
        *,
        limit: Measure | None = None,
        unit: Unit | Relation | None = None,
        composition: str | None = None,
        accept_assumed: bool = False,
        delta_reserve: Number = 0,
        read_only: bool = False,
    ) -> None:
        if not isinstance(read_only, bool):
            raise TypeError("read_only must be True or False.")
        found = None if url is None else find_dialect(url, read_only=read_only)
        url = None  # it may hold a password, and debuggers show what a failed call held
        if isinstance(found, Exception):
            raise found
        dialect = found
        if dialect is None and read_only:
            raise ValueError(
                "url must be given with read_only=True: a new ledger has nothing to read."
            )
        agreed = (unit, composition, accept_assumed, delta_reserve)
        if dialect is None and limit is None:
            raise ValueError(
                "limit must be given to start a new ledger, for example limit=dp.ApproxDP(1, 1e-6)."
            )
        fresh = functools.partial(new_terms, limit, *agreed)
        if dialect is None:
            fresh()  # raises before a file is made
        self._store = Store(dialect_for(temporary_url()) if dialect is None else dialect)
        self._terms, new = open_terms(self._store, None if limit is None else fresh)
        if not new:
            self._terms.check_again(limit, *agreed)
        self._path = journal.ROOT
        self._limit = self._terms.limit
        self._grid = grid_for(self._limit)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return reopen, (self.url, self._path, self._store.dialect.read_only)


def reopen(url: str, path: str, read_only: bool = False) -> Book:
    """The ledger or account that was pickled, in this process."""
    book: Book = Ledger(restore_secrets(url), read_only=read_only)
    for name in filter(None, path.split("/")):
        book = book.account(name)
    return book
