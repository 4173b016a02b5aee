"""``discreet query``: noised answers, charged before a row is read."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import common, questions
from discreet.cli.outcome import CommandError
from discreet.cli.printing import check_out, give_result

__all__ = ["add_query"]


def add_query(app: typer.Typer) -> None:
    """Add the command."""
    app.command("query", short_help="Ask noised questions.")(query)


def query(
    count: questions.CountFlag = False,
    people: questions.People = False,
    sum_: questions.Sum = None,
    mean: questions.Mean = None,
    variance: questions.Variance = None,
    median: questions.Median = None,
    quantile: questions.Quantile = None,
    histogram: questions.Histogram = None,
    by: questions.By = None,
    where: questions.Where = None,
    sql: questions.Sql = None,
    file: questions.File = None,
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
    """Ask noised questions; the charge is in the ledger before a row is read.

    Several questions are answered from one charge, split so that each is about equally precise for its range.
    `discreet plan` takes the same options but --level, and shows the price and the error without asking.

    \b
    Examples:
      discreet query -d visits.csv -s visits.toml -l budget.db --count --by ward --epsilon 0.5
      discreet query -d visits.csv -s visits.toml -l budget.db --mean cost --by ward --by "month(day)" -e 1
      discreet query -d "duckdb:///clinic.db?table=visits" -s visits.toml -l budget.db --median age -e 0.2
      discreet query -d visits.csv -s visits.toml -l budget.db --count --where "age >= 18" -e 0.1
      discreet query -d visits.csv -s visits.toml -l budget.db --sql "SELECT AVG(cost) FROM visits" -e 0.5
    """
    measure = common.read_budget(epsilon, delta, rho)
    check_out(out, force)
    if not 0 < level < 1:
        raise CommandError("--level must be between 0 and 1, such as 0.95.")
    asked = questions.read_questions(
        count, people, sum_, mean, variance, median, quantile, histogram, by, where, sql, file
    )
    chosen = common.read_unit(unit, id_column, max_rows)
    with common.show_progress("asking", quiet):
        table = common.open_data(data, schema, ledger, unit=chosen, account=account, rows=rows)
        result = asked.release(table, measure, rows)
    give_result(result, out=out, as_json=as_json, quiet=quiet, level=level)
