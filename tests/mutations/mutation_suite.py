"""Run the mutants, and say how they fared.

    python tests/mutations/mutation_suite.py run                       all of them, about half an hour
    python tests/mutations/mutation_suite.py run --only 'discreet.noise.*'
    python tests/mutations/mutation_suite.py run --tenth SEED --seconds 200
    python tests/mutations/mutation_suite.py run --record docs/mutants.json
    python tests/mutations/mutation_suite.py table                     the record, as Markdown
    python tests/mutations/mutation_suite.py missing                   lines to add, for sites that lack one

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

RECORD = ROOT / "docs" / "mutants.json"
COLUMNS = ("tried", "killed", "equivalent", "open")


def chosen(mutants: list[Mutant], seed: str) -> list[Mutant]:
    """A tenth of the mutants, by a hash of each with the seed, in an order of that hash."""

    def number(mutant: Mutant) -> int:
        return int.from_bytes(hashlib.sha256(f"{seed} {mutant.site}".encode()).digest()[:8])

    return sorted((m for m in mutants if number(m) % 10 == 0), key=number)


def run_all(
    runner: Runner, mutants: list[Mutant], seconds: float
) -> tuple[list[Mutant], list[str]]:
    """The mutants that every killer of theirs caught, and what went wrong with others."""
    killed, wrong = [], []
    end = time.monotonic() + seconds
    fine: dict[str, bool] = {}
    for number, mutant in enumerate(mutants, 1):
        if time.monotonic() > end:
            break
        for killer in mutant.killers:
            if killer not in fine:  # what fails without a mutant catches nothing
                alone = runner.run(None, [killer])
                fine[killer] = not alone.killer and not alone.how
                if not fine[killer]:
                    wrong.append(f"{killer} fails on the code as it is: {alone.how}")
        found = [runner.run(mutant.site, [killer]) for killer in mutant.killers]
        caught = [one.killer != "" or one.how == "hangs" for one in found]
        sys.stdout.write(f"{number}/{len(mutants)} {found[0].seconds:.1f} s {mutant.site}\n")
        sys.stdout.flush()
        if all(caught):
            killed.append(mutant)
        else:
            past = [k for k, ok in zip(mutant.killers, caught, strict=True) if not ok]
            wrong.append(
                f"{mutant.site} gets past {', '.join(past)} ({found[caught.index(False)].how})"
            )
    return killed, wrong


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


def as_markdown(table: dict[str, dict[str, int]]) -> str:
    """The record as a table, with a line for all topics together."""
    lines = [f"| topic | {' | '.join(COLUMNS)} |", f"| --- |{' ---: |' * len(COLUMNS)}"]
    lines += [f"| {t} | {' | '.join(str(row[c]) for c in COLUMNS)} |" for t, row in table.items()]
    total = [str(sum(row[c] for row in table.values())) for c in COLUMNS]
    return "\n".join([*lines, f"| **all** | {' | '.join(total)} |"])


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0 if nothing got past."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["run", "table", "missing"])
    parser.add_argument("--only", default="*", help="sites, as module:function with *")
    parser.add_argument("--tenth", default="", help="a seed that chooses a tenth of them")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--record", type=Path, help="write the counts by topic, as JSON")
    options = parser.parse_args(arguments)
    if options.command == "table":
        sys.stdout.write(as_markdown(json.loads(RECORD.read_text("utf-8"))) + "\n")
        return 0
    found, lacking, _ = compare(sites_to_list(), all_mutants())
    if options.command == "missing":
        sys.stdout.write("".join(f"{site} | \n" for site in lacking))
        return 0
    names = {m: f"{m.site.module}:{m.site.function}" for m in found}
    mutants = [m for m in found if m.killers and fnmatchcase(names[m], options.only)]
    if options.tenth:
        mutants = chosen(mutants, options.tenth)
    results: list[tuple[list[Mutant], list[str]]] = []
    with_runner(
        {killer for mutant in mutants for killer in mutant.killers},
        lambda runner: results.append(run_all(runner, mutants, options.seconds)),
    )
    killed, wrong = results[0]
    sys.stdout.write("".join(f"WRONG {line}\n" for line in wrong))
    sys.stdout.write(f"{len(killed)} of {len(mutants)} copies were caught\n")
    if options.record is not None and not wrong:
        text = json.dumps(counts(found, killed), indent=1)
        options.record.write_text(text + "\n", "utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
