"""Names that a reader would have to translate don't come back."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "src").rglob("*.py"))

#: Words for parameters, and what to write.
PARAMETERS = {"least": "minimum", "most": "maximum", "how": "the noun that it is"}

#: Past participles are for values; a function says what it does, in the base form.
PARTICIPLES = {
    "found",
    "told",
    "drawn",
    "made",
    "given",
    "kept",
    "taken",
    "sent",
    "built",
    "opened",
}

CONSTANT = re.compile(r"(^|_)(LEAST|MOST|USUAL)(_|$)")


def foreign_names(text: str) -> list[str]:
    """Parameters, functions and constants that are named in words this project doesn't use."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            every = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            found += [f"{node.name}({one.arg}=...)" for one in every if one.arg in PARAMETERS]
            found += [node.name] * (node.name.strip("_") in PARTICIPLES)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found += [node.id] * bool(CONSTANT.search(node.id))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_are_the_words_that_readers_search_for(path: Path) -> None:
    assert foreign_names(path.read_text("utf-8")) == []


def test_a_foreign_name_is_noticed() -> None:
    assert foreign_names("def cut(values, least=1): ...") == ["cut(least=...)"]
    assert foreign_names("def _drawn(): ...\nMOST_CELLS = 3\n_LEAST: int = 1") == [
        "_drawn",
        "MOST_CELLS",
        "_LEAST",
    ]
    assert foreign_names("def draw(values, minimum=1): ...\nMAX_CELLS = 3\nALMOST = 1") == []
