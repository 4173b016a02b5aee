"""Run the mutants, and say how they fared.

    python tests/mutations/mutation_suite.py run                       all of them, about half an hour
    python tests/mutations/mutation_suite.py run --only 'discreet.noise.*'
    python tests/mutations/mutation_suite.py run --tenth SEED --seconds 200
    python tests/mutations/mutation_suite.py run --record docs/mutants.json   counts of topics run in whole
    python tests/mutations/mutation_suite.py table                     the record, as Markdown
    python tests/mutations/mutation_suite.py missing                   sites without lines, and the reverse
    python tests/mutations/mutation_suite.py find                      tests that catch what is open, if any

A run ends with 1 if a copy gets past one of its killers, or a killer fails on the code as it is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "src"), str(ROOT / "tests")]

from mutation_data import Mutant, all_mutants, compare, sites_to_list  # noqa: E402
from mutation_runs import Runner, with_runner  # noqa: E402
from mutation_search import FOLDERS, find_killer, read_reached, write_reached  # noqa: E402
from mutation_sites import Site  # noqa: E402

RECORD = ROOT / "docs" / "mutants.json"
COLUMNS = ("tried", "killed", "equivalent", "open")


def chosen(mutants: list[Mutant], seed: str) -> list[Mutant]:
    """A tenth of the mutants, by a hash of each with the seed, in an order of that hash."""

    def number(mutant: Mutant) -> int:
        return int.from_bytes(hashlib.sha256(f"{seed} {mutant.site}".encode()).digest()[:8])

    return sorted((m for m in mutants if number(m) % 10 == 0), key=number)


#: A copy that takes so many seconds, and so many times as long as the code as it is, hangs: that is seen.
PATIENCE = 20.0, 10.0


class Suite:
    """Runs mutants against their killers, each killer first against the code as it is."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._alone: dict[str, float] = {}
        self.killed: list[Mutant] = []
        self.wrong: list[str] = []

    def run(self, mutants: list[Mutant], seconds: float) -> None:
        """Run mutants in turn, until the time is over."""
        end = time.monotonic() + seconds
        for number, mutant in enumerate(mutants, 1):
            if time.monotonic() > end:
                break
            start = time.monotonic()
            past = [said for killer in mutant.killers if (said := self._gets_past(mutant, killer))]
            if past:
                self.wrong.append(f"{mutant.site} gets past {', '.join(past)}")
            else:
                self.killed.append(mutant)
            took = time.monotonic() - start
            sys.stdout.write(f"{number}/{len(mutants)} {took:.1f} s {mutant.site}\n")
            sys.stdout.flush()

    def _gets_past(self, mutant: Mutant, killer: str) -> str:
        if killer not in self._alone:  # what fails without a mutant catches nothing
            alone = self._runner.run(None, [killer], limit=600.0)
            self._alone[killer] = alone.seconds
            if alone.killer or alone.how:
                self.wrong.append(f"{killer} fails on the code as it is: {alone.how}")
        limit = max(PATIENCE[0], PATIENCE[1] * self._alone[killer])
        found = self._runner.run(mutant.site, [killer], limit=limit)
        return "" if found.killer or found.how == "hangs" else f"{killer} {found.how}".strip()


def counts(mutants: list[Mutant], killed: list[Mutant]) -> dict[str, dict[str, int]]:
    """By topic: how many were tried, killed, are equivalent, or still open."""
    table: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    for mutant in mutants:
        row = table[mutant.site.topic]
        row["tried"] += bool(mutant.killers)
        row["equivalent"] += bool(mutant.equivalent)
        row["open"] += bool(mutant.open)
    for mutant in killed:
        table[mutant.site.topic]["killed"] += 1
    return dict(sorted(table.items()))


def merge(record: Path, table: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """The record with what a run has found; topics that it did not run in whole stay as they were."""
    old = json.loads(record.read_text("utf-8")) if record.exists() else {}
    whole = {topic: row for topic, row in table.items() if row["killed"] == row["tried"]}
    kept = {topic: row for topic, row in old.items() if topic in table and topic not in whole}
    return dict(sorted({**kept, **whole}.items()))


def as_markdown(table: dict[str, dict[str, int]]) -> str:
    """The record as a table, with a line for all topics together."""
    lines = [f"| topic | {' | '.join(COLUMNS)} |", f"| --- |{' ---: |' * len(COLUMNS)}"]
    lines += [f"| {t} | {' | '.join(str(row[c]) for c in COLUMNS)} |" for t, row in table.items()]
    total = [str(sum(row[c] for row in table.values())) for c in COLUMNS]
    return "\n".join([*lines, f"| **all** | {' | '.join(total)} |"])


def find(sites: list[Site], reached: Path, folders: list[str]) -> None:
    """Print a line for each site, with a test that catches its copy, to be judged by a person."""
    if not reached.exists():
        write_reached(sites, reached, folders)
    tests = read_reached(reached)

    def act(runner: Runner) -> None:
        for site in sites:
            sys.stdout.write(f"{site} | {find_killer(runner, site, tests)}\n")
            sys.stdout.flush()

    with_runner({name for site in sites for name in tests.get(str(site), ())}, act)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0 if nothing got past."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["run", "table", "missing", "find"])
    parser.add_argument("--only", default="*", help="sites, as module:function with *")
    parser.add_argument("--tenth", default="", help="a seed that chooses a tenth of them")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--record", type=Path, help="write the counts by topic, as JSON")
    parser.add_argument("--folders", nargs="*", default=FOLDERS, help="tests to choose from")
    parser.add_argument("--reached", type=Path, default=Path("reached.jsonl"), help="kept by find")
    options = parser.parse_args(arguments)
    if options.command == "table":
        sys.stdout.write(as_markdown(json.loads(RECORD.read_text("utf-8"))) + "\n")
        return 0
    found, lacking, gone = compare(sites_to_list(), all_mutants())
    if options.command == "missing":
        sys.stdout.write("".join(f"{site} | \n" for site in lacking))
        sys.stdout.write("".join(f"# speaks of nothing: {one.site}\n" for one in gone))
        return 0
    names = {m: f"{m.site.module}:{m.site.function}" for m in found}
    mutants = [m for m in found if fnmatchcase(names[m], options.only)]
    if options.command == "find":
        find([*lacking, *(m.site for m in mutants if m.open)], options.reached, options.folders)
        return 0
    mutants = [m for m in mutants if m.killers]
    if options.tenth:
        mutants = chosen(mutants, options.tenth)
    suites: list[Suite] = []

    def act(runner: Runner) -> None:
        suites.append(Suite(runner))
        suites[0].run(mutants, options.seconds)

    with_runner({killer for mutant in mutants for killer in mutant.killers}, act)
    killed, wrong = suites[0].killed, suites[0].wrong
    sys.stdout.write("".join(f"WRONG {line}\n" for line in wrong))
    sys.stdout.write(f"{len(killed)} of {len(mutants)} copies were caught\n")
    if options.record is not None and not wrong:
        text = json.dumps(merge(options.record, counts(found, killed)), indent=1)
        options.record.write_text(text + "\n", "utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
