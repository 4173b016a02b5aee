"""The guide to results runs as it stands, and its pictures are those of its code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "results.md"


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    mpl.pyplot.close("all")
    assert list(names["frame"].columns) == ["ward", "value", "stderr", "lower", "upper"]
    printed = capsys.readouterr().out
    assert "PureDP(epsilon=0.5) for: a person is in the data or not" in printed
    assert "for surgery, mean age" in printed
    assert "Mean cost" in printed
    pictures = re.findall(r"\]\(\.\./figures/(\w+\.svg)\)", PAGE.read_text("utf-8"))
    assert {path.name for path in tmp_path.glob("*.svg")} == set(pictures)
    assert "over age_band, 5 groups" in (tmp_path / "results_line.svg").read_text()
