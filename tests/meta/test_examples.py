"""Every public name has an example that runs: in its docstring, or where its module is described."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import site_pages  # noqa: E402


def iter_names() -> Iterator[tuple[Any, str, Any]]:
    """Each public name once, with the module that lists it first."""
    known = set[Any]()
    for path in site_pages.MODULES:
        if path.startswith("discreet.deep"):  # needs PyTorch: its source is read below
            continue
        module = import_module(path)
        for name in site_pages.public_names(module):
            value = getattr(module, name)
            same = id(value) if callable(value) else name  # what several modules list counts once
            if not inspect.ismodule(value) and same not in known:
                known.add(same)
                yield module, name, value


def names_without(names: Iterator[tuple[Any, str, Any]]) -> list[str]:
    return [
        f"{module.__name__}.{name}"
        for module, name, value in names
        if not site_pages.find_example(module, name, value)
    ]


def test_every_public_name_has_an_example() -> None:
    assert names_without(iter_names()) == [], "write an example in the docstring"


def deep_names_without(package: str, sources: list[str]) -> list[str]:
    """Names of `discreet.deep` without an example, from its source: most need PyTorch to be imported."""
    trees = [ast.parse(text) for text in (package, *sources)]
    listed = next(
        ast.literal_eval(node.value)
        for node in trees[0].body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    shown = set(re.findall(r"\bdeep\.(\w+)", ast.get_docstring(trees[0]) or ""))
    for node in (node for tree in trees for node in ast.walk(tree)):
        is_named = isinstance(node, ast.ClassDef | ast.FunctionDef)
        if is_named and ">>>" in (ast.get_docstring(node) or ""):
            shown.add(node.name)
    return sorted(set(listed) - shown)


def test_every_name_of_deep_learning_has_an_example() -> None:
    deep = ROOT / "src" / "discreet" / "deep"
    sources = [path.read_text("utf-8") for path in deep.rglob("*.py")]
    assert deep_names_without((deep / "__init__.py").read_text("utf-8"), sources) == []
    package = '"""\n>>> dp.deep.A(1)\n"""\n__all__ = ["A", "B", "C"]'
    assert deep_names_without(package, ['class B:\n    """>>> 1"""', "class C: ..."]) == ["C"]


def test_a_name_without_an_example_would_be_noticed() -> None:
    import discreet

    def act() -> None:
        """Do something."""

    assert names_without(iter([(discreet, "act", act), (discreet, "LIMIT", 3)])) == [
        "discreet.act",
        "discreet.LIMIT",
    ]


def test_an_example_of_a_constant_is_the_part_that_names_it() -> None:
    from discreet.publish import wavelets

    example = site_pages.find_example(wavelets, "THREE_BAND", wavelets.THREE_BAND)
    assert "import DAUBECHIES_4, HAAR, THREE_BAND" in example
    assert "FOUR_BAND" not in example
    assert site_pages.find_example(wavelets, "BAND", 3) == ""
