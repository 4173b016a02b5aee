"""The guide to SQL runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlglot")
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "sql.md"


def test_the_guide_to_sql_runs(capsys: Any) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 1
    names: dict[str, Any] = {}
    exec(compile(blocks[0], PAGE.name, "exec"), names)
    assert "one charge" in capsys.readouterr().out
    counts = [row[1] for row in names["answer"].rows]
    assert counts == sorted(counts, reverse=True)
    adults = (names["visits"]["age"] >= 18).sum()
    assert abs(sum(counts) - adults) < 100
    assert len(names["months"].rows) == 12
    assert [row[0] for row in names["bands"].rows] == ["minor", "adult", "senior"]
    assert names["frame"].shape == (3, 3)


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text("utf-8")):
        assert (PAGE.parent / link).exists(), link
