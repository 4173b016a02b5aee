"""README and tutorial run in one folder, in either order, as somebody follows them on a first day."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import pytest
from clinic_shell import HEADER, build_visits

ROOT = Path(__file__).parents[2]
#: What a person answers to `discreet init visits.csv`: names in the first line, kinds, no id.
ANSWERS = "y\n\ncategorical(surgery, medicine, children)\ninteger(0, 99)\nreal(0, 2000)\n\n\n\n"


def read_blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def follow_readme(shell) -> None:
    """The shell part with a table of one's own, and then the programs."""
    with open("visits.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER, *build_visits()])
    block = next(b for b in read_blocks("README.md", "") if b.startswith("discreet init"))
    for line in block.splitlines():
        name, *words = shlex.split(line, comments=True)
        assert name == "discreet"
        shell.done(*words, input=ANSWERS)
    for program in read_blocks("README.md", "python"):
        exec(compile(program, "README.md", "exec"), {})


def follow_tutorial(shell) -> None:
    names: dict[str, object] = {}
    for program in read_blocks("docs/tutorial.md", "python"):
        exec(compile(program, "tutorial.md", "exec"), names)


@pytest.mark.long
@pytest.mark.parametrize("order", [1, -1])
def test_the_first_pages_run_in_one_folder_in_either_order(shell, order):
    pytest.importorskip("pandas")
    for follow in (follow_readme, follow_tutorial)[::order]:
        follow(shell)
    assert {"visits.db", "people.db", "hospital.db", "wards.html", "report.html"} <= {
        path.name for path in shell.folder.iterdir()
    }


def test_no_two_first_pages_open_one_ledger():
    shell_part = [block for block in read_blocks("README.md", "") if "discreet init" in block]
    parts = (
        shell_part,
        read_blocks("README.md", "python"),
        read_blocks("docs/tutorial.md", "python"),
    )
    found = [set(re.findall(r"\b\w+\.db\b", "\n".join(part))) for part in parts]
    assert [len(names) for names in found] == [1, 1, 1]
    assert len(set.union(*found)) == 3


def test_the_pages_say_what_to_install_and_how_to_start_again():
    tutorial = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    head = tutorial[: tutorial.index("```python")]
    assert "pip install discreet pandas" in head
    assert "To start again" in tutorial[: tutorial.index("## 4.")]
    page = (ROOT / "docs" / "guides" / "command_line.md").read_text("utf-8")
    assert "discreet[sql]" in page[: page.index("```")]
