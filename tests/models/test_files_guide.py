"""The guide to model files runs as it stands: in Python and on the command line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet import models
from discreet.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "model_files.md"


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|sh)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "python", "sh", "python"]
    names: dict[str, Any] = {}
    commands = []
    for kind, block in blocks:
        if kind == "python":
            exec(compile(block, PAGE.name, "exec"), names)
            continue
        for line in block.strip().splitlines():
            discreet, *words = shlex.split(line)
            assert discreet == "discreet"
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, (line, done.output)
            commands.append(words[0])
    assert commands == ["init", "ledger", "fit", "predict", "publish"]
    printed = capsys.readouterr().out
    assert printed.startswith("True\nPureDP(epsilon=1) for: a person is in the data or not.")
    assert "it was changed or cut" in printed
    assert models.load("ill.json").classes_.tolist() == ["no", "yes"]
    assert len(Path("predictions.csv").read_text().splitlines()) == 2001
    assert len(Path("made_up.csv").read_text().splitlines()) == 201


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([\w./]+)\)", PAGE.read_text("utf-8")):
        assert (PAGE.parent / link).exists(), link
