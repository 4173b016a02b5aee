"""``discreet reproduce``: the documents' experiments, with the toolkit's public names alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.outcome import FOUND, CommandError

__all__ = ["add_reproduce"]


def add_reproduce(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reproduce", short_help="Run the experiments of a document.")(reproduce)


def reproduce(
    paper: Annotated[str, typer.Argument(help="A document, or all.", metavar="DOCUMENT")] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Few repetitions; nothing is written.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Print the results that are there; run nothing.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Run first seeds again; fail if kept results aren't those of this code."
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the results that are kept as JSON; run nothing.")
    ] = False,
) -> None:
    """Run a document's experiments, with its published figures beside ours.

    Without a document, the list of them. A run that is stopped goes on where it was. The experiments are part
    of the repository, not of the installed package.

    \b
    Examples:
      discreet reproduce student_report --quick
      discreet reproduce student_report --check
      discreet reproduce all
    """
    folder = find_papers()
    known = sorted(path.parent.name for path in folder.glob("*/run.py"))
    if not paper:
        for name in known:
            typer.echo(f"{name:16} {title_of(folder / name)}")
        return
    if paper not in (*known, "all"):
        raise CommandError(
            f"no document is called {paper!r}; there are {', '.join(known)}, and all."
        )
    chosen = known if paper == "all" else [paper]
    if json:
        if quick:
            raise CommandError("--json prints results that are kept, and --quick keeps none.")
        typer.echo(show_results(folder, chosen))
        return
    options = ["--quick"] * quick + ["--report"] * report + ["--check"] * check
    failed = []
    for name in chosen:
        if paper == "all":
            typer.echo(f"\n== {name}: {title_of(folder / name)}")
        run = [sys.executable, str(folder / name / "run.py"), *options]
        if subprocess.run(run, check=False).returncode:
            failed.append(name)
    if failed:
        reason = "Kept results are stale" if check else "Bars were missed"
        typer.echo(f"{reason}, or a run failed: {', '.join(failed)}.", err=True)
        raise typer.Exit(FOUND)


def show_results(folder: Path, names: list[str]) -> str:
    """The kept results of documents, as one text of JSON."""
    from json import dumps, loads

    paths = {name: folder / name / "results.json" for name in names}
    found = {name: loads(path.read_text("utf-8")) for name, path in paths.items() if path.is_file()}
    return dumps(found, ensure_ascii=False)


def find_papers() -> Path:
    """The folder of the experiments: that of this checkout, or one that we stand in."""
    for root in (Path(__file__).resolve().parents[3], Path.cwd(), *Path.cwd().parents):
        if (root / "papers" / "harness.py").is_file():
            return root / "papers"
    raise CommandError(
        "the experiments aren't part of the installed package: get discreet's repository, and run this "
        "command inside it; they are in its folder papers."
    )


def title_of(folder: Path) -> str:
    """The first heading of a document's page."""
    page = folder / "README.md"
    lines = page.read_text("utf-8").splitlines() if page.is_file() else []
    return next((line.lstrip("# ") for line in lines if line.startswith("# ")), "")
