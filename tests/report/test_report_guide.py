"""The guide to reports runs as it stands, and its pictures are those of its code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pages import check_page

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "report.md"


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    text = (tmp_path / "report.html").read_text("utf-8")
    page = check_page(text)
    assert "can reach at most 73.2 % after seeing all of it" in text
    assert {"Mean cost of a stay", "Visits"} <= set(page.inside("h3"))
    choice = check_page((tmp_path / "choice.html").read_text("utf-8"))
    assert {"Utility against ε", "Fairness", "Models"} <= set(choice.inside("h2"))
    assert "Recommended" in capsys.readouterr().out
    pictures = re.findall(r"\]\(\.\./figures/(\w+\.svg)\)", PAGE.read_text("utf-8"))
    assert {path.name for path in tmp_path.glob("*.svg")} == set(pictures)
    for picture in pictures:
        for path in (tmp_path / picture, ROOT / "docs" / "figures" / picture):
            root = ElementTree.fromstring(path.read_text("utf-8"))
            assert root.tag.endswith("svg")
            assert root.find("{*}desc") is not None
