"""The guide's program runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "pate.md"


def test_the_guide_to_pate_runs(capsys):
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(programs) == 1
    exec(compile(programs[0], str(PAGE), "exec"), {})
    answered, scores = capsys.readouterr().out.splitlines()
    assert answered == "200 of 400 questions were answered"
    accuracy, majority = map(float, scores.split())
    assert accuracy > majority + 0.08
