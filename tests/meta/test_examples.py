"""Every public name has an example that runs: in its docstring, or where its module is described."""

from __future__ import annotations

import inspect
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
        if path.startswith("discreet.deep"):  # needs PyTorch
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
