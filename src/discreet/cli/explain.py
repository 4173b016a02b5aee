"""``discreet audit --explain``: claims with what attacks on them find and notice."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.cli.outcome import FOUND, CommandError

if TYPE_CHECKING:
    from discreet.cli.audit import Wishes
    from discreet.guarantees import Claim
    from discreet.guarantees.findings import Finding

__all__ = ["measured", "read", "write", "write_lines"]


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


def write_lines(found: Sequence[Finding], arguments: Wishes) -> None:
    """With --json, print findings as soon as there are some: a run that is stopped has told what it found."""
    if arguments.json:
        lines = (json.dumps(one.to_dict(), ensure_ascii=False) + "\n" for one in found)
        sys.stdout.write("".join(lines))
        sys.stdout.flush()


def write(chosen: Sequence[Claim], found: list[Finding], arguments: Wishes) -> int:
    """Print findings, unless lines did; the code says whether all verdicts are as stated."""
    from discreet.guarantees.findings import explain, render_page

    if arguments.markdown:
        sys.stdout.write(render_page(chosen, found))
    elif not arguments.json:
        parts = [explain(c, [one for one in found if one.claim == c.name]) for c in chosen]
        sys.stdout.write("\n\n".join(parts) + "\n")
    violated = {one.claim for one in found if one.verdict == "violated"}
    known = {one.claim for one in found}
    wrong = [
        c for c in chosen if c.name in known and (c.name in violated) != (c.status == "refuted")
    ]
    return FOUND if wrong or (len(chosen) == 1 and violated) else 0
