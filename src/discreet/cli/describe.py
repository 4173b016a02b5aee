"""``discreet describe``: what a table looks like, column by column, for one charge."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import common
from discreet.cli.outcome import CommandError
from discreet.cli.printing import check_out, give_result

__all__ = ["add_describe"]


def add_describe(app: typer.Typer) -> None:
    """Add the command."""
    app.command("describe", short_help="All columns for one charge.")(describe)


def describe(
    epsilon: common.Epsilon = None,
    delta: common.Delta = None,
    rho: common.Rho = None,
    data: common.Data = None,
    schema: common.SchemaFile = None,
    ledger: common.LedgerPlace = None,
    account: common.Account = None,
    unit: common.DeclaredUnit = None,
    id_column: common.IdColumn = None,
    max_rows: common.MaxRows = None,
    rows: common.Rows = None,
    out: common.Out = None,
    force: common.Force = False,
    level: Annotated[float, typer.Option(help="The probability of the intervals.")] = 0.95,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Describe all columns for one charge: rows, means, deviations, quartiles, counts of categories.

    \b
    Examples:
      discreet describe --data visits.csv --schema visits.toml --ledger budget.db --epsilon 1
      discreet describe -d visits.csv -s visits.toml -l budget.db --rho 0.1 --out visits.html
    """
    measure = common.read_budget(epsilon, delta, rho, "the description")
    check_out(out, force)
    if not 0 < level < 1:
        raise CommandError("--level must be between 0 and 1, such as 0.95.")
    chosen = common.read_unit(unit, id_column, max_rows)
    with common.show_progress("describing", quiet):
        table = common.open_data(data, schema, ledger, unit=chosen, account=account, rows=rows)
        found = table.describe(measure, level=level, rows=rows)
    give_result(found, out=out, as_json=as_json, quiet=quiet)
