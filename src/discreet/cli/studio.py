"""``discreet studio``: the desk in the browser."""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import common
from discreet.cli.outcome import CommandError
from discreet.cli.printing import print_lines, tell

__all__ = ["add_studio"]

_NEEDED = ("starlette", "uvicorn", "jinja2")


def add_studio(app: typer.Typer) -> None:
    """Add the command."""
    app.command("studio", short_help="All of this in the browser, on this machine.")(studio)


def studio(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]", help="The table, as --data elsewhere; or choose it there."
        ),
    ] = None,
    schema: common.SchemaFile = None,
    ledger: common.LedgerPlace = None,
    port: Annotated[int, typer.Option(help="The port; any that is free by default.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser.")
    ] = True,
    max_upload: Annotated[
        int, typer.Option("--max-upload", help="The largest upload, in megabytes.")
    ] = 2048,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> None:
    """Open a desk in the browser: from a table to a release, with every price in sight.

    It answers this machine alone, and files are named below the folder in which it is started.

    \b
    Examples:
      discreet studio
      discreet studio visits.csv
      discreet studio "postgresql://clinic@localhost/clinic?table=visits" --schema visits.toml
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise CommandError("the studio needs more packages: pip install 'discreet[studio]'.")
    if not 0 <= port < 65536:
        raise CommandError("--port must be a number below 65536; 0 takes any that is free.")
    if max_upload < 1:
        raise CommandError("--max-upload must be a number of megabytes, at least 1.")
    if data is not None and "://" not in data and not Path(data).is_file():
        raise CommandError(f"DATA: there is no file {data!r}: check the path.")
    _refuse_passwords(data, ledger)
    try:
        # by name: pages stand on commands, which must not need them
        import_module("discreet.studio.serving").serve(
            Path.cwd(), data, schema, ledger, port=port, shows=browser,
            max_upload=max_upload * 2**20, tell=partial(_tell_address, as_json),
        )  # fmt: skip
    except OSError as error:
        raise CommandError(
            f"--port: {port} can't be used ({type(error).__name__}): leave it out, or give another one."
        ) from None


def _refuse_passwords(data: str | None, ledger: str | None) -> None:
    """Addresses stand on pages, in the shown Python and in the desk's files: they must hold no password."""
    has_password = import_module("discreet.studio.places").has_password
    for name, place in (("DATA", data), ("--ledger", ledger)):
        if place is not None and "://" in place and has_password(place):
            raise CommandError(
                f"{name}: leave the password out, since pages and files of the studio show the address: "
                "PostgreSQL finds it in ~/.pgpass or in PGPASSWORD."
            )


def _tell_address(as_json: bool, address: str) -> None:
    if as_json:
        print_lines(json.dumps({"address": address}))
    tell(f"the studio is at {address}\nCtrl-C ends it", quiet=as_json)
