"""What the guide to attacks shows is run, and its figures are those of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "membership.md"


def test_the_blocks_of_the_guide_run_and_print_what_it_says(capsys):
    text = GUIDE.read_text()
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "membership.md", "exec"), names)
    printed = capsys.readouterr().out
    table = re.findall(r"^\| (?:loss|shadow|LiRA|RMIA)[^|]*\| ([\d.]+) \|", text, re.MULTILINE)
    areas = re.findall(r"^(?:Loss|Shadow|LiRA|RMIA)[^:]*: (0\.\d+) ", printed, re.MULTILINE)
    assert len(table) == len(areas) == 6
    for told, found in zip(table, areas, strict=True):
        assert float(found) == pytest.approx(float(told), abs=0.05)
    assert "False True" in printed or "True True" in printed  # 5 % of honest runs are refuted
    assert "200 of 200 secret bits reconstructed" in printed
    assert re.search(r"e-(0[5-9]|1\d) True$", printed.strip())
    floors = [
        list(map(float, row)) for row in re.findall(r"^10+ (\S+) (\S+) (\S+)$", printed, re.M)
    ]
    told = [list(map(float, row)) for row in re.findall(r"^\| 10[0 ]+ \| (\S+) \| (\S+) \| (\S+) \|$", text, re.M)]  # fmt: skip  # noqa: E501
    assert len(floors) == len(told) == 3
    for row, other in zip(floors, told, strict=True):
        assert row == pytest.approx(other, rel=0.25)
