"""Visit everything, print a line for each visit, and count: what docs/guides/guests.md shows.

    python tests/guests/guest_visits.py [mechanisms] [releases] [askings] [fits]

Lines are printed as visits end. The code is 1 if a claim is violated or a guest is blind.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from asking_subjects import all_asked
from door_subjects import RELEASES, subject_for
from estimator_subjects import all_fits
from mechanism_subjects import all_mechanisms
from subject import GUESTS, Subject, Visit, visit_until_seen


def releases() -> Iterator[Subject]:
    """Those that are not refused, and that somebody can move."""
    yield from filter(None, (subject_for(*release) for release in RELEASES))


KINDS = {
    "mechanisms": all_mechanisms,
    "releases": releases,
    "askings": all_asked,
    "fits": all_fits,
}


def summarise(kind: str, visits: list[Visit]) -> str:
    """How many visits, violations and blind guests there were, and how near guests came."""
    parts = [f"{kind}: {len(visits)} visits, {sum(bool(v.violations) for v in visits)} violations"]
    for guest in GUESTS:
        shares = sorted(
            max(f.floor / f.epsilon for f in visit.honest if f.guest == guest and f.epsilon > 0)
            for visit in visits
        )
        blind = sum(guest in visit.blind for visit in visits)
        middle = shares[len(shares) // 2]
        parts.append(f"{guest} blind in {blind}, median floor {middle:.2f} of the claim")
    return "; ".join(parts)


def main(kinds: list[str]) -> int:
    """Visit these kinds; all without any."""
    bad = 0
    for kind in kinds or KINDS:
        visits = []
        for subject in KINDS[kind]():
            start = time.process_time()
            found = visit_until_seen(subject)
            seconds = time.process_time() - start
            visits.append(found)
            bad += bool(found.violations or found.blind)
            state = "violated" if found.violations else f"blind {found.blind}"
            state = state if found.violations or found.blind else "good"
            print(f"{kind}\t{state}\t{seconds:.1f} s\t{subject}\t{found}", flush=True)  # noqa: T201
        print(summarise(kind, visits), flush=True)  # noqa: T201
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
