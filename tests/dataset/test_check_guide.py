"""The guide to checks runs as it stands, and finds the three mistakes of its file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from discreet import testing

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "check.md"


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    with testing.fixed_noise(3):
        for block in blocks:
            exec(compile(block, PAGE.name, "exec"), names)
    wards, costs, ages = names["report"].warnings
    assert "of `ward` matches no declared category" in wards
    assert "of `cost` lies above its upper bound 500" in costs
    assert "of `age` is missing or not a number: decimal commas" in ages
    assert names["answer"].checked.is_suspicious
    assert names["caught"]
    assert "of `target` matches" in capsys.readouterr().out


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text("utf-8")):
        assert (PAGE.parent / link).exists(), link
