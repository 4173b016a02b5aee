"""The benchmark page: run all contestants on all tables, keep the figures, write the page.

``python benchmarks/page.py`` runs everything (``make bench-page``). Figures are kept in ``figures.json``,
from which ``docs/benchmarks.md`` and the drawings in ``docs/figures`` are made.

- ``--setup-peers FOLDER``: make the environments of the other libraries there, where absent, and use them;
- ``--peers FOLDER``: use them (by default ``DISCREET_PEERS``; without it only ours and scikit-learn run);
- ``--only TABLE``, ``--only TABLE/MODEL``: run a part again, and keep the other figures;
- ``--library NAME``: run one library alone;
- ``--missing``: run what has no figures yet;
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
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import peers
from contest import MODULES, TWINS
from real_tables import TABLES

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
DOCS = HERE.parent / "docs"
#: What tells a line from another.
KEY = ("table", "task", "library", "model", "columns", "delta")


def read() -> dict[str, Any]:
    """The figures so far."""
    if FIGURES.exists():
        found: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
        return found
    return {"versions": {}, "lines": []}


def write(figures: dict[str, Any]) -> None:
    """Keep the figures, a line of text for each line of a table, always in the same order."""
    order = [list(TABLES), list(MODULES)]
    figures["lines"].sort(
        key=lambda line: (
            order[0].index(line["table"]),
            line["task"],
            order[1].index(line["library"]),
        )
    )
    head = {name: value for name, value in figures.items() if name != "lines"}
    body = ",\n".join(json.dumps(line, ensure_ascii=False) for line in figures["lines"])
    text = json.dumps(head, indent=1, ensure_ascii=False)[:-2]
    new = FIGURES.with_suffix(".new")  # whole or not at all, should a run be stopped
    new.write_text(f'{text},\n "lines": [\n{body}\n]}}\n', encoding="utf-8")
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


def run(
    library: str, python: Path, table: str, model: str | None, known: list[list[Any]]
) -> Iterator[dict[str, Any]]:
    """The lines of one library on one table, as they come."""
    command = [str(python), str(HERE / "contest.py"), library, table, "--known", json.dumps(known)]
    command += ["--only", model] if model else []
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


def measure(only: str | None, library: str | None, folder: str | None, missing: bool) -> None:
    """Run what is asked, and keep each line as soon as it is there."""
    wanted, _, model = (only or "").partition("/")
    if wanted and wanted not in TABLES:
        raise SystemExit(f"--only: no table {wanted!r}; there are {', '.join(TABLES)}.")
    for table in [wanted] if wanted else list(TABLES):
        if not TABLES[table].is_here():
            print(f"{table} is left out: set DISCREET_DATA to the folder of its files.")
            continue
        for name, python in pythons(folder).items():
            if library in (None, name):
                installed = version(python, name)
                known = [
                    [line[key] for key in ("model", "task", "columns", "delta")]
                    for line in read()["lines"]
                    if missing and (line["table"], line["library"]) == (table, name)
                ]
                for line in run(name, python, table, model or None, known):
                    keep(line, installed)
                    print(f"{table:11} {name:22} {line['model']}, {line['spent']} s", flush=True)


def keep(line: dict[str, Any], installed: str) -> None:
    """Put a line in the place of the one that was there; several runs may go on at a time."""
    line["date"] = datetime.date.today().isoformat()
    folder = os.open(HERE, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        figures = read()
        figures["lines"] = [old for old in figures["lines"] if _key(old) != _key(line)] + [line]
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
    parser.add_argument("--render", action="store_true")
    asked = parser.parse_args()
    if asked.setup_peers:
        setup(asked.setup_peers)
        asked.peers = str(asked.setup_peers)
    if not asked.render:
        measure(asked.only, asked.library, asked.peers, asked.missing)
    render()


if __name__ == "__main__":
    main()
