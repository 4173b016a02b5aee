"""``discreet plan``: price and expected error of questions, before anything is spent."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import common, questions
from discreet.cli.printing import check_out, give_result, tell

__all__ = ["add_plan"]


def add_plan(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", short_help="What questions would cost, and their errors.")(plan)


def plan(
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
    data: Annotated[
        str | None,
        typer.Option(
            "--data", "-d", help="As for query, so that its words can be reused; not opened."
        ),
    ] = None,
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
) -> None:
    """Show what questions would cost and how noisy the answers would be; nothing is read or charged.

    It takes the words of a query, but needs the schema alone. With --ledger it also says what is left there.

    \b
    Examples:
      discreet plan --schema visits.toml --count --by ward --epsilon 0.5
      discreet plan --schema visits.toml --mean cost --by ward --rows 20000 --epsilon 1 --ledger budget.db
    """
    measure = common.read_budget(epsilon, delta, rho)
    check_out(out, force)
    asked = questions.read_questions(
        count, people, sum_, mean, variance, median, quantile, histogram, by, where, sql, file
    )
    book = None if ledger is None else common.open_book(ledger, account, read_only=True)
    chosen = common.read_unit(unit, id_column, max_rows)
    with common.show_progress("planning", quiet):
        table = common.open_empty(schema, chosen, book, rows)
        result = asked.plan(table, measure, rows)
    give_result(result, out=out, as_json=as_json, quiet=quiet)
    if book is not None:
        tell(f"left in the ledger: {book.remaining()!r}", quiet)
