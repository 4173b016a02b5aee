"""``discreet claims``: the table of guarantees."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from discreet.cli import CommandError

if TYPE_CHECKING:
    from discreet.guarantees import Claim

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("--status", choices=["proved", "assumed", "refuted"], help="only these")
    parser.add_argument("--json", action="store_true", help="everything about them, as JSON")
    acts = parser.add_subparsers(dest="act", metavar="ACT")
    show = acts.add_parser("show", help="all about one claim")
    show.add_argument("name")


def run(arguments: argparse.Namespace) -> int:
    """Print all claims, or one."""
    if arguments.act == "show":
        return _show(arguments.name)
    return _list(arguments.status, arguments.json)


def _list(status: str | None, as_json: bool) -> int:
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
    return 0


def _show(name: str) -> int:
    from discreet.guarantees.dossiers import rests_on

    entry = _find_claim(name)
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
    return 0


def _find_claim(name: str) -> Claim:
    from discreet.guarantees import claim

    try:
        return claim(name)
    except KeyError as error:
        raise CommandError(str(error.args[0])) from None
