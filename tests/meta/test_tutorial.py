"""The tutorial and its notebook are the same text, and run as they stand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import tutorial  # noqa: E402


def read_notebook() -> list[tuple[str, str]]:
    cells = json.loads(tutorial.NOTEBOOK.read_text("utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


def test_the_notebook_has_the_words_of_the_page() -> None:
    assert read_notebook() == tutorial.read_cells(tutorial.PAGE.read_text("utf-8"))


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    programs = [text for kind, text in read_notebook() if kind == "code"]
    printed = "".join(tutorial.run_programs(programs))
    assert "NOT DATA: made-up rows of a rehearsal" in printed
    assert "Nothing was charged and nothing may be read" in printed
    assert "cost at most PureDP(epsilon=2)" in printed
    assert {"visits.csv", "hospital.db", "stay.csv", "stay.json", "report.html"} <= {
        p.name for p in tmp_path.iterdir()
    }


def test_a_change_of_the_page_is_noticed() -> None:
    text = tutorial.PAGE.read_text("utf-8")
    assert read_notebook() != tutorial.read_cells(text.replace("ε = 2", "ε = 3"))
    assert read_notebook() != tutorial.read_cells(text.replace("max_rows=3", "max_rows=4"))


def test_outputs_tell_nothing_about_the_machine() -> None:
    for path in (tutorial.PAGE, tutorial.NOTEBOOK):
        text = path.read_text("utf-8")
        assert "ann@clinic" in text
        assert "root@" not in text
        assert "/tmp" not in text
