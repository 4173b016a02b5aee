"""Every public name has an example that runs, in its docstring or on a page, or is on a list that shrinks."""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import site_pages  # noqa: E402

#: Names that still have no example. New ones have: nothing is added here.
LISTED = Path(__file__).with_name("names_without_example.txt")
MAX_LISTED = 221


def guide_words() -> set[str]:
    """All words of the programs on the pages, which tests run."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [page.read_text("utf-8") for page in pages if "_made" not in page.parts]
    programs = [block for text in texts for block in re.findall(r"```python\n(.*?)```", text, re.S)]
    return set(re.findall(r"\w+", "\n".join(programs)))


def has_example(name: str, value: Any, words: set[str]) -> bool:
    return name in words or (callable(value) and ">>>" in (value.__doc__ or ""))


def names_without() -> list[str]:
    words, found, known = guide_words(), [], set[Any]()
    for path in site_pages.MODULES:
        if path.startswith("discreet.deep"):  # needs PyTorch
            continue
        module = import_module(path)
        for name in site_pages.public_names(module):
            value = getattr(module, name)
            same = id(value) if callable(value) else name  # what several modules list counts once
            if inspect.ismodule(value) or same in known:
                continue
            known.add(same)
            if not has_example(name, value, words):
                found.append(f"{path}.{name}")
    return found


def test_names_without_an_example_are_those_on_the_list() -> None:
    listed = LISTED.read_text("utf-8").split()
    assert len(listed) == len(set(listed)) <= MAX_LISTED
    found = set(names_without())
    assert found - set(listed) == set(), "write an example in the docstring"
    assert set(listed) - found == set(), "they have an example now: take them off the list"


def test_what_people_meet_first_has_an_example() -> None:
    assert not [name for name in LISTED.read_text("utf-8").split() if name.count(".") == 1]


def test_a_name_without_an_example_would_be_noticed() -> None:
    assert not has_example("no_such_name", lambda: None, guide_words())
    assert has_example("PrivateDataset", None, guide_words())
