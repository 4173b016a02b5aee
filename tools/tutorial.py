"""The tutorial runs: its outputs on the page, and the same text as a notebook.

``python tools/tutorial.py`` runs every program of ``docs/tutorial.md`` in one go, in a folder that is thrown
away, renews what the page shows as output (its ``text`` blocks), and writes ``docs/tutorial.ipynb`` with all
of it. A notebook needs no more than JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorial.md"
NOTEBOOK = PAGE.with_suffix(".ipynb")
#: A program, and what it printed, if the page shows that.
_PROGRAM = re.compile(
    r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.DOTALL
)
#: Who ran it is nobody's business.
_WHO = re.compile(r"\b[\w.-]+@[\w.-]+(?=  )")


def read_cells(text: str) -> list[tuple[str, str]]:
    """The page as cells: pairs of ``markdown`` or ``code`` and the text; outputs are left out."""
    cells, place = [], 0
    for found in _PROGRAM.finditer(text):
        cells += [
            ("markdown", text[place : found.start()].strip()),
            ("code", found["code"].strip()),
        ]
        place = found.end()
    return [cell for cell in [*cells, ("markdown", text[place:].strip())] if cell[1]]


def run_programs(programs: list[str]) -> Iterator[str]:
    """Run programs one after the other with the same names, and tell what each printed."""
    names: dict[str, Any] = {}
    for number, program in enumerate(programs):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program, f"{PAGE.name}, program {number + 1}", "exec"), names)
        yield _WHO.sub("ann@clinic", printed.getvalue())


def show_outputs(text: str, outputs: list[str]) -> str:
    """The page with the outputs of a run in the places where it shows outputs."""
    left = iter(outputs)

    def renew(found: re.Match[str]) -> str:
        output = next(left)
        if found["output"] is None:
            return found[0]
        return f"```python\n{found['code']}```\n\n```text\n{output.rstrip()}\n```\n"

    return _PROGRAM.sub(renew, text)


def write_notebook(cells: list[tuple[str, str]], outputs: list[str]) -> str:
    """A notebook (nbformat 4.5) of these cells, with what its programs printed."""
    left, written = iter(outputs), []
    for number, (kind, text) in enumerate(cells):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        if kind == "code":
            output = next(left)
            stream = {"name": "stdout", "output_type": "stream", "text": output.splitlines(True)}
            cell |= {"execution_count": None, "outputs": [stream] if output else []}
        written.append({**cell, "source": text.splitlines(True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    book = {"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Run the page, and write down what came of it."""
    text = PAGE.read_text("utf-8")
    cells = read_cells(text)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        outputs = list(run_programs([code for kind, code in cells if kind == "code"]))
        os.chdir(ROOT)
    PAGE.write_text(show_outputs(text, outputs), "utf-8")
    NOTEBOOK.write_text(write_notebook(cells, outputs), "utf-8")


if __name__ == "__main__":
    main()
