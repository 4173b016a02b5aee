"""``discreet report``: one page that shows others what was released, and what it guarantees."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import common
from discreet.cli.outcome import CommandError
from discreet.cli.printing import check_out, print_lines, tell

__all__ = ["add_report", "read_file"]


def add_report(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", short_help="A page for others: what was released.")(report)


def report(
    results: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="JSON files that commands wrote with --out or --json: answers, plans, checks, models, ...",
        ),
    ] = None,
    ledger: common.LedgerPlace = None,
    account: common.Account = None,
    schema: common.SchemaFile = None,
    title: Annotated[str | None, typer.Option("--title", help="The title of the report.")] = None,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", help="The page to write: .html, or .json for the same as data."
        ),
    ] = "report.html",
    force: common.Force = False,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Write a report: what was released from what, its guarantee in plain words, and the ledger.

    One page without network, to open by a double click. Nothing is read from the table or charged.

    \b
    Examples:
      discreet report wards.json costs.json --ledger budget.db --schema visits.toml --out report.html
      discreet report --ledger budget.db --out report.json
    """
    check_out(out, force, (".html", ".json"))
    if not results and ledger is None:
        raise CommandError(
            "name something to report: files that --out wrote, or --ledger budget.db."
        )
    with common.show_progress("writing", quiet):
        from discreet.report import write_report

        items = [item for path in results or [] for item in read_file(path)]
        book = None if ledger is None else common.open_book(ledger, account, read_only=True)
        facts = None if schema is None else common.read_facts(schema)[0]
        try:
            write_report(out, *items, ledger=book, schema=facts, title=title)
        except OSError as error:
            raise CommandError(
                f"--out: {out!r} can't be written ({type(error).__name__}): give another place."
            ) from None
    if as_json:
        import json

        print_lines(json.dumps({"report": str(Path(out).resolve())}))
    tell(f"the report is {Path(out).resolve()}", quiet)


def read_file(path: str) -> list[Any]:
    """What a file holds for a report: several items for one that answers several questions."""
    from discreet.cli.documents import read_results
    from discreet.report.reading import read_item

    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise CommandError(
            f"FILE: there is no file {path!r}: give JSON files that commands wrote with --out."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(
            f"FILE: {path!r} can't be read ({type(error).__name__}): give a JSON file that --out wrote."
        ) from None
    try:
        found = read_results(text)
        return [read_item(path)] if found is None else found
    except (TypeError, ValueError) as error:
        raise CommandError(f"FILE: {error}") from None
