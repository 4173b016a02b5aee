"""The guide to the command line runs as it stands, and its hospital task takes six commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from clinic_shell import WARDS

import discreet as dp
from discreet.cli.outcome import EXIT_CODES

pytest.importorskip("sqlglot")
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "command_line.md"
TEXT = PAGE.read_text("utf-8")


def read_blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def read_commands(block: str) -> list[list[str]]:
    return [shlex.split(line) for line in block.replace("\\\n", " ").splitlines()]


def test_the_hospital_task_takes_six_commands_and_the_rest_of_the_guide_runs(shell, monkeypatch):
    exec(compile(read_blocks("python")[0], PAGE.name, "exec"), {})
    task, rest = map(read_commands, read_blocks("sh"))
    assert len(task) <= 6
    for name, *words in task:
        assert name == "discreet"
        shell.done(*words)
    page = (shell.folder / "report.html").read_text("utf-8")
    assert "Visits in 2024" in page
    assert all(ward in page for ward in WARDS)
    assert "PureDP(epsilon=0.5)" in page or "0.5" in page
    costs = dp.Release.from_json((shell.folder / "costs.json").read_text())
    assert len(costs.labels) == 36
    for name, *words in rest:
        if name == "export":
            for setting in words:
                monkeypatch.setenv(*setting.split("="))
        else:
            assert shell(*words).exit_code in ((0, 1) if words[0] == "check" else (0,)), words
    assert dp.PureDP("2.9") == shell.ledger().spent()


def test_the_schema_file_of_the_guide_is_one():
    text = read_blocks("toml")[0]
    assert list(dp.Schema.from_toml(text)) == ["age", "day", "month"]
    assert dp.Unit.from_toml(text) == dp.Unit(dp.ADD_REMOVE, "patient", 3)


def test_the_guide_has_the_exit_codes_of_the_help(shell):
    help_text = " ".join(shell.done("--help").stdout.split())
    for code, words in EXIT_CODES.items():
        assert f"| {code} | {words} |" in TEXT
        assert f"{code} {words}" in help_text


def test_every_command_is_in_the_guide_and_has_an_example_and_json(shell):
    from typer.main import get_command

    from discreet.cli import app

    group = get_command(app)
    for name, command in group.commands.items():
        assert f"`{name}`" in TEXT
        inner = getattr(command, "commands", None)
        paths = [[name]] if inner is None else [[name, sub] for sub in inner]
        for path in paths:
            told = shell.done(*path, "--help").stdout
            assert "Examples:" in told, path
            assert f"discreet {' '.join(path)}" in told
            assert "--json" in told or path == ["demo"], path


def test_links_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (PAGE.parent / link).exists(), link
