"""``discreet init``: a schema file, from public facts that a person states."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import common
from discreet.cli.outcome import CommandError
from discreet.cli.printing import check_out, print_lines, tell

if TYPE_CHECKING:
    from discreet.schema import Schema
    from discreet.unit import Unit

__all__ = ["add_init"]


def add_init(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init", short_help="Write a schema file: public facts about a table.")(init)


def init(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="The table, as --data elsewhere: names and types that it declares are offered.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME=KIND",
            help="A column: age=integer(0, 120), cost=real(0, 5000), ward=categorical('icu', 'er'), "
            "day=date('2024-01-01', '2024-12-31'), town=text(). Then nothing is asked.",
        ),
    ] = None,
    derive: Annotated[
        list[str] | None,
        typer.Option(
            "--derive",
            metavar="NAME=KIND",
            help="A derived column: band=bins(age, [18, 65]), month=month(day), weekday=weekday(day).",
        ),
    ] = None,
    unit: common.DeclaredUnit = None,
    id_column: common.IdColumn = None,
    max_rows: common.MaxRows = None,
    header: Annotated[
        bool,
        typer.Option(
            "--header", help="The first line of the CSV file has names, not a person's data."
        ),
    ] = False,
    out: Annotated[
        str, typer.Option("--out", "-o", help="The TOML file to write.")
    ] = "schema.toml",
    force: common.Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the schema as JSON, too.")] = False,
    quiet: common.Quiet = False,
) -> None:
    """Write a schema file: public facts about a table, stated by a person.

    Bounds and categories are asked for, never read from rows. Names and types are offered where a Parquet
    file or a database declares them; the first line of a CSV file is read only after you say that it holds
    names.

    \b
    Examples:
      discreet init visits.csv --out visits.toml
      discreet init visits.parquet --id patient --max-rows 3 --out visits.toml
      discreet init --column "age=integer(0, 120)" --column "ward=categorical('icu', 'er')" --out visits.toml
    """
    check_out(out, force, (".toml",))
    chosen = common.read_unit(unit, id_column, max_rows)
    schema, found = _state_facts(data, column or [], derive or [], chosen, header)
    try:
        schema.write(out, found)
    except OSError as error:
        raise CommandError(
            f"--out: {out!r} can't be written ({type(error).__name__}): give another place."
        ) from None
    if as_json:
        print_lines(schema.to_json())
    tell(
        f"written to {out}; next: discreet ledger open budget.db --schema {out} --epsilon 1", quiet
    )


def _state_facts(
    data: str | None, columns: list[str], derived: list[str], unit: Unit | None, header: bool
) -> tuple[Schema, Unit | None]:
    from discreet.cli.asking import ask_columns, ask_unit
    from discreet.cli.declaring import parse_columns, parse_derived
    from discreet.schema import Schema

    if columns:
        base = parse_columns(columns)
        if data is not None:
            _check_names(data, list(base))
    else:
        base = ask_columns(data, header)
        unit = unit or ask_unit()
    try:
        schema = Schema(base)
        for name, kind in parse_derived(derived).items():
            schema = schema.derive(**{name: kind})
    except (LookupError, TypeError, ValueError) as error:
        raise CommandError(f"--derive: {error}") from None
    return schema, unit


def _check_names(data: str, names: list[str]) -> None:
    """Where the table declares its names, those of --column must be among them."""
    from discreet.dataset import list_columns

    if data.endswith((".csv", ".csv.gz")):
        if not Path(data).is_file():
            raise CommandError(f"DATA: there is no file {data!r}: check the path.")
        return
    known = dict(list_columns(data))
    missing = [name for name in names if name not in known]
    if missing:
        raise CommandError(
            f"--column: the table has no column {missing[0]!r}; it has: {', '.join(known)}."
        )
