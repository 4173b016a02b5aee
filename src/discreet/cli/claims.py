"""``discreet claims``: the table of guarantees, and the record of looks at their code."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from discreet.cli import FOUND, CommandError

if TYPE_CHECKING:
    from discreet.claims import Claim

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("--status", choices=["proved", "assumed", "refuted"], help="only these")
    parser.add_argument("--json", action="store_true", help="everything about them, as JSON")
    acts = parser.add_subparsers(dest="act", metavar="ACT")
    show = acts.add_parser("show", help="all about one claim")
    show.add_argument("name")
    acts.add_parser("check", help="is the code as it was when the claims were looked at?")
    accept = acts.add_parser("accept", help="record that changed code was compared with its proof")
    accept.add_argument("name", nargs="+", help="the claim; several may be given")
    accept.add_argument("--why", required=True, help="what changed and why the proof still holds")


def run(arguments: argparse.Namespace) -> int:
    """Print, check or accept."""
    if arguments.act == "check":
        return _check()
    if arguments.act == "accept":
        return _accept(arguments.name, arguments.why)
    if arguments.act == "show":
        return _show(arguments.name)
    return _list(arguments.status, arguments.json)


def _list(status: str | None, as_json: bool) -> int:
    from dataclasses import asdict

    from discreet.claims import all_claims
    from discreet.cli.tables import table

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
    entry = _known(name)
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
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _check() -> int:
    from discreet.claims.fingerprints import changes

    found = list(changes())
    for change in found:
        sys.stdout.write(f"{change}\n")
    if found:
        sys.stdout.write(
            "Compare the code with the proof page, then record the look: "
            'discreet claims accept NAME --why "…"\n'
        )
    return FOUND if found else 0


def _accept(names: list[str], why: str) -> int:
    from discreet.claims.fingerprints import accept

    for name in names:
        try:
            accept(name, why)
        except (KeyError, ValueError) as error:
            raise CommandError(str(error.args[0])) from None
        sys.stdout.write(f"{name}: recorded.\n")
    return 0


def _known(name: str) -> Claim:
    from discreet.claims import claim

    try:
        return claim(name)
    except KeyError as error:
        raise CommandError(str(error.args[0])) from None
