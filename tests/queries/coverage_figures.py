"""What each kind of interval covered in one run of the tests: the figures of docs/proofs/answers.md."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

__all__ = ["Figures"]


class Case(NamedTuple):
    share: float
    rows: int
    is_bounded: bool
    what: str


class Figures:
    """Collects coverages by kind and number of samples; shows the smallest and the largest as a table."""

    def __init__(self, few_rows, bar):
        self._few_rows, self._bar = few_rows, bar
        self._cases = defaultdict(list)

    def add(self, kind, samples, share, rows, *what, is_bounded=False):
        """Note a coverage; `is_bounded` says that it shall not be too large, either."""
        told = ", ".join(map(str, (rows, *what)))
        self._cases[kind, samples].append(Case(float(share), rows, is_bounded, told))
        return share

    def show(self):
        """One line for each kind, then all that was covered more often than the bar though bounded."""
        lines = ["| kind | samples | cases | smallest | few rows | largest | n·ε ≥ 50 |"]
        lines.append(7 * "| --- " + "|")
        over = []
        for (kind, samples), cases in self._cases.items():
            few = [case for case in cases if case.rows <= self._few_rows]
            bounded = [case for case in cases if case.is_bounded]
            cells = [
                kind,
                str(samples),
                str(len(cases)),
                _tell(min(cases)),
                _tell(min(few, default=None)),
            ]
            cells += [f"{max(cases).share:.4f}", _tell(max(bounded, default=None))]
            lines.append("| " + " | ".join(cells) + " |")
            over += [f"{kind}: {_tell(case)}" for case in sorted(bounded) if case.share > self._bar]
        return "\n".join([*lines, f"above {self._bar}, n·ε ≥ 50:", *over])


def _tell(case):
    return "" if case is None else f"{case.share:.4f} ({case.what})"
