"""``discreet claims``: the table of guarantees."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import common
from discreet.cli.outcome import CommandError

if TYPE_CHECKING:
    from discreet.guarantees import Claim

__all__ = ["add_claims"]


class Status(StrEnum):
    """What is known about a claim."""

    proved = "proved"
    assumed = "assumed"
    refuted = "refuted"


def add_claims(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(rich_markup_mode=None)
    commands.callback(invoke_without_command=True)(claims)
    commands.command("show")(show)
    app.add_typer(commands, name="claims", short_help="The guarantees, with their proofs.")


def claims(
    context: typer.Context,
    status: Annotated[Status | None, typer.Option(help="Only these.")] = None,
    as_json: common.Json = False,
) -> None:
    """The guarantees: what is claimed, on what proof, with which status.

    \b
    Examples:
      discreet claims --status refuted
      discreet claims show discrete-laplace
    """
    if context.invoked_subcommand is None:
        _list(None if status is None else status.value, as_json)


def show(
    name: Annotated[str, typer.Argument(help="The name of a claim.")],
    as_json: common.Json = False,
) -> None:
    """Print all about one claim.

    \b
    Examples:
      discreet claims show discrete-laplace
    """
    _show(name, as_json)


def _list(status: str | None, as_json: bool) -> None:
    from dataclasses import asdict

    from discreet.cli.tables import table
    from discreet.guarantees import all_claims

    chosen = [entry for entry in all_claims() if status in (None, entry.status)]
    if as_json:
        text = json.dumps([asdict(entry) for entry in chosen], indent=1, ensure_ascii=False)
    else:
        rows = [(c.name, c.status, c.measure, c.statement) for c in chosen]
        text = table(("claim", "status", "measure", "statement"), rows)
        counts = ", ".join(
            f"{sum(c.status == s for c in chosen)} {s}" for s in ("proved", "assumed", "refuted")
        )
        text += (
            f"\n\n{len(chosen)} claims: {counts}. `discreet claims show NAME` tells all about one."
        )
    sys.stdout.write(text + "\n")


def _show(name: str, as_json: bool) -> None:
    from dataclasses import asdict

    from discreet.guarantees.dossiers import rests_on

    entry = _find_claim(name)
    if as_json:
        sys.stdout.write(json.dumps(asdict(entry), indent=1, ensure_ascii=False) + "\n")
        return
    lines = [
        f"{entry.name} ({entry.status})",
        f"  statement  {entry.statement}",
        f"  unit       {entry.unit}",
        f"  measure    {entry.measure}",
        f"  source     {entry.source}",
        f"  proof      docs/proofs/{entry.proof}",
        f"  audit      discreet audit {entry.audit}",
    ]
    if entry.repair:
        lines.append(f"  repair     {entry.repair}")
    lines += [f"  code       {function}" for function in entry.functions]
    lines.append(f"  rests on   {', '.join(rests_on(entry.name))}")
    sys.stdout.write("\n".join(lines) + "\n")


def _find_claim(name: str) -> Claim:
    from difflib import get_close_matches

    from discreet.guarantees import all_claims, claim

    try:
        return claim(name)
    except KeyError as error:
        near = get_close_matches(name, [entry.name for entry in all_claims()], 3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise CommandError(f"{error.args[0]}{hint}") from None
