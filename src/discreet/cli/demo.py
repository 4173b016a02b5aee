"""``discreet demo``: a tour on a table that ships with scikit-learn."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext, redirect_stdout
from typing import Annotated

import typer

from discreet.cli import common
from discreet.cli.printing import check_out, print_lines

__all__ = ["add_demo"]


def add_demo(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", short_help="A tour on a real table, explained as it goes.")(demo)


def demo(
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", help="Where to write the report, an .html file; a new folder else."
        ),
    ] = None,
    force: common.Force = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print where the report is as JSON, the tour beside it.")
    ] = False,
) -> None:
    """A tour on a real table: schema, ledger, answers, a model, an audit and a report, explained as it goes.

    \b
    Examples:
      discreet demo
      discreet demo --out demo.html
    """
    check_out(out, force, (".html",))
    from discreet.demo import main

    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        path = main(out)
    if as_json:
        print_lines(json.dumps({"report": str(path)}))
