"""The guide's programs run as they are printed."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "deep.md"


def test_the_guide_runs_from_top_to_bottom():
    torch.manual_seed(0)
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(programs) >= 4
    names: dict[str, object] = {}
    for program in programs:
        exec(compile(program, str(PAGE), "exec"), names)


@pytest.mark.filterwarnings("ignore")  # Opacus warns of what it does by default
def test_the_same_training_runs_here_and_where_it_is_installed_with_opacus():
    page = PAGE.with_name("from_opacus.md")
    programs = re.findall(r"```python( opacus)?\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert [bool(peer) for peer, _ in programs] == [True, False]
    names: dict[str, object] = {}
    for peer, program in programs:
        if not peer or find_spec("opacus") is not None:
            exec(compile(program, str(page), "exec"), names)
    if "theirs" in names:
        assert abs(float(names["theirs"]) - float(names["ours"])) < 0.15
