"""The documents' experiments run, are taken up after a kill, and need nothing that isn't public."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PAPERS = Path(__file__).parents[2] / "papers"
sys.path.insert(0, str(PAPERS))

import harness  # noqa: E402

SCRIPTS = sorted(PAPERS.rglob("*.py"))
FOLDERS = sorted(path.parent for path in PAPERS.glob("*/run.py"))
HARNESSED = sorted(
    path.parent for path in PAPERS.glob("*/run.py") if "from harness" in path.read_text("utf-8")
)


def public_names(module: ModuleType) -> list[str]:
    """What a module offers: its list, or what it defines without an underscore."""
    own = [name for name, value in vars(module).items() if is_from(module, value)]
    return getattr(module, "__all__", [name for name in own if not name.startswith("_")])


def is_from(module: ModuleType, value: object) -> bool:
    return getattr(value, "__module__", None) == module.__name__


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(PAPERS)))
def test_only_public_names_are_used(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "discreet":
            module = import_module(str(node.module))
            for alias in node.names:
                assert alias.name in public_names(module), f"{node.module}.{alias.name}"
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            assert own or node.attr in ("__name__", "__all__", "__class__"), node.attr
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("discreet.") for alias in node.names)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_readme_shows_the_results_that_are_kept(folder: Path) -> None:
    code = (
        "import sys, runpy; sys.argv = ['run.py']; "
        f"study = runpy.run_path({str(folder / 'run.py')!r})['STUDY']; study.read(); "
        "text = (study.folder / 'README.md').read_text('utf-8'); sys.exit(study.fill(text) != text)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("folder", HARNESSED, ids=lambda path: path.name)
def test_a_quick_run_ends_well_and_writes_nothing(folder: Path) -> None:
    if not (harness.DATA / "mushroom.csv.gz").is_file():
        pytest.skip("the tables are not here")
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    done = subprocess.run(
        [sys.executable, folder / "run.py", "--quick", "--jobs", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("| --- |") >= 1
    after = {
        path: path.stat().st_mtime_ns for path in folder.iterdir() if path.name != "__pycache__"
    }
    assert after == {path: when for path, when in before.items() if path.name != "__pycache__"}


STUDY = """
import sys, time
from pathlib import Path
sys.path.insert(0, {papers!r})
from harness import Study, markdown
STUDY = Study(Path({folder!r}))

@STUDY.experiment((1.0, 2.0), repeats=20)
def wait(size, *, seed):
    time.sleep(0.05)
    with open({log!r}, "a") as file:
        file.write(f"{{size}} {{seed}}\\n")
    return {{"value": size * seed}}

@STUDY.table("wait")
def values(study):
    return markdown(["size", "value"], [[s, study.get("wait", s)["value"]] for s in (1.0, 2.0)])

STUDY.main(["--jobs", "1"])
"""


def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = tmp_path / "run.py"
    script.write_text(STUDY.format(papers=str(PAPERS), folder=str(tmp_path), log=str(log)))
    (tmp_path / "README.md").write_text("<!-- values -->\n<!-- end of values -->\n")
    process = subprocess.Popen([sys.executable, script])
    while not log.is_file() or len(log.read_text().splitlines()) < 5:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = tmp_path / ".runs" / "wait.jsonl"
    with kept.open("a") as file:
        file.write('{"setting": "1", "se')  # a line that was cut short
    subprocess.run([sys.executable, script], check=True, stdout=subprocess.DEVNULL)
    runs = log.read_text().splitlines()
    assert len(set(runs)) == 40
    assert len(runs) <= 41  # at most the one that was under way is run again
    found = json.loads((tmp_path / "results.json").read_text())["wait"]["2"]["value"]
    assert (found["mean"], found["count"]) == (19.0, 20)
    assert "| 2.0 | 19 ± 2.6 |" in (tmp_path / "README.md").read_text()


def test_a_summary_says_how_sure_it_is() -> None:
    found = harness.Summary.of([1.0, 2.0, 3.0, 4.0])
    assert str(found) == "2.5 ± 0.65"
    assert found.middle == "2.5 (1.75 … 3.25)"
    assert found.count == 4
