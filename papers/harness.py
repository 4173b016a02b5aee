"""What the reproductions share: runs that are kept as they are made, summaries, tables in a README.

An experiment is a function of a setting and a seed that returns numbers. Each run is a line on disk before
the next begins, so a run that is stopped, even by SIGKILL, goes on where it was.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from freshness import Check, check_experiment, report
from joblib import Parallel, delayed
from sizes import QUICK, choose_size, set_size
from summaries import Numbers, Summary, markdown, summarise

__all__ = ["DATA", "Experiment", "Study", "Summary", "choose_size", "markdown", "seed_of"]

#: Where the real tables are.
DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[2] / "shared" / "data"))

#: How to get what isn't in every environment.
ADVICE = {
    "torch": "pip install -e '.[torch]'",
    "matplotlib": "pip install -e '.[report]'",
    "segno": "pip install -e '.[imaging]'",
    "zxingcpp": "pip install -e '.[imaging]'",
}

#: Runs of a setting that are made again to check its figures.
MOST_CHECKED = 40

Setting = tuple[Any, ...]
Make = Callable[["Study"], str]


@dataclass(frozen=True)
class Experiment:
    """A function of a setting and a seed, its settings, how often each is run, and what it needs."""

    name: str
    run: Callable[..., Numbers]
    settings: tuple[Setting, ...]
    repeats: int
    quick: int
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """What it needs and isn't here: packages, and files of the data folder."""
        return [
            name
            for name in self.needs
            if not ((DATA / name).exists() if "." in name or "/" in name else find_spec(name))
        ]


@dataclass(frozen=True)
class Table:
    """A table, and the experiments that it shows."""

    make: Callable[[Study], str]
    needs: tuple[str, ...]


@dataclass
class Study:
    """The experiments of one document.

    Parameters
    ----------
    folder : Path
        Where `published.json`, `results.json` and `README.md` are.
    """

    folder: Path
    experiments: dict[str, Experiment] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    figures: list[Callable[[Study], None]] = field(default_factory=list)
    found: dict[str, dict[str, dict[str, Summary]]] = field(default_factory=dict)

    def experiment(
        self, *grid: Iterable[Any], repeats: int, quick: int = 2, needs: Iterable[str] = ()
    ) -> Callable[[Callable[..., Numbers]], Callable[..., Numbers]]:
        """Register a function of ``(*setting, seed)``, to be run on the product of the grid.

        It is left out, and said to be, where a package or a file that it `needs` isn't here.
        """

        def add(run: Callable[..., Numbers]) -> Callable[..., Numbers]:
            name = run.__name__.replace("_", "-")
            settings = tuple(product(*(tuple(part) for part in grid)))
            self.experiments[name] = Experiment(name, run, settings, repeats, quick, tuple(needs))
            return run

        return add

    def table(self, *needs: str) -> Callable[[Make], Make]:
        """Register a table of these experiments, which the README shows between its marks."""

        def add(make: Make) -> Make:
            self.tables[make.__name__.replace("_", "-")] = Table(make, needs)
            return make

        return add

    def figure(self, draw: Callable[[Study], None]) -> Callable[[Study], None]:
        """Register a picture; it is drawn after a full run."""
        self.figures.append(draw)
        return draw

    @property
    def published(self) -> dict[str, Any]:
        """The document's own figures."""
        found: dict[str, Any] = json.loads((self.folder / "published.json").read_text("utf-8"))
        return found

    def get(self, name: str, *setting: Any) -> dict[str, Summary]:
        """The summaries of one setting."""
        return self.found[name][label(setting)]

    # -- running

    def run(
        self, names: Iterable[str], *, quick: bool, jobs: int, kept: Path, most: int | None = None
    ) -> list[str]:
        """Run what isn't kept yet, at most `most` repetitions, and summarise everything.

        Returns
        -------
        list of str
            The experiments that were left out for lack of what they need.
        """
        kept.mkdir(parents=True, exist_ok=True)
        absent = []
        for name in names:
            experiment = self.experiments[name]
            if lacking := experiment.missing:
                print(
                    f"{name} is left out: {', '.join(lacking)} isn't here. {advise(lacking)}",
                    flush=True,
                )
                absent.append(name)
                continue
            repeats = experiment.quick if quick else min(experiment.repeats, most or sys.maxsize)
            path = kept / f"{name}.jsonl"
            done = read_runs(path)
            tasks = [
                (setting, seed)
                for seed in range(repeats)
                for setting in experiment.settings
                if (label(setting), seed) not in done
            ]
            self._run_tasks(experiment, tasks, jobs, path)
            self._summarise(experiment, read_runs(path), repeats)
        return absent

    def take_up(self, names: Iterable[str], kept: Path) -> list[str]:
        """Summarise the repetitions that are complete in the runs on disk; run nothing.

        Returns
        -------
        list of str
            The experiments without a complete repetition.
        """
        absent = []
        for name in names:
            experiment, runs = self.experiments[name], read_runs(kept / f"{name}.jsonl")
            settings = [label(setting) for setting in experiment.settings]
            whole = 0
            while all((setting, whole) in runs for setting in settings):
                whole += 1
            if whole:
                self._summarise(experiment, runs, whole)
            else:
                absent.append(name)
        return absent

    def _summarise(
        self, experiment: Experiment, runs: dict[tuple[str, int], Numbers], repeats: int
    ) -> None:
        self.found[experiment.name] = {
            label(setting): summarise(runs[label(setting), seed] for seed in range(repeats))
            for setting in experiment.settings
        }

    def _run_tasks(
        self, experiment: Experiment, tasks: list[tuple[Setting, int]], jobs: int, path: Path
    ) -> None:
        begun = time.monotonic()
        results = Parallel(jobs, return_as="generator_unordered")(
            delayed(run_task)(experiment.run, setting, seed) for setting, seed in tasks
        )
        with path.open("a", encoding="utf-8") as file:
            for number, (setting, seed, numbers) in enumerate(results, 1):
                line = {"setting": label(setting), "seed": seed, "numbers": numbers}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
                left = (time.monotonic() - begun) * (len(tasks) / number - 1)
                show_progress(experiment.name, number, len(tasks), left)

    def check(self, names: Iterable[str], *, seconds: float, runs: int) -> Check:
        """Run first seeds of what has kept results again, and say which figures the code no longer gives."""
        whole = Check()
        for name in names:
            experiment, kept = self.experiments[name], self.found.get(name, {})
            if lacking := experiment.missing:
                whole.notes.append(f"{name} is left out: {', '.join(lacking)} isn't here.")
                continue
            settings = {label(setting): setting for setting in experiment.settings}
            found = check_experiment(
                name, experiment.run, settings, kept, seconds=seconds, runs=runs
            )
            whole.compared += found.compared
            whole.stale += found.stale
            whole.notes += found.notes
        return whole

    # -- results

    def read(self) -> None:
        """Take up the summaries of ``results.json``."""
        stored = json.loads((self.folder / "results.json").read_text("utf-8"))
        self.found = {
            name: {
                setting: {key: Summary(**summary) for key, summary in numbers.items()}
                for setting, numbers in settings.items()
            }
            for name, settings in stored.items()
        }

    def write(self) -> None:
        """Write ``results.json``, the pictures, and the tables of the README."""
        stored = {
            name: {
                setting: {key: vars(summary) for key, summary in numbers.items()}
                for setting, numbers in settings.items()
            }
            for name, settings in self.found.items()
        }
        path = self.folder / "results.json"
        path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")
        for draw in self.figures:
            draw(self)
        readme = self.folder / "README.md"
        readme.write_text(self.fill(readme.read_text("utf-8")), "utf-8")

    def fill(self, text: str) -> str:
        """The text with every table between its marks made again."""
        for name, table in self.tables.items():
            marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
            pattern = re.compile(f"{re.escape(marks[0])}.*?{re.escape(marks[1])}", re.DOTALL)
            if not pattern.search(text):
                raise ValueError(f"README.md has no place for the table {name}: write {marks}.")
            lacking = [need for need in table.needs if need not in self.found]
            shown = (
                f"*Not run yet: `run.py {' '.join(lacking)} --merge`.*"
                if lacking
                else table.make(self)
            )
            body = f"{marks[0]}\n{shown}\n{marks[1]}"
            text = pattern.sub(lambda _, body=body: body, text)
        return text

    def main(self, arguments: list[str] | None = None) -> None:
        """The command line of a document's ``run.py``."""
        parser = argparse.ArgumentParser(description=f"Reproduce {self.folder.name}.")
        parser.add_argument("experiments", nargs="*", help=", ".join(self.experiments))
        parser.add_argument("--quick", action="store_true", help="few repetitions, nothing written")
        parser.add_argument(
            "--report", action="store_true", help="print the results that are there"
        )
        parser.add_argument("--repeats", type=int, help="at most so many repetitions")
        parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
        parser.add_argument(
            "--kept", action="store_true", help="write what the runs on disk say; run nothing"
        )
        parser.add_argument(
            "--merge",
            action="store_true",
            help="write named experiments beside the results there are",
        )
        parser.add_argument("--again", action="store_true", help="forget the runs that are kept")
        parser.add_argument(
            "--check",
            action="store_true",
            help="run first seeds again, and fail if kept figures aren't those of this code",
        )
        parser.add_argument(
            "--seconds", type=float, default=20, help="for each experiment that is checked"
        )
        given = parser.parse_args(arguments)
        if unknown := sorted(set(given.experiments) - set(self.experiments)):
            sys.exit(
                f"no experiment is called {unknown[0]!r}; there are {', '.join(self.experiments)}."
            )
        names = given.experiments or list(self.experiments)
        if given.check:
            self.read()
            found = self.check(names, seconds=given.seconds, runs=MOST_CHECKED)
            print(report(found))
            sys.exit(bool(found.stale))
        if given.report:
            self.read()
        elif given.quick:
            set_size(QUICK)
            with tempfile.TemporaryDirectory() as folder:
                self.run(names, quick=True, jobs=given.jobs, kept=Path(folder))
        else:
            self._run_fully(names, given)
        for name, table in self.tables.items():
            if set(table.needs) <= set(self.found):
                print(f"\n{name}\n\n{table.make(self)}")

    def _run_fully(self, names: list[str], given: argparse.Namespace) -> None:
        """Run with files; results and pictures are written if nothing is missing."""
        kept = self.folder / ".runs"
        for name in names if given.again else ():
            (kept / f"{name}.jsonl").unlink(missing_ok=True)
        if given.merge:
            self.read()  # what is no experiment any longer is left behind
            self.found = {name: self.found[name] for name in self.found if name in self.experiments}
        if given.kept:
            for name in self.take_up(names, kept):
                print(f"{name} has no complete repetition.")
            self.write()
            return
        absent = self.run(names, quick=False, jobs=given.jobs, kept=kept, most=given.repeats)
        if not absent and set(self.experiments) <= set(self.found):
            self.write()
        else:
            print("results.json and README.md stay as they are: not everything was run.")


def advise(lacking: Iterable[str]) -> str:
    """How to get packages and tables that aren't here."""
    told = {ADVICE.get(name, f"It is looked for in {DATA} (DISCREET_DATA).") for name in lacking}
    return " ".join(sorted(each if each[0].isupper() else f"To run it: {each}." for each in told))


def seed_of(*parts: Any) -> int:
    """A seed that differs between settings, so that they don't share their noise."""
    return int.from_bytes(hashlib.sha256(label(parts).encode()).digest()[:6])


def label(setting: Setting) -> str:
    """A setting in words: its parts, joined."""
    return " / ".join(
        format(part, "g") if isinstance(part, float) else str(part) for part in setting
    )


def run_task(
    run: Callable[..., Numbers], setting: Setting, seed: int
) -> tuple[Setting, int, Numbers]:
    """One repetition, in whatever process it is run."""
    return setting, seed, {name: float(value) for name, value in run(*setting, seed=seed).items()}


def read_runs(path: Path) -> dict[tuple[str, int], Numbers]:
    """The runs on disk; a last line that was cut short is left out."""
    runs: dict[tuple[str, int], Numbers] = {}
    if not path.is_file():
        return runs
    text = path.read_text("utf-8")
    if text and not text.endswith("\n"):
        text = text[: text.rfind("\n") + 1]
        path.write_text(text, "utf-8")
    for line in text.splitlines():
        entry = json.loads(line)
        runs[entry["setting"], entry["seed"]] = entry["numbers"]
    return runs


def show_progress(name: str, number: int, whole: int, left: float) -> None:
    """A line that says how far it is, on a terminal."""
    if sys.stderr.isatty():
        end = "\n" if number == whole else ""
        print(
            f"\r{name}: {number}/{whole}, {left:.0f} s left   ",
            end=end,
            file=sys.stderr,
            flush=True,
        )
