"""The guide to many questions runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "answers.md"


def test_the_guide_to_answers_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 7
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    shown = capsys.readouterr().out
    assert "one charge" in shown
    assert "NOT DATA" in shown
    assert "values were clamped to 0 to" in shown
    assert "not the sum over a whole population" in shown
