"""``discreet publish``: a table that may be seen, made from private rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import common
from discreet.cli.fitting import (
    PositionalData,
    Settings,
    Target,
    choose_data,
    print_certificate,
    tell_price,
)
from discreet.cli.outcome import CommandError, find_entry, tell_charges
from discreet.cli.printing import check_out, print_lines, tell
from discreet.cli.rows import TABLES, check_parquet, write_rows
from discreet.cli.settings import check_known, read_settings, suggest

if TYPE_CHECKING:
    from discreet.dataset import PrivateDataset
    from discreet.publish.publishers import Publisher

__all__ = ["publish"]


def publish(
    kind: Annotated[
        str | None,
        typer.Argument(help="How: masked, perturbed, ranges, synthetic, wavelet; see --list."),
    ] = None,
    table: PositionalData = None,
    list_: Annotated[bool, typer.Option("--list", help="List the ways, and end.")] = False,
    target: Target = None,
    settings: Settings = None,
    data: common.Data = None,
    schema: common.SchemaFile = None,
    ledger: common.LedgerPlace = None,
    account: common.Account = None,
    epsilon: common.Epsilon = None,
    delta: common.Delta = None,
    unit: common.DeclaredUnit = None,
    id_column: common.IdColumn = None,
    max_rows: common.MaxRows = None,
    rows: common.Rows = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="The .csv or .parquet file to write.")
    ] = None,
    force: common.Force = False,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Publish a table made from private rows: made-up rows, perturbed rows, or counts of ranges.

    Price and expected time are told before anything is charged.

    \b
    Examples:
      discreet publish --list
      discreet publish synthetic visits.csv --schema visits.toml --ledger budget.db --epsilon 1
        --set rows=1000 --out made_up.csv
      discreet publish masked visits.csv -s visits.toml -l budget.db -e 1 -t ill -o masked.parquet
      discreet publish ranges visits.csv -s visits.toml -l budget.db -e 0.5 --set columns=age -o ages.csv
    """
    if list_:
        _print_list(as_json)
        return
    publisher = _find(kind)
    given = read_settings(settings)
    check_known(given, publisher.settings, f"publish {publisher.name}")
    measure: Any = common.read_epsilon(epsilon, delta, "the table")
    if out is None:
        raise CommandError("--out must name the file to write, such as --out made.csv.")
    check_out(out, force, TABLES)
    check_parquet(out)
    chosen = common.read_unit(unit, id_column, max_rows)
    behind = common.open_data(
        choose_data(table, data), schema, ledger, unit=chosen, account=account, rows=rows
    )
    _check_rows(publisher, behind)
    _publish(publisher, behind, measure, target, given, rows, out, as_json, quiet)


def _check_rows(publisher: Publisher, data: PrivateDataset) -> None:
    """Raise where all rows are published and their number isn't public."""
    if not publisher.shows_every_row or data.unit.is_public:
        return
    if not data.unit.length_is_public:
        raise CommandError(
            f"publish {publisher.name} shows every row, so their number must be public: the schema file or "
            "--unit must say replace_one, with one row per person; publish synthetic or masked makes up rows "
            "for any unit."
        )
    if data.rows is None:
        raise CommandError("--rows must give the public number of rows: this many are published.")


def _publish(
    publisher: Publisher,
    data: PrivateDataset,
    measure: Any,
    target: str | None,
    given: Mapping[str, Any],
    rows: int | None,
    out: str,
    as_json: bool,
    quiet: bool,
) -> None:
    from discreet.cli.rehearsing import rehearse, show_progress

    offer = publisher.offer(data, measure, target, given)

    def act(door: PrivateDataset) -> Mapping[str, Any]:
        return publisher.offer(door, measure, target, given).publish(door)

    expected = rehearse(act, data, offer.measure, rows)
    tell_price(offer.measure, data, expected.describe(), quiet)
    with show_progress(f"publishing {publisher.name}", expected, quiet):
        made = offer.publish(data)
    write_rows(made, out)
    count = len(next(iter(made.values())))
    facts = {"published": publisher.name, "out": out, "rows": count}
    print_certificate("publication", facts, offer.certify(data, find_entry()), as_json)
    tell(f"{count} rows written to {out}", quiet)
    charged = tell_charges()
    if charged:
        tell(f"charged {charged}", quiet)


def _find(name: str | None) -> Publisher:
    from discreet.publish.publishers import list_publishers

    known = {publisher.name: publisher for publisher in list_publishers()}
    if name is None:
        raise CommandError(f"say how to publish: {', '.join(known)}; --list says what they are.")
    if name not in known:
        near = suggest(name, known)
        raise CommandError(
            f"nothing is published as {name!r}.{near} Give one of {', '.join(known)}."
        )
    return known[name]


def _print_list(as_json: bool) -> None:
    from discreet.publish.publishers import list_publishers

    summaries = {publisher.name: publisher.summary for publisher in list_publishers()}
    if as_json:
        from discreet.show import write_document

        print_lines(write_document("publishers", 1, {"publishers": summaries}))
        return
    from discreet.cli.tables import table

    print_lines(table(("name", "what comes out"), list(summaries.items())))
