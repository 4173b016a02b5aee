"""A share of the tests that take long, chosen by the commit: over several commits, all of them run."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

#: What people touch, copies weakened by hand, and mutants, which have a share of their own: for every commit.
ALWAYS = (
    "tests/cli/",
    "tests/guarantees/test_weakened.py",
    "tests/meta/test_site_browser.py",
    "tests/mutations/",
    "tests/report/",
    "tests/studio/",
)


def find_commit() -> str:
    """The name of the commit that is checked out; nothing without git."""
    try:
        said = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""


def is_chosen(test: str, commit: str, parts: int) -> bool:
    """Whether a commit's share, one of so many parts, has this test."""
    if test.startswith(ALWAYS):
        return True
    digest = hashlib.sha256(f"{commit} {test}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % parts == 0
