"""The benchmark page: run all contestants on all tables, keep the figures, write the page.

``python benchmarks/page.py`` runs everything (``make bench-page``). Figures are kept in ``figures.json``,
from which ``docs/benchmarks.md`` and the drawings in ``docs/figures`` are made.

- ``--setup-peers FOLDER``: make the environments of the other libraries there, where absent, and use them;
- ``--peers FOLDER``: use them (by default ``DISCREET_PEERS``; without it only ours and scikit-learn run);
- ``--only TABLE``, ``--only TABLE/MODEL``: run a part again, and keep the other figures;
- ``--library NAME``: run one library alone;
- ``--missing``: run what has no figures yet;
- ``--jobs N``: run N tables at a time;
- ``--again``: run nothing but a second measurement of each clear loss of ours (see ``suspects.py``);
- ``--render``: run nothing.
"""

from __future__ import annotations

import argparse
import datetime
import fcntl
import json
import os
import platform
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import peers
from comparing import KEY
from contest import MODULES, TWINS
from metrics import METRICS
from real_tables import TABLES

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
DOCS = HERE.parent / "docs"


def read() -> dict[str, Any]:
    """The figures so far."""
    if FIGURES.exists():
        found: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
        return {"again": [], **found}
    return {"versions": {}, "lines": [], "again": []}


def write(figures: dict[str, Any]) -> None:
    """Keep the figures, a line of text for each line of a table, always in the same order."""
    order = [list(TABLES), list(MODULES)]
    text = json.dumps({"versions": figures["versions"]}, indent=1, ensure_ascii=False)[:-2]
    for name in ("lines", "again"):
        figures[name].sort(
            key=lambda line: (
                order[0].index(line["table"]),
                line["task"],
                order[1].index(line["library"]),
            )
        )
        body = ",\n".join(json.dumps(line, ensure_ascii=False) for line in figures[name])
        text += f',\n "{name}": [\n{body}\n]'
    new = FIGURES.with_suffix(".new")  # whole or not at all, should a run be stopped
    new.write_text(f"{text}}}\n", encoding="utf-8")
    new.replace(FIGURES)


def setup(folder: Path) -> None:
    """Environments of the other libraries, with pinned versions."""
    for library, packages in peers.REQUIREMENTS.items():
        python = peers.python_of(folder, library)
        if not python.exists():
            print(f"installing {library} ...", flush=True)
            venv.create(python.parents[1], with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)


def version(python: Path, library: str) -> str:
    """What is installed there."""
    package = {"interpret": "interpret-core", "OpenDP": "opendp", TWINS: "discreet"}.get(
        library, library
    )
    code = f"from importlib import metadata; print(metadata.version({package!r}))"
    done = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def run(library: str, python: Path, table: str, *options: str) -> Iterator[dict[str, Any]]:
    """The lines of one library on one table, as they come."""
    command = [str(python), str(HERE / "contest.py"), library, table, *options]
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=alone) as running:
        assert running.stdout is not None
        yield from map(json.loads, running.stdout)
    if running.returncode:
        raise RuntimeError(f"{library} on {table} ended with status {running.returncode}.")


def pythons(folder: str | None) -> dict[str, Path]:
    """The interpreter of each library that can run."""
    found = {library: Path(sys.executable) for library in ("discreet", "scikit-learn", TWINS)}
    for library in peers.REQUIREMENTS if folder else ():
        python = peers.python_of(str(folder), library)
        if python.exists():
            found[library] = python
    return found


def measure(
    only: str | None, library: str | None, folder: str | None, missing: bool, jobs: int
) -> list[str]:
    """Run what is asked, keep each line as soon as it is there, and tell what broke."""
    wanted, _, model = (only or "").partition("/")
    if wanted and wanted not in TABLES:
        raise SystemExit(f"--only: no table {wanted!r}; there are {', '.join(TABLES)}.")
    tasks = []
    for table in [wanted] if wanted else list(TABLES):
        if not TABLES[table].is_here():
            print(f"{table} is left out: set DISCREET_DATA to the folder of its files.")
            continue
        options = ["--only", model] if model else []
        tasks.append((table, [(name, options) for name in MODULES if library in (None, name)]))
    return run_tables(tasks, folder, keep, jobs, missing)


def measure_again(folder: str | None, jobs: int) -> list[str]:
    """Measure both sides of each clear loss with fresh seeds, and tell what broke."""
    from suspects import find

    tasks: dict[str, list[tuple[str, list[str]]]] = {}
    for (library, table), lines in find(read()).items():
        if TABLES[table].is_here():
            tasks.setdefault(table, []).append((library, ["--again", json.dumps(lines)]))
    return run_tables(list(tasks.items()), folder, keep_again, jobs)


def run_tables(
    tasks: list[tuple[str, list[tuple[str, list[str]]]]],
    folder: str | None,
    store: Callable[[dict[str, Any], str, int], None],
    jobs: int,
    missing: bool = False,
) -> list[str]:
    """Run the libraries of each table one after the other, and `jobs` tables at a time, largest first."""
    found = pythons(folder)

    def run_table(task: tuple[str, list[tuple[str, list[str]]]]) -> list[str]:
        table, libraries = task
        broken = []
        for name, options in libraries:
            if name not in found:
                continue
            known = _known(table, name) if missing else []
            try:
                installed = version(found[name], name)
                for line in run(name, found[name], table, *options, "--known", json.dumps(known)):
                    store(line, installed, jobs)
                    print(f"{table:11} {name:22} {line['model']}, {line['spent']} s", flush=True)
            except (
                RuntimeError,
                subprocess.CalledProcessError,
            ) as error:  # the others run all the same
                print(error, flush=True)
                broken.append(str(error))
        return broken

    if jobs > 1:
        tasks = sorted(tasks, key=lambda task: TABLES[task[0]].size(), reverse=True)
    with ThreadPoolExecutor(jobs) as pool:
        return [broken for table in pool.map(run_table, tasks) for broken in table]


def _known(table: str, library: str) -> list[list[Any]]:
    """The lines that have all figures."""
    return [
        [line[key] for key in ("model", "task", "columns", "delta")]
        for line in read()["lines"]
        if (line["table"], line["library"]) == (table, library)
        and all(metric in line for metric in METRICS[line["task"]])
    ]


def keep(line: dict[str, Any], installed: str, jobs: int) -> None:
    """Put a line in the place of the one that was there; second measurements of that one go with it."""

    def change(figures: dict[str, Any]) -> None:
        figures["lines"] = [old for old in figures["lines"] if _key(old) != _key(line)] + [line]
        figures["again"] = [old for old in figures["again"] if _key(old) != _key(line)]

    _change(line, installed, jobs, change)


def keep_again(line: dict[str, Any], installed: str, jobs: int) -> None:
    """Put a second measurement beside the first."""

    def change(figures: dict[str, Any]) -> None:
        mine = (*_key(line), line["epsilons"])
        others = [old for old in figures["again"] if (*_key(old), old["epsilons"]) != mine]
        figures["again"] = [*others, line]

    _change(line, installed, jobs, change)


def _change(
    line: dict[str, Any], installed: str, jobs: int, change: Callable[[dict[str, Any]], None]
) -> None:
    """Change the figures under a lock: several runs may go on at a time."""
    line["date"] = datetime.date.today().isoformat()
    if jobs > 1:
        line["jobs"] = jobs
    folder = os.open(HERE, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        figures = read()
        change(figures)
        figures["versions"]["discreet" if line["library"] == TWINS else line["library"]] = installed
        figures["versions"]["Python"] = platform.python_version()
        figures["versions"]["numpy"] = metadata.version("numpy")
        write(figures)
    finally:
        os.close(folder)


def _key(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in KEY)


def render() -> None:
    """Write the page and its drawings from the figures."""
    from drawing import draw
    from rendering import page

    figures = read()
    (DOCS / "figures").mkdir(exist_ok=True)
    (DOCS / "benchmarks.md").write_text(page(figures), encoding="utf-8")
    draw(figures, DOCS / "figures")


def main() -> None:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--setup-peers", metavar="FOLDER", type=Path)
    parser.add_argument("--peers", metavar="FOLDER", default=os.environ.get("DISCREET_PEERS"))
    parser.add_argument("--only", metavar="TABLE[/MODEL]")
    parser.add_argument("--library", choices=list(MODULES))
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--jobs", metavar="N", type=int, default=1)
    parser.add_argument("--render", action="store_true")
    asked = parser.parse_args()
    if asked.setup_peers:
        setup(asked.setup_peers)
        asked.peers = str(asked.setup_peers)
    broken: list[str] = []
    if asked.again:
        broken = measure_again(asked.peers, asked.jobs)
    elif not asked.render:
        broken = measure(asked.only, asked.library, asked.peers, asked.missing, asked.jobs)
    render()
    if broken:
        raise SystemExit("\n".join(broken))


if __name__ == "__main__":
    main()
