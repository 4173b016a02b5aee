"""Files and functions that a person can hold in mind, and boundaries between packages."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    p
    for part in ("src", "tests", "tools", "benchmarks", "papers")
    for p in (ROOT / part).rglob("*.py")
)
MAX_FILE, MAX_FUNCTION = 400, 60


def long_functions(text: str) -> list[str]:
    """Functions of more lines than a page, their docstrings aside."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node, clean=False) is not None
            told = first.end_lineno - first.lineno + 1 if documented and first.end_lineno else 0
            assert node.end_lineno is not None
            if node.end_lineno - node.lineno + 1 - told > MAX_FUNCTION:
                found.append(node.name)
    return found


def borrowed_names(text: str, package: str) -> list[str]:
    """Private names that are imported from another package."""
    return [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet")
        if not (node.module or "").startswith(package)
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_and_functions_fit_in_mind(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.count("\n") <= MAX_FILE
    assert long_functions(text) == []


def test_a_long_function_is_noticed() -> None:
    body = "    x = 1\n" * (MAX_FUNCTION + 1)
    assert long_functions(f"def long():\n{body}") == ["long"]
    assert long_functions('def told():\n    """' + "\n" * 90 + '    """\n    x = 1\n') == []


def test_private_names_stay_in_their_package() -> None:
    code = ROOT / "src"
    found = {}
    for path in sorted(code.rglob("*.py")):
        parts = path.relative_to(code).with_suffix("").parts
        package = ".".join(parts[:2])
        if names := borrowed_names(path.read_text("utf-8"), package):
            found[".".join(parts)] = names
    assert found == {}
    assert borrowed_names("from discreet.engines.base import _hidden", "discreet.models") != []
