"""The guide to tuning runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.testing import fixed_noise

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "tuning.md"


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    with fixed_noise(1):
        for block in blocks:
            exec(compile(block, PAGE.name, "exec"), names)
    printed = capsys.readouterr().out
    assert "7 PureDP(epsilon=0)" in printed
    assert names["ledger"].spent() == dp.PureDP(2)
    search = names["search"]
    assert not hasattr(search, "cv_results_")
    assert search.budget_.settings == 12
    assert search.budget_.every_setting.epsilon == pytest.approx(6, rel=0.01)
    assert names["score"].value > 0.7


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text("utf-8"))
    assert links
    for link in links:
        assert (PAGE.parent / link).exists(), link
