"""What commands share: their options, and how they open data and ledger.

Results are printed by `printing`; how commands end stands in `outcome`. Nothing heavy is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.outcome import CommandError

if TYPE_CHECKING:
    from discreet.dataset import PrivateDataset
    from discreet.ledger import Book, Ledger
    from discreet.measures import Measure
    from discreet.schema import Schema
    from discreet.unit import Unit

__all__ = [
    "Account",
    "Data",
    "DeclaredUnit",
    "Delta",
    "Epsilon",
    "Force",
    "IdColumn",
    "Json",
    "LedgerPlace",
    "MaxRows",
    "Out",
    "Quiet",
    "Rho",
    "Rows",
    "SchemaFile",
    "build_empty",
    "choose_unit",
    "open_book",
    "open_data",
    "open_empty",
    "open_ledger",
    "read_budget",
    "read_epsilon",
    "read_facts",
    "read_unit",
    "show_progress",
    "to_url",
]

Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        "-d",
        envvar="DISCREET_TABLE",
        help="The table: a path (.csv, .csv.gz, .parquet), duckdb:///file.db?table=name, or "
        "postgresql://user@host/database?table=name.",
    ),
]
SchemaFile = Annotated[
    str | None,
    typer.Option(
        "--schema",
        "-s",
        envvar="DISCREET_SCHEMA",
        help="The TOML file with public facts, as `discreet init` writes it.",
    ),
]
LedgerPlace = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        "-l",
        envvar="DISCREET_LEDGER",
        help="The ledger that pays: a file, sqlite:///budget.db, or postgresql://user@host/database.",
    ),
]
Account = Annotated[
    str | None,
    typer.Option("--account", help="The account of the ledger that pays, as in research/2026."),
]
DeclaredUnit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        help="Who is protected, where schema and ledger don't say: add_remove, replace_one, or public "
        "(rows that anyone may see; nothing is charged).",
    ),
]
IdColumn = Annotated[
    str | None, typer.Option("--id", help="The column that says which rows are one person's.")
]
MaxRows = Annotated[
    int | None, typer.Option("--max-rows", help="How many rows of one person count (with --id).")
]
Epsilon = Annotated[str | None, typer.Option("--epsilon", "-e", help="The budget ε.")]
Delta = Annotated[str | None, typer.Option("--delta", help="δ, with --epsilon.")]
Rho = Annotated[str | None, typer.Option("--rho", help="A budget of zCDP instead of ε and δ.")]
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows",
        help="A public guess of the number of rows, where errors depend on it, or what a model does by "
        "default; with replace_one the public number itself.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Out = Annotated[
    str | None, typer.Option("--out", "-o", help="Write the result to a .csv, .json or .html file.")
]
Force = Annotated[bool, typer.Option("--force", help="Let --out replace a file.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress, and no word about what was charged.")
]

_RELATIONS = ("add_remove", "replace_one", "public")


@contextmanager
def show_progress(title: str, quiet: bool) -> Iterator[None]:
    """Inside, a bar shows on a terminal that something goes on, once it takes a second; none if quiet.

    What knows how far it is, such as the reading of a file, shows a bar of its own in place of this one.
    """
    from discreet.progress import find_no_share, hide_bars, show

    with hide_bars() if quiet else show(title, find_no_share):
        yield


def read_epsilon(epsilon: str | None, delta: str | None, purpose: str) -> Measure:
    """The measure that --epsilon and --delta give, where there is no --rho."""
    if epsilon is None:
        raise CommandError(
            f"say what {purpose} may cost: --epsilon 0.5, or --epsilon 0.5 --delta 1e-6."
        )
    return read_budget(epsilon, delta, None)


def read_budget(
    epsilon: str | None, delta: str | None, rho: str | None, purpose: str = "the answer"
) -> Measure:
    """The measure that --epsilon, --delta and --rho give."""
    from discreet.measures import ZCDP, ApproxDP, PureDP

    if rho is not None:
        if epsilon is not None or delta is not None:
            raise CommandError("give either --rho, or --epsilon with or without --delta, not both.")
        return _build(ZCDP, "--rho", _number(rho, "--rho"))
    if epsilon is None:
        raise CommandError(
            f"say what {purpose} may cost: --epsilon 0.5, --epsilon 0.5 --delta 1e-6, or --rho 0.1."
        )
    found = _number(epsilon, "--epsilon")
    if delta is None:
        return _build(PureDP, "--epsilon", found)
    return _build(ApproxDP, "--epsilon and --delta", found, _number(delta, "--delta"))


def _number(text: str, option: str) -> str | float:
    """A number as it was typed, so that 0.1 is a tenth; ∞, for public rows, as Python has it."""
    try:
        value = float(text)
    except ValueError:
        raise CommandError(f"{option} must be a number, such as 0.5.") from None
    return value if math.isinf(value) else text.strip()


def _build(kind: Any, options: str, *values: str | float) -> Measure:
    try:
        found: Measure = kind(*values)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CommandError(f"{options}: {error}") from None
    return found


def read_facts(path: str | None) -> tuple[Schema, Unit | None]:
    """The schema of a TOML file, and the unit if the file declares one."""
    from discreet.schema import Schema
    from discreet.unit import Unit

    if path is None:
        raise CommandError(
            "--schema must name the TOML file with public facts: write one with `discreet init`."
        )
    try:
        return Schema.read(path), Unit.read(path)
    except FileNotFoundError:
        raise CommandError(
            f"--schema: there is no file {path!r}: check the path, or write it with `discreet init`."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(
            f"--schema: {path!r} can't be read ({type(error).__name__}): give a TOML file that `discreet "
            "init` wrote."
        ) from None
    except (TypeError, ValueError) as error:
        raise CommandError(f"--schema: {error}") from None


def read_unit(relation: str | None, id_column: str | None, max_rows: int | None) -> Unit | None:
    """The unit that --unit, --id and --max-rows give; None if none of them was given."""
    from discreet.unit import Relation, Unit

    if relation is None and id_column is None and max_rows is None:
        return None
    if relation is not None and relation not in _RELATIONS:
        raise CommandError(f"--unit must be one of {', '.join(_RELATIONS)}, not {relation!r}.")
    if id_column is not None and max_rows is None:
        raise CommandError(
            "--id needs --max-rows: say how many rows of one person count, such as 3."
        )
    if max_rows is not None and id_column is None:
        raise CommandError("--max-rows needs --id: the column that says whose a row is.")
    try:
        return Unit(Relation(relation or "add_remove"), id_column, max_rows)
    except (TypeError, ValueError) as error:
        raise CommandError(f"--unit: {error}") from None


def choose_unit(given: Unit | None, declared: Unit | None) -> Unit | None:
    """The unit of the options or of the schema file, which must not differ."""
    if given is not None and declared is not None and given != declared:
        raise CommandError(
            f"--unit: the schema file says that {declared}, the options say that {given}; leave the options "
            "out, or change the file."
        )
    return given or declared


def to_url(ledger: str) -> str:
    """A ledger's URL; a path is a file of SQLite."""
    return ledger if "://" in ledger else f"sqlite:///{Path(ledger).expanduser()}"


def open_ledger(place: str | None, *, read_only: bool = False, schema: str | None = None) -> Ledger:
    """An existing ledger; errors show how to make one for the schema file, whose unit it protects."""
    from discreet.ledger import Ledger

    told = f"--schema {schema or 'FILE'} --epsilon 1`"
    if place is None:
        raise CommandError(
            "--ledger must name the ledger that pays: make one with `discreet ledger open "
            f"budget.db {told}."
        )
    if "://" not in place and not Path(place).expanduser().exists():
        raise CommandError(
            f"--ledger: there is no ledger {place!r} yet: make one with `discreet ledger open {place} "
            f"{told}, or check the path."
        )
    try:
        return Ledger(to_url(place), read_only=read_only)
    except ValueError as error:
        if not str(error).startswith("limit must be given"):
            raise CommandError(f"--ledger: {error}") from None
    raise CommandError(
        "--ledger: there is no ledger at this address yet: make one with `discreet ledger open URL "
        f"{told}, or check the address."
    )


def open_book(
    place: str | None,
    account: str | None = None,
    *,
    read_only: bool = False,
    schema: str | None = None,
) -> Book:
    """An existing ledger, or one of its accounts."""
    book: Book = open_ledger(place, read_only=read_only, schema=schema)
    for name in [] if account is None else account.strip("/").split("/"):
        try:
            book = book.account(name)
        except ValueError:
            raise CommandError(
                f"--account: there is no account {account!r} in this ledger: `discreet ledger accounts` "
                "lists them, and `discreet ledger open --account NAME --epsilon 1` makes one."
            ) from None
    return book


def open_data(
    data: str | None,
    schema: str | None,
    ledger: str | None,
    *,
    unit: Unit | None = None,
    account: str | None = None,
    rows: int | None = None,
) -> PrivateDataset:
    """The table behind its door, whose charges are told whatever happens next.

    Parameters
    ----------
    data, schema, ledger, account
        What the options of these names gave.
    unit : Unit, optional
        What `read_unit` made of --unit, --id and --max-rows.
    rows : int, optional
        What --rows gave: the declared number of rows under replace-one.
    """
    facts, declared = read_facts(schema)
    if data is None:
        raise CommandError("--data must name the table: a path, or the URL of a database's table.")
    chosen = choose_unit(unit, declared)
    from discreet.cli.payer import WatchedBook
    from discreet.dataset import PrivateDataset
    from discreet.unit import REPLACE_ONE

    if chosen is not None and chosen.is_public:
        if ledger is not None:
            raise CommandError("--ledger must be left out for public rows: nothing is charged.")
        return PrivateDataset(data, facts, unit=chosen)
    book = open_book(ledger, account, schema=schema)
    if chosen is not None and chosen != book.unit:
        raise CommandError(
            f"--ledger protects another unit ({book.unit}) than the table declares ({chosen}): use the "
            f"ledger of this table, or open one with `discreet ledger open LEDGER --schema {schema}`."
        )
    public = rows if book.unit.relation is REPLACE_ONE else None
    return PrivateDataset(data, facts, ledger=WatchedBook(book), rows=public)


def open_empty(
    schema: str | None, unit: Unit | None, book: Book | None, rows: int | None = None
) -> PrivateDataset:
    """A door with nothing behind it, to plan from public facts alone."""
    from discreet.unit import ADD_REMOVE, Unit

    facts, declared = read_facts(schema)
    chosen = choose_unit(unit, declared)
    if book is not None:
        if chosen is not None and chosen != book.unit:
            raise CommandError(
                f"--ledger protects another unit ({book.unit}) than the table declares ({chosen}): use the "
                "ledger of this table."
            )
        chosen = book.unit
    return build_empty(facts, chosen or Unit(ADD_REMOVE), rows)


def build_empty(facts: Schema, unit: Unit, rows: int | None = None) -> PrivateDataset:
    """A door with nothing behind it for facts that were read before."""
    from discreet.answers.rehearsal import MadeUpRows, make_up_rows
    from discreet.dataset import PrivateDataset
    from discreet.ledger import Ledger
    from discreet.measures import PureDP
    from discreet.unit import REPLACE_ONE

    if unit.length_is_public and rows is None:
        raise CommandError(
            "--rows must give the public number of rows: replace_one takes it as known."
        )
    table = MadeUpRows(make_up_rows(facts, unit, 1, 0))
    if unit.is_public:
        return PrivateDataset(table, facts, unit=unit, rows=rows)
    public = rows if unit.relation is REPLACE_ONE else None
    aside = Ledger(limit=PureDP(1), unit=unit)
    return PrivateDataset(table, facts, ledger=aside, rows=public)
