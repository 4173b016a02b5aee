"""``discreet ledger``: open a budget, and see what became of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common
from discreet.cli.outcome import FOUND, CommandError
from discreet.cli.printing import check_out, print_lines, print_table, tell, write_table

if TYPE_CHECKING:
    from discreet.ledger import Book

__all__ = ["add_ledger"]

Place = Annotated[
    str | None,
    typer.Argument(
        metavar="LEDGER",
        envvar="DISCREET_LEDGER",
        help="A file, sqlite:///budget.db, or postgresql://user@host/database.",
    ),
]
#: The same as an option, as other commands have it.
Also = Annotated[str | None, typer.Option("--ledger", "-l", hidden=True)]

_HELP = """Open a ledger, and see, verify, copy and export what was charged to it.

Everything but `open` reads only, and needs no right to write where the ledger is kept.
"""


def add_ledger(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(help=_HELP, no_args_is_help=True, rich_markup_mode=None)
    listed: dict[Callable[..., Any], str] = {
        open_: "Open a new ledger, or an account.",
        show: "Who asked what, and what is left.",
        verify: "Is the ledger whole?",
        backup: "Copy the ledger to a new file.",
        accounts: "List accounts: limit, spent, left.",
        export: "Write all entries to a file.",
    }
    for command, words in listed.items():
        commands.command(command.__name__.rstrip("_"), short_help=words)(command)
    app.add_typer(
        commands, name="ledger", short_help="Open, show, verify, copy and export a budget."
    )


def open_(
    place: Place = None,
    epsilon: common.Epsilon = None,
    delta: common.Delta = None,
    rho: common.Rho = None,
    schema: common.SchemaFile = None,
    account: common.Account = None,
    unit: common.DeclaredUnit = None,
    id_column: common.IdColumn = None,
    max_rows: common.MaxRows = None,
    composition: Annotated[
        str | None,
        typer.Option(help="How charges add up: basic, pure, zcdp or renyi; as the limit suggests."),
    ] = None,
    accept_assumed: Annotated[
        bool, typer.Option("--accept-assumed", help="Accept guarantees that rest on assumptions.")
    ] = False,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Open a new ledger with a limit, which is never raised; or, with --account, a part of one.

    The unit, who is protected, is that of the schema file or of --unit, --id and --max-rows; by default a
    person is one row, and is in the data or not.

    \b
    Examples:
      discreet ledger open budget.db --schema visits.toml --epsilon 2
      discreet ledger open budget.db --epsilon 1 --delta 1e-6 --id patient --max-rows 3
      discreet ledger open budget.db --account research --epsilon 0.5
    """
    limit = common.read_budget(epsilon, delta, rho, "all answers together")
    if account is not None:
        book: Book = _open_account(place, account, limit)
    else:
        declared = None if schema is None else common.read_facts(schema)[1]
        chosen = common.choose_unit(common.read_unit(unit, id_column, max_rows), declared)
        book = _open_new(place, limit, chosen, composition, accept_assumed)
    if as_json:
        print_lines(book.to_json())
    else:
        print_lines(f"{book!r}\nprotected: {book.unit}")
    tell(f"kept at {book.url}", quiet)


def _open_account(place: str | None, account: str, limit: Any) -> Book:
    *above, name = account.strip("/").split("/")
    book = common.open_book(place, "/".join(above) if above else None)
    try:
        return book.account(name, limit)
    except ValueError as error:
        raise CommandError(f"--account: {error}") from None


def _open_new(
    place: str | None, limit: Any, unit: Any, composition: str | None, accept_assumed: bool
) -> Book:
    from pathlib import Path

    from discreet.ledger import Ledger

    if place is None:
        raise CommandError(
            "LEDGER must say where to keep it, as in `discreet ledger open budget.db`."
        )
    if unit is not None and unit.is_public:
        raise CommandError(
            "public rows need no ledger: ask them with --unit public and without --ledger."
        )
    if "://" not in place and Path(place).expanduser().exists():
        raise CommandError(
            f"LEDGER: {place!r} exists already, and limits are never raised in place: see it with `discreet "
            "ledger show`, or give another name."
        )
    try:
        return Ledger(
            common.to_url(place),
            limit=limit,
            unit=unit,
            composition=composition,
            accept_assumed=accept_assumed,
        )
    except (TypeError, ValueError) as error:
        raise CommandError(f"LEDGER: {error}") from None


def show(
    place: Place = None,
    account: common.Account = None,
    as_json: common.Json = False,
    ledger: Also = None,
) -> None:
    """Print the statement: the guarantee, what is left, and who asked what, when, at which cost.

    \b
    Examples:
      discreet ledger show budget.db
      discreet ledger show budget.db --account research --json
    """
    statement = common.open_book(ledger or place, account, read_only=True).statement()
    print_lines(statement.to_json() if as_json else str(statement))


def verify(
    place: Place = None,
    head: Annotated[
        str | None, typer.Option(help="The head of an earlier statement, to notice a cut tail.")
    ] = None,
    count: Annotated[int | None, typer.Option(help="The number of entries it stated.")] = None,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
    ledger: Also = None,
) -> int:
    """Check all entries, sums and limits; the exit code is 1 if the ledger isn't whole.

    \b
    Examples:
      discreet ledger verify budget.db
      discreet ledger verify budget.db --head 3f1c... --count 12
    """
    import json

    from discreet.ledger import LedgerCorrupt

    try:
        with common.show_progress("verifying", quiet):
            book = common.open_book(ledger or place, read_only=True)
            book.verify(head, count)
    except LedgerCorrupt as error:
        print_lines(
            json.dumps({"whole": False, "why": str(error)}) if as_json else f"NOT WHOLE: {error}"
        )
        return FOUND
    except (TypeError, ValueError) as error:
        raise CommandError(f"--head and --count: {error}") from None
    now, entries = book.head
    words = f"whole: {entries} entries, head {now}"
    print_lines(json.dumps({"whole": True, "count": entries, "head": now}) if as_json else words)
    return 0


def backup(
    place: Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger to copy.")],
    path: Annotated[str, typer.Argument(metavar="FILE", help="A new file for the copy.")],
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Copy the ledger as it stands to a new file, while charges may go on; the copy is verified.

    \b
    Examples:
      discreet ledger backup budget.db budget-2030-01-01.db
    """
    import json

    try:
        with common.show_progress("copying", quiet):
            head, count = common.open_book(place, read_only=True).backup(path)
    except ValueError as error:
        raise CommandError(f"FILE: {error}") from None
    words = f"{count} entries copied to {path}, head {head}"
    print_lines(json.dumps({"path": path, "count": count, "head": head}) if as_json else words)


def accounts(place: Place = None, as_json: common.Json = False, ledger: Also = None) -> None:
    """List the ledger and its accounts: limit, spent, left.

    \b
    Examples:
      discreet ledger accounts budget.db
    """
    from discreet.show import Table

    whole = common.open_ledger(ledger or place, read_only=True)
    rows: list[tuple[str, ...]] = []
    for name in ["/", *whole.account_names()]:
        book: Book = whole
        for part in filter(None, name.split("/")):
            book = book.account(part)
        rows.append((name, repr(book.limit), repr(book.spent()), repr(book.remaining())))
    table = Table(("account", "limit", "spent", "left"), rows, "accounts of the ledger")
    if as_json:
        print_lines(table.to_json())
    else:
        print_table(table)


def export(
    place: Place = None,
    out: common.Out = None,
    force: common.Force = False,
    account: common.Account = None,
    as_json: common.Json = False,
    ledger: Also = None,
) -> None:
    """Write all entries to a .csv, .json or .html file.

    \b
    Examples:
      discreet ledger export budget.db --out budget.csv
      discreet ledger export budget.db --json
    """
    if out is None and not as_json:
        raise CommandError("say where to: --out entries.csv (or .json, .html), or --json.")
    check_out(out, force)
    statement = common.open_book(ledger or place, account, read_only=True).statement()
    if out is not None:
        write_table(statement, out)
        tell(f"written to {out}")
    if as_json:
        print_lines(statement.to_json())
