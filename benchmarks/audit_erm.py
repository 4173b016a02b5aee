"""Audits of risk minimisation: each loss, method and unit at three ε, 100 000 runs on each of two tables.

Run ``python benchmarks/audit_erm.py`` (minutes on one core). Tables have two or three rows of one feature. A
floor is what ε is at least, with a confidence of 99.99 %; far below the claim it only says that these
neighbours are not the worst ones, which the exact distributions and densities of ``discreet audit
objective-perturbation`` look for. Then the same with half the noise, on neighbours that show it. The exit
status is the number of rows that are not as they should be.
"""

from __future__ import annotations

import sys

from discreet.guarantees.erm import attacks as erm
from discreet.measures import PureDP

TRIALS, HALF_TRIALS, CONFIDENCE = 100_000, 20_000, 0.9999

wrong = 0


def show(title: str, claimed: float, floor: float, violated: bool, wanted: bool) -> None:
    """Print a row of the table."""
    global wrong
    wrong += violated != wanted
    words = "violated" if violated else "consistent"
    print(f"{title:108} {claimed:6.2f} {floor:7.3f} {words}", flush=True)


if __name__ == "__main__":
    for case in erm.whole_grid(TRIALS):
        found = case.run(CONFIDENCE)
        show(found.title, found.claimed, found.floor, found.is_violated, wanted=False)
    for name in erm.LOSSES:
        options = (name, erm.UNITS[1], PureDP(4), HALF_TRIALS, 2, "output")
        found = erm.steep_case(*options).run(CONFIDENCE)
        title = f"half the noise: {found.title}"
        show(title, found.claimed, found.floor, found.is_violated, wanted=True)
        for unit in erm.UNITS:
            found = erm.steep_case(name, unit, PureDP(4), HALF_TRIALS, 2).run(CONFIDENCE)
            title = f"half the noise: {found.title}"
            show(title, found.claimed, found.floor, found.is_violated, wanted=True)
    sys.exit(wrong)
