"""``discreet check``: does a table match what was declared about it?"""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import common
from discreet.cli.outcome import FOUND
from discreet.cli.printing import check_out, give_result

__all__ = ["add_check"]


def add_check(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check", short_help="Does a table match its schema?")(check)


def check(
    columns: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COLUMN]...", help="The columns to check; all by default."),
    ] = None,
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
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> int:
    """Tell, privately, which columns don't match the schema: cells outside bounds, unknown categories, ...

    Small budgets are enough: ε = 0.1 for some thousand rows. The exit code is 1 if something stands out of
    the noise.

    \b
    Examples:
      discreet check --data visits.csv --schema visits.toml --ledger budget.db --epsilon 0.1
      discreet check age ward -d visits.csv -s visits.toml -l budget.db -e 0.05 --json
    """
    measure = common.read_budget(epsilon, delta, rho, "the check")
    check_out(out, force)
    chosen = common.read_unit(unit, id_column, max_rows)
    with common.show_progress("checking", quiet):
        table = common.open_data(data, schema, ledger, unit=chosen, account=account, rows=rows)
        report = table.check(measure, *(columns or []))
    give_result(report, out=out, as_json=as_json, quiet=quiet)
    return FOUND if report.is_suspicious else 0
