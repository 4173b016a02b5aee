"""Audits that a person runs and watches: ``discreet audit`` as a process of its own, line by line."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import Any, final

__all__ = ["Audits", "Watched"]

#: How many are kept to look at.
MAX_KEPT = 50


@final
@dataclass
class Watched:
    """An audit that goes on or went on, with what it has found so far."""

    claim: str
    found: list[dict[str, Any]] = field(default_factory=list)
    code: int | None = None

    @property
    def goes_on(self) -> bool:
        """Whether it is still at work."""
        return self.code is None


@final
class Audits:
    """Audits of this studio; one at a time for each claim."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[str, Watched] = {}

    def find(self, claim: str) -> Watched | None:
        """The last audit of a claim."""
        with self._lock:
            return self._watched.get(claim)

    def list(self) -> dict[str, Watched]:
        """All audits, by claim."""
        with self._lock:
            return dict(self._watched)

    def begin(self, claim: str, effort: float) -> None:
        """Attack a claim, unless that goes on already."""
        with self._lock:
            known = self._watched.get(claim)
            if known is not None and known.goes_on:
                return
            if len(self._watched) >= MAX_KEPT:
                self._watched.pop(next(iter(self._watched)))
            watched = self._watched[claim] = Watched(claim)
        command = [sys.executable, "-m", "discreet", "audit", claim, "--json", "--quiet"]
        command += ["--effort", str(effort)]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        threading.Thread(target=_watch, args=(watched, process), daemon=True).start()


def _watch(watched: Watched, process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            try:
                watched.found.append(json.loads(line))
            except ValueError:
                continue
    watched.code = process.wait()
