"""The code in the guide on audits runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.audit import registry

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "audit.md"
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0])
def test_the_guide_runs(block, monkeypatch, capsys):
    monkeypatch.setattr(registry, "_FOUND", {})
    space: dict[str, object] = {}
    exec(compile(block, str(GUIDE), "exec"), space)
    printed = capsys.readouterr().out
    if "random.laplace" in block:
        assert ": violated" in printed
    if "through_the_door" in block:
        assert ": consistent" in printed
    if "keep" in block:
        assert printed.startswith("1.0986")
    if "@attack" in block:
        assert list(registry._FOUND) == ["my-noisy-count"]
