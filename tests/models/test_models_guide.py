"""The guide to models runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from discreet.testing import ESTIMATORS

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "models.md"


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 8
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    printed = capsys.readouterr().out
    assert "['<=50K' '>50K']" in printed
    assert "PureDP(epsilon=0.5) for: a person is in the data or not." in printed
    assert "True True" in printed
    assert names["model"].privacy_.unit.max_rows == 3
    assert names["other"].privacy_ == names["grown"].privacy_
    assert "(1, 2) True" in printed
    plan = names["MixedNB"](epsilon=0.5, schema=names["schema"]).plan(rows=5000)
    assert set(plan.noise) == {"class_count_", "theta_", "category_count_"}


def test_the_ten_lines_are_ten() -> None:
    block = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]
    assert len(block.strip().splitlines()) <= 14
    assert len(re.findall(r"^\S[^\n]*[=(]|^import|^from|^print", block, re.MULTILINE)) <= 10


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text("utf-8"))
    assert links
    for link in links:
        assert (PAGE.parent / link).exists(), link


def test_every_estimator_is_in_the_table() -> None:
    text = PAGE.read_text("utf-8")
    for example in ESTIMATORS:
        assert f"`{example.path}" in text, example.path
