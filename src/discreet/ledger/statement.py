"""What a ledger says about itself: for people, and as a certificate for machines."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlalchemy import select

from discreet.events import Assumed, Event, External, walk
from discreet.ledger import journal
from discreet.ledger.chain import Entry, expect_whole
from discreet.ledger.errors import LedgerCorrupt
from discreet.ledger.migrations import balances
from discreet.ledger.payers import NOT_DATA
from discreet.ledger.plain_text import plain
from discreet.ledger.store import Store
from discreet.ledger.terms import Terms
from discreet.measures import ZCDP, Measure, measure_from_dict
from discreet.rational import readable
from discreet.show import Shown, Table, read_document, write_document

__all__ = ["Statement", "shorten", "statement_of"]

#: How many entries are printed for people; the certificate has all.
_PRINTED = 50
#: How much of an event is printed.
_MAX_EVENT = 90


@dataclass(frozen=True)
class Statement(Shown):
    """A look at a ledger or account at one moment. ``str()`` is for people, `to_json` for machines.

    `to_frame` and `to_csv` give its entries as a table, `plot` how the budget was filled.

    Attributes
    ----------
    account : str
        ``"/"`` is the ledger itself.
    limit : Measure
        The guarantee. What was used so far is a fill level, never a guarantee.
    spent, remaining : Measure
    used : float
        The fill level, from 0 to 1.
    reserve : tuple of Fraction
        What was taken from the δ set aside at opening, and how large that δ was.
    entries : tuple of Entry
        Of this account and those inside it.
    head, count
        Hash of the last entry and number of entries of the whole ledger: keep them for `verify`.

    Privacy
    -------
    Notes and events are shown as they were entered; neither comes from a row. For people each is one line of
    visible characters, so that no note passes for another line of the statement; the certificate has them
    to the last character.

    Examples
    --------
    >>> import discreet as dp
    >>> ledger = dp.Ledger(limit=dp.PureDP(2))
    >>> entry = ledger.charge(dp.events.DiscreteLaplace(2), note="visits by ward")
    >>> statement = ledger.statement()
    >>> statement.used, statement.remaining, len(statement.entries)
    (0.25, PureDP(epsilon=1.5), 2)
    """

    account: str
    terms: Terms
    limit: Measure
    spent: Measure
    remaining: Measure
    used: float
    reserve: tuple[Fraction, Fraction]
    entries: tuple[Entry, ...]
    head: str
    count: int

    @property
    def declared(self) -> tuple[Entry, ...]:
        """Entries whose cost a person declared."""
        return tuple(entry for entry in self.entries if _contains(entry.event, External))

    @property
    def assumed(self) -> tuple[Entry, ...]:
        """Entries on whose unproved premises the guarantee rests."""
        return tuple(entry for entry in self.entries if _contains(entry.event, Assumed))

    @property
    def guarantee(self) -> str:
        """What holds for the protected unit, in words."""
        words = f"all answers charged here, together, cost at most {self.limit!r}"
        if isinstance(self.limit, ZCDP) and self.terms.delta_reserve:
            words += f", outside an event of probability {float(self.terms.delta_reserve):g}"
        return words

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain data."""
        return {
            "format": "discreet statement",
            "version": 1,
            **self._body(),
        }

    def _body(self) -> dict[str, Any]:
        return {
            "account": self.account,
            "limit": self.limit.to_dict(),
            "guarantee": self.guarantee,
            "unit": self.terms.unit.to_dict(),
            "protected": str(self.terms.unit),
            "terms": self.terms.to_dict(),
            "fill": {
                "spent": self.spent.to_dict(),
                "remaining": self.remaining.to_dict(),
                "used": self.used,
                "reserve_spent": str(self.reserve[0]),
                "reserve": str(self.reserve[1]),
            },
            "declared": [entry.number for entry in self.declared],
            "assumed": [
                {"entry": entry.number, "why": why}
                for entry in self.assumed
                for why in _premises(entry.event)
            ],
            "entries": [entry.to_dict() for entry in self.entries],
            "count": self.count,
            "head": self.head,
        }

    def to_json(self) -> str:
        """The certificate as JSON."""
        return write_document("statement", 1, self._body())

    @classmethod
    def from_json(cls, text: str) -> Statement:
        """A statement that `to_json` wrote. Nothing in the text is run.

        Privacy
        -------
        It says what the text says: only the ledger itself, with `Ledger.verify`, tells whether it is true.
        """
        with read_document(text, "statement", 1) as body:
            fill = body["fill"]
            return cls(
                account=str(body["account"]),
                terms=Terms.from_dict(body["terms"]),
                limit=measure_from_dict(body["limit"]),
                spent=measure_from_dict(fill["spent"]),
                remaining=measure_from_dict(fill["remaining"]),
                used=float(fill["used"]),
                reserve=(Fraction(fill["reserve_spent"]), Fraction(fill["reserve"])),
                entries=tuple(map(Entry.from_dict, body["entries"])),
                head=str(body["head"]),
                count=int(body["count"]),
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return Statement.from_json, (self.to_json(),)

    def to_table(self, level: float = 0.95) -> Table:
        """The entries as a table: who asked what, when, at which cost."""
        columns = ("entry", "time", "who", "account", "event", "cost", "note")
        rows = [
            (
                entry.number,
                entry.time[:19] + "Z",
                entry.who,
                entry.account,
                entry.kind if entry.event is None else shorten(entry.event),
                "" if entry.booked is None else repr(entry.booked),
                entry.note,
            )
            for entry in self.entries
        ]
        summary = str(self).split("  entries    ")[0].rstrip("\n")
        caption, _, note = summary.partition("\n")
        anchor = f"anchor: {self.count} entries in the ledger, head {self.head}"
        return Table(columns, rows, caption, f"{note}\n{anchor}")

    def plot(self, *, ax: Any = None) -> Any:
        """Draw how charges filled the limit, entry by entry.

        Returns
        -------
        matplotlib axes
            ``ax.get_label()`` describes the picture in words.
        """
        from discreet.ledger.pictures import draw_statement

        return draw_statement(self, ax)

    def __str__(self) -> str:
        name = "ledger" if self.account == journal.ROOT else f"account {plain(self.account)}"
        lines = [
            f"Privacy statement of this {name}",
            f"  guarantee  {self.guarantee}",
            f"  protected  {self.terms.unit}",
            f"  used       {self.used:.1%} so far (a fill level; the guarantee is the limit)",
            f"  spent      {self.spent!r}, added up as {self.terms.filter.composition!r}",
            f"  left       {self.remaining!r}",
        ]
        if self.reserve[1]:
            taken, pot = (f"{float(part):.3g}" for part in self.reserve)
            lines.append(f"  reserve    {taken} of δ = {pot} taken by events with a δ of their own")
        if any(NOT_DATA in entry.note for entry in self.entries):
            lines.append(f"  NOTICE     {NOT_DATA}; nothing here is about anybody")
        for entry in self.assumed:
            for why in _premises(entry.event):
                lines.append(
                    f"  ASSUMED    the guarantee rests on entry {entry.number}: {plain(why)}"
                )
        for entry in self.declared:
            note = plain(entry.note)
            lines.append(f"  declared   entry {entry.number} was priced by a person: {note}")
        lines.append(f"  entries    {len(self.entries)}")
        if len(self.entries) > _PRINTED:
            lines.append(f"    ... {len(self.entries) - _PRINTED} earlier entries")
        lines.extend(_line(entry) for entry in self.entries[-_PRINTED:])
        lines.append(f"  anchor     {self.count} entries in the ledger, head {self.head}")
        return "\n".join(lines)


def _contains(event: Event | None, kind: type[Event]) -> bool:
    return event is not None and any(isinstance(part, kind) for part in walk(event))


def _premises(event: Event | None) -> list[str]:
    parts = () if event is None else walk(event)
    return list(dict.fromkeys(part.why for part in parts if isinstance(part, Assumed)))


def describe(value: Any) -> str:
    """An event, or a part of one, in a few words."""
    match value:
        case Event():
            parts = [f"{name}={describe(part)}" for name, part in vars(value).items()]
            return f"{type(value).__name__}({', '.join(parts)})"
        case tuple():
            shown = [describe(part) for part in value[:3]]
            return f"[{', '.join([*shown, f'{len(value)} in all'] if len(value) > 3 else shown)}]"
        case Fraction():
            return readable(value)
        case _:
            return repr(value)


def shorten(event: Event) -> str:
    """An event on one short line."""
    what = plain(describe(event))
    return what if len(what) <= _MAX_EVENT else what[: _MAX_EVENT - 3] + "..."


def _line(entry: Entry) -> str:
    start = f"    {entry.number:>5}  {plain(entry.time[:19])}Z  {plain(entry.who)}"
    if entry.event is None:
        act = (
            "opened the ledger"
            if entry.kind == "ledger"
            else f"made account {plain(entry.account)}"
        )
        return f"{start}  {act}"
    what = shorten(entry.event)
    delta = f" and δ = {float(entry.delta):.3g} of the reserve" if entry.delta else ""
    note = f"  ({plain(entry.note)})" if entry.note else ""
    where = "" if entry.account == journal.ROOT else f"  {plain(entry.account)}"
    return f"{start}{where}  {what}: {entry.booked!r}{delta}{note}"


def statement_of(store: Store, terms: Terms, account: str, limit: Measure) -> Statement:
    """The statement of an account, from one state of the ledger."""
    rows, stored = store.read(
        lambda connection: (
            connection.execute(journal.in_order).all(),
            connection.execute(select(balances).where(balances.c.account == account)).all(),
        )
    )
    if not stored:
        raise LedgerCorrupt(f"The balance of account {account} is missing.")
    filter_ = terms.filter
    caps, totals = journal.balance_from_row(filter_, account, stored[0].caps, stored[0].totals)
    found = journal.entries_from_rows(store, filter_, account, rows)
    with expect_whole(f"The balance of account {account}"):
        return Statement(
            account=account,
            terms=terms,
            limit=limit,
            spent=filter_.measure(totals),
            remaining=filter_.left(totals, caps),
            used=filter_.fill(totals, caps),
            reserve=(Fraction(filter_.reserve_of(totals)), Fraction(filter_.reserve_of(caps))),
            entries=tuple(found),
            head=rows[-1].hash,
            count=len(rows),
        )
