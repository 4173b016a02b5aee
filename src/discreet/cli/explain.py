"""``discreet audit --explain``: claims with what attacks on them find and notice."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.cli import FOUND, CommandError

if TYPE_CHECKING:
    from discreet.guarantees import Claim
    from discreet.guarantees.findings import Finding

__all__ = ["measured", "read", "write"]


def measured(task: tuple[Claim, float, float]) -> list[Finding]:
    """All findings about one claim; runs in a worker."""
    from discreet.guarantees import all_attacks
    from discreet.guarantees.findings import find

    entry, confidence, effort = task
    return find(entry, all_attacks()[entry.audit], confidence, effort=effort)


def read(path: str) -> list[Finding]:
    """Findings of an earlier run."""
    from discreet.guarantees.findings import Finding

    try:
        with open(path, encoding="utf-8") as lines:
            return [Finding.from_dict(json.loads(line)) for line in lines if line.strip()]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise CommandError(
            f"--from: {path} can't be read as findings ({type(error).__name__}); "
            "write it with --explain --json."
        ) from None


def write(chosen: Sequence[Claim], found: list[Finding], arguments: argparse.Namespace) -> int:
    """Print findings; the code says whether all verdicts are as stated."""
    from discreet.guarantees.findings import explain, render_page

    if arguments.json:
        text = "".join(json.dumps(one.to_dict(), ensure_ascii=False) + "\n" for one in found)
    elif arguments.markdown:
        text = render_page(chosen, found)
    else:
        parts = [explain(c, [one for one in found if one.claim == c.name]) for c in chosen]
        text = "\n\n".join(parts) + "\n"
    sys.stdout.write(text)
    violated = {one.claim for one in found if one.verdict == "violated"}
    known = {one.claim for one in found}
    wrong = [
        c for c in chosen if c.name in known and (c.name in violated) != (c.status == "refuted")
    ]
    return FOUND if wrong or (len(chosen) == 1 and violated) else 0
