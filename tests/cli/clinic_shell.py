"""A shell beside the table of a clinic, as people type commands there."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app

WARDS = ("surgery", "medicine", "children")
#: A name that stands in every row: no message may ever show it.
SECRET = "Wilhelmine-Secret"
COLUMNS = (
    "ward=categorical(surgery, medicine, children)",
    "age=integer(0, 99)",
    "cost=real(0, 2000)",
    "day=date('2024-01-01', '2024-12-31')",
)


def build_visits(rows: int = 400) -> list[tuple[str, str, int, float, str, str]]:
    """Rows of a person's id, ward, age, cost, day and name."""
    draw = np.random.default_rng(7)
    first = np.datetime64("2024-01-01")
    return [
        (
            f"p{at // 2}",
            WARDS[draw.integers(3)],
            int(draw.integers(0, 100)),
            round(float(draw.gamma(2, 200)), 2),
            str(first + int(draw.integers(366))),
            SECRET,
        )
        for at in range(rows)
    ]


HEADER = ("patient", "ward", "age", "cost", "day", "name")


class Shell:
    """Types commands in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: str, input: str | None = None) -> Any:
        """What a command did: its exit code, output and error lines."""
        return CliRunner().invoke(app, list(words), input=input)

    def done(self, *words: str, input: str | None = None) -> Any:
        """The same for a command that must end well."""
        result = self(*words, input=input)
        assert result.exit_code == 0, (words, result.output, result.stderr)
        return result

    def ledger(self, path: str = "budget.db") -> dp.Ledger:
        """The ledger that commands charged."""
        return dp.Ledger(f"sqlite:///{self.folder / path}", read_only=True)


def open_shell(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell in a folder, without settings of whoever runs the tests."""
    monkeypatch.chdir(folder)
    for name in ("TABLE", "SCHEMA", "LEDGER", "PROGRESS", "DEBUG"):
        monkeypatch.delenv(f"DISCREET_{name}", raising=False)
    return Shell(folder)


def build_clinic(shell: Shell) -> Shell:
    """Put visits.csv, its schema visits.toml, and a ledger budget.db of ε = 4 into a shell's folder."""
    with open("visits.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER, *build_visits()])
    columns = [word for column in COLUMNS for word in ("--column", column)]
    person = ("--id", "patient", "--max-rows", "3")
    shell.done("init", *columns, *person, "--out", "visits.toml")
    shell.done("ledger", "open", "budget.db", "--schema", "visits.toml", "--epsilon", "4")
    return shell


@pytest.fixture
def shell(tmp_path, monkeypatch) -> Shell:
    """A shell in an empty folder."""
    return open_shell(tmp_path, monkeypatch)


@pytest.fixture
def clinic(shell) -> Shell:
    """A shell beside a table, its schema and its ledger."""
    return build_clinic(shell)


@pytest.fixture(scope="module")
def clinic_folder(tmp_path_factory) -> Path:
    """The folder of a clinic that the tests of one file share, since they change nothing in it."""
    folder = tmp_path_factory.mktemp("clinic")
    with pytest.MonkeyPatch.context() as patch:
        build_clinic(open_shell(folder, patch))
    return folder


@pytest.fixture
def old_clinic(clinic_folder, monkeypatch) -> Shell:
    """A shell in the clinic that the tests of one file share."""
    return open_shell(clinic_folder, monkeypatch)
