"""What the guide shows is run."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from discreet.ledger import Ledger, LedgerUnavailable
from discreet.measures import PureDP

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "ledger.md"


def test_the_blocks_of_the_guide_run_in_order(
    postgres_server, capsys, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(\w+)\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert {language for language, _ in blocks} == {"sql", "python"}
    address = f"127.0.0.1:{postgres_server.port}"
    names: dict[str, object] = {}
    database = "postgres"
    for language, block in blocks:
        if language == "sql":
            for statement in filter(str.strip, block.split(";")):
                postgres_server.execute(statement, database=database)
            database = "research"
        else:
            exec(compile(block.replace("db.example.org", address), "ledger.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "visits in May" in printed
    assert "charged as entry 3" in printed
    assert [part.name for part in tmp_path.iterdir()] == ["patients-may.db"]
    # the rights are as told
    with pytest.raises(LedgerUnavailable, match="opened with read_only=True"):
        names["reader"].charge(names["dp"].events.DiscreteLaplace(20))
    with pytest.raises(LedgerUnavailable, match="permission denied"):
        names["ann"].account("mine", PureDP(0.1))
    with pytest.raises(LedgerUnavailable, match="permission denied"):
        names["auditor"].charge(names["dp"].events.DiscreteLaplace(20))
    with psycopg.connect(postgres_server.url("research", "ann")) as connection:
        for act in ("DELETE FROM", "UPDATE", "TRUNCATE"):
            change = " SET body = ''" if act == "UPDATE" else ""
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"{act} patients.discreet_entries{change}")
            connection.rollback()
    Ledger(names["owner"].url).verify()


def test_commands_that_are_not_run_are_indented() -> None:
    assert re.findall(r"```(?!sql\n|python\n|\n)", GUIDE.read_text()) == []
    assert "    pg_dump" in GUIDE.read_text()
