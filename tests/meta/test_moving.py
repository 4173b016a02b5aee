"""The pages that start a newcomer run as they stand, and peers' programs run where the peer is installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
#: Peers whose programs run beside ours, and what must be installed for that.
PEERS = {"diffprivlib": "diffprivlib", "opendp": "opendp", "tumult": "tmlt.analytics"}


def run_page(name: str) -> dict[str, Any]:
    """The names that a page's own programs leave behind."""
    text = (GUIDES / f"{name}.md").read_text("utf-8")
    programs = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert programs
    names: dict[str, Any] = {}
    for program in programs:
        exec(compile(program, f"{name}.md", "exec"), names)
    return names


def run_peer(name: str, peer: str) -> dict[str, Any]:
    """The names that a peer's program leaves behind; skips where the peer can't be imported."""
    package = PEERS[peer]
    if find_spec(package.split(".")[0]) is None:
        pytest.skip(f"{package} is not here; the page says with which version its program ran")
    text = (GUIDES / f"{name}.md").read_text("utf-8")
    (program,) = re.findall(rf"```python {peer}\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(program, f"{name}.md, {peer}", "exec"), names)
    return names


def test_one_liners(capsys: Any) -> None:
    names = run_page("one_liners")
    printed = capsys.readouterr().out
    assert "ten such calls cost ten times as much" in printed
    assert "Nothing was charged and nothing may be read" in printed
    assert names["ledger"].statement().count == 3
    page = (GUIDES / "one_liners.md").read_text("utf-8")
    from discreet import shortcuts

    assert all(f"dp.{name}" in page for name in shortcuts.__all__)


def test_choosing(capsys: Any) -> None:
    run_page("choosing")
    printed = capsys.readouterr().out
    page = (GUIDES / "choosing.md").read_text("utf-8")
    for share in re.findall(r"-> (\d\d)%", printed):
        assert f"| {share} % |" in page


def test_at_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(run_page("at_scale")["data"].schema) == 2


def test_our_side_of_diffprivlib() -> None:
    ours = run_page("from_diffprivlib")["ours"]
    assert 54 < ours["mean"] < 58
    assert len(ours["counts"]) == 4


def test_our_side_of_opendp_and_theirs() -> None:
    ours = run_page("from_opendp")["ours"]
    theirs = run_peer("from_opendp", "opendp")["theirs"]
    assert abs(ours["rows"] - theirs["rows"]) < 200
    assert abs(ours["total"] - theirs["total"]) < 20_000


def test_our_side_of_tumult() -> None:
    ours = run_page("from_tumult")["ours"]
    assert abs(ours["rows"] - 5000) < 200
    assert 50 < ours["median"] < 62


def test_their_side_of_tumult() -> None:
    assert abs(run_peer("from_tumult", "tumult")["theirs"]["rows"] - 5000) < 200


def test_their_side_of_diffprivlib() -> None:
    theirs = run_peer("from_diffprivlib", "diffprivlib")["theirs"]
    assert 54 < theirs["mean"] < 58


@pytest.mark.parametrize("name", ["from_diffprivlib", "from_opendp", "from_opacus", "from_tumult"])
def test_pages_for_those_who_move_have_the_same_parts(name: str) -> None:
    text = (GUIDES / f"{name}.md").read_text("utf-8")
    assert "## What" in text
    assert "## Names" in text


def test_pages_name_the_version_that_ran() -> None:
    try:
        installed = version("opendp")
    except PackageNotFoundError:
        pytest.skip("opendp is not here")
    page = (GUIDES / "from_opendp.md").read_text("utf-8")
    assert f"With OpenDP {'.'.join(installed.split('.')[:2])}," in page
