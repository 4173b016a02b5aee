"""The pages of "Your data is in …" run as they stand."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import tables

PAGES = Path(__file__).parents[2] / "docs" / "guides" / "data"
NAMES = sorted(path.stem for path in PAGES.glob("*.md") if path.stem != "index")


def run(name: str, capsys: Any) -> str:
    blocks = re.findall(r"```python\n(.*?)```", (PAGES / f"{name}.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, f"{name}.md", "exec"), {})
    return str(capsys.readouterr().out)


def assert_answers(printed: str) -> None:
    """Two answers, each with the measure it was charged with."""
    assert printed.count("PureDP(epsilon=0.5)") == 2
    assert "±" in printed


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis calls DuckDB so
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("spark", "postgres")])
def test_pages(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert_answers(run(name, capsys))


def test_the_page_of_postgres(
    postgres_server: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_server.url(postgres_server.new_database("guide")))
    assert_answers(run("postgres", capsys))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.long
def test_the_page_of_spark(capsys: Any) -> None:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17; install a Java runtime to run this test")
    session = tables.spark_session()
    try:
        assert_answers(run("spark", capsys))
    finally:
        session.stop()


def test_every_page_is_listed() -> None:
    listed = re.findall(r"\]\((\w+)\.md\)", (PAGES / "index.md").read_text())
    assert sorted(listed) == NAMES


def missing_parts(text: str) -> list[str]:
    """What a page lacks: a program before its first heading, where rows stay, what is refused."""
    start, *rest = re.split(r"^## ", text, flags=re.M)
    found = [] if "```python" in start else ["a program first"]
    headings = [part.splitlines()[0] for part in rest]
    wanted = ["What stays where", "What is refused"]
    return found + [heading for heading in wanted if heading not in headings]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_starts_with_a_program_and_says_what_stays_and_what_is_refused(name: str) -> None:
    assert missing_parts((PAGES / f"{name}.md").read_text("utf-8")) == []


def test_a_page_without_these_would_be_noticed() -> None:
    page = "# A\n\n## What stays where\n\n```python\nprint(1)\n```\n"
    assert missing_parts(page) == ["a program first", "What is refused"]
