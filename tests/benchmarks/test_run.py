"""All benchmarks run, with and without their data; their figures are another matter."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import real_tables  # noqa: E402
import run  # noqa: E402

NAMES = run.names()
#: Seconds each, even in their smallest form.
LONG = {"audit", "engines", "ledger_postgres", "streams"}


def run_quickly(names: list[str], data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "run.py"), "--quick", *names],
        env={**os.environ, "DISCREET_DATA": str(data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def check(done: subprocess.CompletedProcess[str], names: list[str]) -> None:
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout
    for name in names:
        assert f"\n-- {name}: " in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_has_what_the_run_calls(name: str) -> None:
    tree = ast.parse((BENCHMARKS / f"bench_{name}.py").read_text(encoding="utf-8"))
    mains = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "main"]
    assert len(mains) == 1, "run.py calls main()"
    assert ast.unparse(mains[0].returns or ast.Constant(None)) == "int", "the bars missed"
    given = mains[0].args
    required = len(given.args) - len(given.defaults) + given.kw_defaults.count(None)
    assert required == 0, "run.py calls main() without arguments"
    targets = [t for n in tree.body if isinstance(n, ast.Assign) for t in n.targets]
    assert "QUICK" in [t.id for t in targets if isinstance(t, ast.Name)]


@pytest.mark.slow
def test_benchmarks_run_without_the_data_folder(tmp_path: Path) -> None:
    names = [name for name in NAMES if name not in LONG]
    done = run_quickly(names, tmp_path / "nowhere")
    check(done, names)
    assert "Adult: left out, adult_train.csv.gz, adult_test.csv.gz not found" in done.stdout


@pytest.mark.slow
def test_all_benchmarks_run_without_the_data_folder(tmp_path: Path) -> None:
    check(run_quickly([], tmp_path / "nowhere"), NAMES)


@pytest.mark.slow
@pytest.mark.skipif(not real_tables.DATA.exists(), reason="the data sets are not here")
def test_all_benchmarks_run_with_the_data_folder() -> None:
    check(run_quickly([], real_tables.DATA), NAMES)


def test_a_benchmark_that_raises_is_counted_and_the_others_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bodies = {
        "aa_raises": "def main(): raise KeyError('lost')",
        "bb_misses_two": "def main(): return 2",
        "cc_lacks_a_package": "import no_such_package_of_others",
        "dd_lacks_its_main": "QUICK = {}",
        "ee_holds": "def main(): return 0",
    }
    for name, body in bodies.items():
        (tmp_path / f"bench_{name}.py").write_text(body, encoding="utf-8")
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run.main([]) == 4
    told = capsys.readouterr().out
    assert "raised: aa_raises, dd_lacks_its_main\n" in told
    assert "cc_lacks_a_package: left out, no_such_package_of_others is not installed" in told
    assert "2 bars missed: bb_misses_two 2" in told
    assert run.main(["ee_holds"]) == 0
    assert "all bars hold" in capsys.readouterr().out


def test_quick_constants_must_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for at, name in enumerate(("SIZE", "SISE")):
        body = f"SIZE = 5\nQUICK = {{{name!r}: 1}}\ndef main(): return SIZE"
        (tmp_path / f"bench_quick{at}.py").write_text(body, encoding="utf-8")
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run.run("quick0", quick=True) == 1
    assert run.run("quick1", quick=True) is None
    assert "SISE" in capsys.readouterr().out
