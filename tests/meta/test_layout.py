"""The folders of tests are those of the code, and what documents say about tests is where they say."""

from __future__ import annotations

import re
from pathlib import Path

from discreet.guarantees import topics

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
CODE = ROOT / "src" / "discreet"

#: Folders about the whole: laws, attacks and mutants of all that is registered, package, benchmarks.
CROSS_CUTTING = {
    "deep/federated/app/flower_app",
    "laws",
    "guests",
    "meta",
    "benchmarks",
    "mutations",
    "papers",
}
#: Files about all estimators, beside those that are named after a module of `models/`.
EVERY_ESTIMATOR = {"contract", "edges", "engines", "models", "payment", "sklearn"}
#: What names paths of tests, beside the pages.
NAMING = ["Makefile", "pyproject.toml", "benchmarks", "papers", "tools", "tests", "src"]


def mirrors(path: str) -> bool:
    """Whether a path, without the ending, is a package or a module of the code."""
    return (CODE / path / "__init__.py").is_file() or (CODE / f"{path}.py").is_file()


def strange_folders(tests: Path) -> set[str]:
    """Folders with files of their own that are neither about a part of the code nor about the whole."""
    folders = {file.parent.relative_to(tests).as_posix() for file in tests.rglob("*.py")}
    return {name for name in folders - CROSS_CUTTING if not mirrors(name)}


def strange_files(tests: Path) -> set[str]:
    """Tests outside of folders that aren't named after a module."""
    names = {file.stem.removeprefix("test_") for file in tests.glob("test_*.py")}
    return {name for name in names if not mirrors(name)}


def test_tests_stand_where_the_code_stands_that_they_test():
    assert strange_folders(TESTS) == set()
    assert strange_files(TESTS) == set()


def test_tests_of_something_that_is_not_there_would_be_noticed(tmp_path):
    for name in ("queries/test_a.py", "laws/test_b.py", "mechanisms/local/test_c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "test_schema.py").touch()
    assert strange_folders(tmp_path) == strange_files(tmp_path) == set()
    for name in ("statistics/test_d.py", "queries/local/test_e.py", "test_golden.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert strange_folders(tmp_path) == {"statistics", "queries/local"}
    assert strange_files(tmp_path) == {"golden"}


def test_tests_of_a_model_are_named_after_its_package():
    modules = {path.stem for path in (CODE / "models").iterdir()} | EVERY_ESTIMATOR
    files = list((TESTS / "models").glob("test_*.py"))
    assert files
    for file in files:
        name = file.stem.removeprefix("test_")
        assert any(name == own or name.startswith(f"{own}_") for own in modules), file.name


def test_tests_of_attacks_are_named_after_a_topic():
    attacks = [file.stem for file in (TESTS / "guarantees").glob("test_*_attacks.py")]
    assert attacks
    assert {name[len("test_") : -len("_attacks")] for name in attacks} <= set(topics())


def test_test_files_have_different_names():
    names = [file.name for file in TESTS.rglob("*.py") if file.name != "conftest.py"]
    assert len(set(names)) == len(names)


def test_no_file_of_tests_is_longer_than_400_lines():
    lengths = {file.name: len(file.read_text().splitlines()) for file in TESTS.rglob("*.py")}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def named_paths(text: str) -> set[str]:
    """Paths of tests in a text, of files and of folders."""
    found = re.findall(r"(?<![\w/*])tests/[\w/]*(?:\.py|\.txt)?(?![*<\w])", text)
    return {path.rstrip("/") for path in found}


def sources() -> list[Path]:
    """All texts that name paths of tests as they are today."""
    places = [ROOT / name for name in NAMING]
    within = [file for place in places if place.is_dir() for file in place.rglob("*.py")]
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    pages = [page for page in pages if ROOT / "docs" / "_made" not in page.parents]
    texts = {*pages, *within, *(place for place in places if place.is_file())}
    return sorted(texts - {Path(__file__), ROOT / "CHANGELOG.md"})


def test_paths_of_tests_that_are_named_exist():
    named = {(file, path) for file in sources() for path in named_paths(file.read_text())}
    assert len(named) > 50
    gone = {f"{file.name}: {path}" for file, path in named if not (ROOT / path).exists()}
    assert gone == set()


def test_a_path_that_is_gone_would_be_noticed():
    text = "see `tests/golden/`, tests/measures and tests/noise/test_gone.py; tests/* is no path"
    assert named_paths(text) == {"tests/golden", "tests/measures", "tests/noise/test_gone.py"}
