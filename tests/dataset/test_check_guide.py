"""The guides to checks, persons and pipelines run as they stand."""

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
    assert "of `age` is not a number: decimal commas" in ages
    assert names["answer"].checked.is_suspicious
    assert names["caught"]
    assert "of `target` matches" in capsys.readouterr().out


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text("utf-8")):
        assert (PAGE.parent / link).exists(), link


@pytest.mark.parametrize("name", ["persons", "scikit_learn"])
def test_guides_on_persons_and_pipelines_run(name: str, capsys: Any) -> None:
    page = PAGE.with_name(f"{name}.md")
    blocks = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    with testing.fixed_noise(6):
        for block in blocks:
            exec(compile(block, page.name, "exec"), names)
    printed = capsys.readouterr().out
    if name == "persons":
        assert "counts at most 8 rows of each person" in printed
        assert "counts at most 1 row of each person" in printed
        assert "counts each person in at most 8 groups" in printed
    else:
        assert "True" in printed
        assert "False" not in printed
        assert "step 'scale': StandardScaler would learn from the rows" in printed
        assert "refused: BudgetExceeded" in printed
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / link).exists(), link
