"""What a ledger and its accounts have in common: charging, and saying what is left."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from itertools import islice
from os import PathLike
from typing import Any, TypeVar

from discreet.events import Event, External
from discreet.ledger import journal
from discreet.ledger.amounts import Amounts, grid_for, on_grid
from discreet.ledger.backup import write_backup
from discreet.ledger.chain import Entry, check_token, expect_whole
from discreet.ledger.errors import LedgerError
from discreet.ledger.payers import Payer
from discreet.ledger.splitting import check_admissible
from discreet.ledger.statement import Statement, statement_of
from discreet.ledger.store import Store
from discreet.ledger.terms import Terms, check_limit
from discreet.ledger.verification import verify
from discreet.measures import Measure
from discreet.rational import as_integer
from discreet.show import Shown, Table
from discreet.unit import Unit

__all__ = ["Account", "Book"]

Self = TypeVar("Self", bound="Book")
#: Above the number of every entry.
MAX_NUMBER = 2**31 - 1


class Book(Payer, Shown):
    """Something that can be charged: a `Ledger`, or an `Account` of one.

    What it shows (`to_frame`, `to_csv`, `to_json`, `plot`, and as a table in a notebook) is its `statement`.

    Examples
    --------
    >>> import discreet as dp
    >>> ledger = dp.Ledger(limit=dp.PureDP(2))
    >>> isinstance(ledger, dp.ledger.Book)
    True
    >>> entry = ledger.charge(dp.events.DiscreteLaplace(2))
    >>> ledger.spent(), len(ledger.entries())
    (PureDP(epsilon=0.5), 2)
    """

    _store: Store
    _terms: Terms
    #: The path of the account; ``"/"`` is the ledger.
    _path: str
    _limit: Measure
    #: On which charges are booked exactly: see `amounts`.
    _grid: int

    @property
    def book(self) -> Book:
        return self

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self._terms.unit

    @property
    def limit(self) -> Measure:
        """The guarantee: what all charges together never pass."""
        return self._limit

    @property
    def composition(self) -> str:
        """How charges add up: ``"basic"``, ``"pure"``, ``"zcdp"`` or ``"renyi"``."""
        return self._terms.filter.composition

    @property
    def url(self) -> str:
        """Where the ledger is kept: an absolute path, or a server, without a password."""
        return self._store.url

    @property
    def head(self) -> tuple[str, int]:
        """The hash of the last entry and how many there are: keep them to `verify` later."""
        return journal.head(self._store)

    def charge(
        self,
        event: Event,
        measure: Measure | None = None,
        *,
        note: str = "",
        token: str | None = None,
    ) -> Entry:
        """Pay for an event *before* any row is read for it.

        Parameters
        ----------
        event : Event
            What will run.
        measure : Measure, optional
            What it may cost; checked. A ledger of pairs (``"basic"``) or of pure DP books exactly
            this; without it the event's pure ε is booked. Other ledgers book the event's own cost.
        note : str
            For the statement. It is stored as it is, so write nothing private in it.
        token : str, optional
            A name of your own for this charge. If it was booked before, nothing is booked now and that
            entry is returned: it paid for what was read then, and for nothing more.

        Returns
        -------
        Entry
            The new entry. It is on the disk: a crash after this loses budget, never privacy.

        Raises
        ------
        BudgetExceeded
            When it doesn't fit. Nothing is booked then.
        LedgerUnavailable
            When the ledger can't be used. Nothing is booked then either.
        LedgerUnknown
            When the ledger was lost at the moment of the commit and can't be asked: `find` with the
            error's ``token`` tells later.
        ValueError
            When the event costs more than `measure`, this ledger can't count it, or the token names a
            charge for something else.

        Privacy
        -------
        Unit and measure are the ledger's; any adaptive sequence of accepted charges keeps the limit. A cost
        of zero is entered too; an infinite one never fits. Nothing is refunded. After a lost connection it
        connects again: the charge is then booked once, or not at all, and this says which. Amounts that
        aren't short fractions are rounded up at the 40th decimal. Proof page: ``docs/proofs/ledger.md``.
        """
        if not isinstance(note, str):
            raise TypeError(f"note must be a string, not {type(note).__name__}.")
        check_token(token)
        check_admissible(event, self.unit, accept_assumed=self._terms.accept_assumed)
        price = self._terms.filter.price(event, measure)
        amounts = {name: on_grid(amount, self._grid) for name, amount in price.items()}
        entry = self._enter(event, amounts, note, token)
        if entry.event != event or entry.account != self._path:
            raise ValueError(
                "token: a charge for something else has this token; choose another one."
            )
        return entry

    def _enter(self, event: Event, amounts: Amounts, note: str, token: str | None) -> Entry:
        """Book amounts if they fit, once for each token; the entry."""
        filter_ = self._terms.filter
        return journal.charge(self._store, filter_, self._path, event, amounts, note, token)

    def _find(self, token: str) -> Entry | None:
        """The entry of the charge with a token."""
        return journal.find(self._store, self._terms.filter, token)

    def _balance(self) -> tuple[Amounts, Amounts]:
        """Caps and totals."""
        return journal.balance(self._store, self._terms.filter, self._path)

    def find(self, token: str) -> Entry | None:
        """Find the charge with this token anywhere in the ledger; None if it isn't booked and never will be.

        After a `LedgerUnknown` it says what became of the charge. It takes the ledger's lock first,
        so a transaction that is still running on the server has ended when this returns.

        Privacy
        -------
        An entry that is found was paid for once: at most the one answer it was charged for may be read.
        When in doubt, read nothing and charge again.
        """
        if token is None:
            raise TypeError(
                "token must be a string: the one that LedgerUnknown carries, or your own."
            )
        check_token(token)
        return self._find(token)

    def external(self, measure: Measure, note: str) -> Entry:
        """Enter a release that was made elsewhere, with the cost that you declare for it.

        Privacy
        -------
        The cost is taken on trust, and the statement names it as declared.
        """
        return self.charge(External(measure, note), note=note)

    def account(self, name: str, limit: Measure | None = None) -> Account:
        """Open a part of this budget with a limit of its own.

        Parameters
        ----------
        name : str
        limit : Measure, optional
            Needed the first time and fixed from then on. Of the kind that this ledger's filter
            bounds; it may be larger than what is left above.

        Privacy
        -------
        Charges count against the account and against everything above it. Both limits hold, each for what
        was charged under it. In a ``"zcdp"`` or ``"renyi"`` ledger an (ε, δ) limit is split in the same
        proportions as the ledger's.
        """
        if not isinstance(name, str) or not name.strip() or "/" in name or len(name) > 100:
            raise ValueError(f"name must be up to 100 characters without '/', got {name!r}.")
        path = f"{self._path.rstrip('/')}/{name}"
        if not name.isprintable() or len(path.encode()) > 1000:
            raise ValueError(
                "name must be printable, and with the names above it at most 1000 bytes long, got "
                f"{name!r}."
            )
        checked = None if limit is None else check_limit(limit)
        agreed = journal.find_account(self._store, path)
        if agreed is None:
            if checked is None:
                raise ValueError(
                    f"limit must be given to create the account {path}, as in account({name!r}, "
                    "dp.PureDP(0.1)): there is none yet."
                )
            journal.create_account(self._store, self._terms.filter, path, checked)
            agreed = journal.find_account(self._store, path)
            assert agreed is not None
        if checked is not None and checked != agreed:
            raise ValueError(
                f"limit is {checked!r}, but the account {path} was created with {agreed!r}: limits "
                "are never raised in place."
            )
        return Account(self._store, self._terms, path, agreed)

    def entries(self) -> list[Entry]:
        """All entries of this account and those inside it, oldest first."""
        return journal.all_entries(self._store, self._terms.filter, self._path)

    def latest(self, count: int, *, before: int | None = None) -> list[Entry]:
        """The newest entries of this account and those inside it, the newest first.

        Parameters
        ----------
        count : int
            How many at most.
        before : int, optional
            Only entries with a smaller number: for the next page.

        Privacy
        -------
        Each entry is compared with its own hash, not with the one before it: `entries` and `verify`
        look at the whole chain.
        """
        wanted = as_integer(count, "count", minimum=1)
        end = MAX_NUMBER if before is None else as_integer(before, "before")
        found = journal.iter_latest(self._store, self._terms.filter, self._path, end)
        return list(islice(found, wanted))

    def account_names(self) -> list[str]:
        """The paths of all accounts of the ledger, such as ``"/research"``, in the order of their making."""
        return journal.list_accounts(self._store)

    def spent(self) -> Measure:
        """What was charged so far: a fill level, not a guarantee (the guarantee is the limit)."""
        _, totals = self._balance()
        with expect_whole(f"The balance of account {self._path}"):
            return self._terms.filter.measure(totals)

    def remaining(self) -> Measure:
        """What is left of the limit, in the measure in which the ledger counts."""
        caps, totals = self._balance()
        with expect_whole(f"The balance of account {self._path}"):
            return self._terms.filter.left(totals, caps)

    def verify(self, head: str | None = None, count: int | None = None) -> None:
        """Check the whole ledger: hashes, sums, limits and balances.

        Parameters
        ----------
        head : str, optional
            The hash from an earlier statement, so that a cut tail or a restored backup is noticed.
        count : int, optional
            The number of entries in that statement.

        Raises
        ------
        LedgerCorrupt
            Saying what is wrong.
        """
        verify(self._store, self._terms, head=head, count=count)

    def backup(self, path: str | PathLike[str]) -> tuple[str, int]:
        """Write the whole ledger, as it stands now, to a new SQLite file.

        Charges may go on meanwhile. The copy is complete in its one file, verified, and a ledger itself:
        ``dp.Ledger("sqlite:///" + path, read_only=True)`` reads it. A ledger in PostgreSQL is copied
        to a file too.

        Parameters
        ----------
        path : str or path
            Where there is no file yet.

        Returns
        -------
        tuple of str and int
            The anchor of the copy, the hash of its last entry and the number of entries: what
            `verify` takes.

        Privacy
        -------
        A backup that is restored has forgotten the charges made since, whose answers people have seen.
        Compare it with the newest anchor before anybody charges it.
        """
        return write_backup(self._store, self._terms, path)

    def statement(self) -> Statement:
        """Who asked what, when, at which cost, and what is guaranteed."""
        return statement_of(self._store, self._terms, self._path, self._limit)

    def to_table(self, level: float = 0.95) -> Table:
        """The entries as a table."""
        return self.statement().to_table()

    def to_json(self) -> str:
        """The statement as JSON; `Statement.from_json` reads it."""
        return self.statement().to_json()

    @staticmethod
    def from_json(text: str) -> Statement:
        """Read what `to_json` wrote: the entries as a statement, to be shown and compared.

        A text is no ledger: it doesn't know what was charged since, so nothing can be charged to it. To go
        on with a ledger, open its file or database; to keep a copy, use `backup`.

        Privacy
        -------
        It says what the text says: only the ledger itself, with `verify`, tells whether it is true.
        """
        return Statement.from_json(text)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw how charges filled the limit, entry by entry."""
        return self.statement().plot(ax=ax)

    def _repr_html_(self) -> str:
        try:
            return self.statement()._repr_html_()
        except LedgerError:  # repr says so, too
            return Table(("ledger",), [[repr(self)]]).to_html()

    @abstractmethod
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]: ...

    def __copy__(self: Self) -> Self:
        return self

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        if not hasattr(self, "_grid"):  # opening it failed half-way, and a debugger looks at it
            return f"{type(self).__name__}(not open)"
        try:
            caps, totals = self._balance()
            fill = f"{self._terms.filter.fill(totals, caps):.0%} used"
        except LedgerError:
            fill = "not readable"
        return f"{type(self).__name__}(limit={self._limit!r}, {fill})"


class Account(Book):
    """A part of a ledger's budget with a limit of its own; made by `Ledger.account`.

    Privacy
    -------
    The account's limit holds for what is charged to it and to accounts inside it, and the limits above
    it hold as well. Unit, filter and proof are the ledger's.

    Examples
    --------
    >>> import discreet as dp
    >>> ledger = dp.Ledger(limit=dp.PureDP(2))
    >>> interns = ledger.account("interns", limit=dp.PureDP("1/2"))
    >>> interns.charge(dp.events.DiscreteLaplace(4), note="visits by ward").booked
    PureDP(epsilon=0.25)
    >>> interns.remaining(), ledger.remaining()
    (PureDP(epsilon=0.25), PureDP(epsilon=1.75))
    """

    def __init__(self, store: Store, terms: Terms, path: str, limit: Measure) -> None:
        self._store, self._terms, self._path, self._limit = store, terms, path, limit
        self._grid = grid_for(terms.limit, limit)

    @property
    def name(self) -> str:
        """The path of the account."""
        return self._path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        from discreet.ledger.ledger import reopen

        return reopen, (self.url, self._path, self._store.dialect.read_only)
