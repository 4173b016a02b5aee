"""The site's pages that aren't files of docs: links lead somewhere, and every page is in the menu."""

from __future__ import annotations

import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import site_pages  # noqa: E402


@pytest.mark.parametrize(
    ("text", "here", "page", "led"),
    [
        ("[a](../README.md)", "docs", "index.md", "[a](_made/readme.md)"),
        ("[a](../../README.md#x)", "docs/guides", "guides/a.md", "[a](../_made/readme.md#x)"),
        ("[a](docs/guides/b.md)", ".", "_made/readme.md", "[a](../guides/b.md)"),
        ("[`a`](src/discreet) b", ".", "_made/readme.md", "`a` b"),
        ("[a](https://example.org/x)", "docs", "index.md", "[a](https://example.org/x)"),
        ("[a](../papers/b/README.md)", "docs", "index.md", "[a](_made/papers/b.md)"),
    ],
)
def test_links_lead_to_where_the_site_has_them(text, here, page, led):
    assert site_pages.lead_links(text, here, Path(page)) == led


def test_every_page_is_in_the_menu():
    patterns = [pattern for pages in site_pages.MENU.values() for pattern in pages]
    for path in (ROOT / "docs").rglob("*.md"):
        name = path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        if name != "index" and not name.startswith("_made"):
            assert any(fnmatch(name, pattern) for pattern in patterns), name


def test_the_menu_has_each_page_once():
    pages = [
        path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if "_made" not in path.parts
    ]
    lines = "\n".join(site_pages.menu(pages)).splitlines()
    listed = [line for line in lines if line in pages]
    assert len(listed) == len(set(listed))
    assert set(pages) - set(listed) == {"index"}
    assert listed[0] == "tutorial"
    assert lines.index("guides/data/index") < lines.index("guides/data/csv")


def test_every_public_module_is_in_the_reference():
    import discreet

    modules = {
        f"discreet.{name}" for name in discreet.__all__ if discreet._SURFACE[name] == "discreet"
    }
    assert modules <= set(site_pages.MODULES)


def test_signs_in_docstrings_stay_what_they_are():
    lines = ["at most |x| of `a|b`", "its coef_ and *args [1]_", ">>> a | b", ".. [1] a source"]
    lines.append("in ``classes_``, not classes_, nor `a_` | b")
    site_pages.on_docstring(None, "", "", None, None, lines)
    assert lines == [
        r"at most \|x\| of `a|b`",
        r"its coef\_ and \*args [1]",
        ">>> a | b",
        "[1] a source",
        r"in ``classes_``, not classes\_, nor `a_` \| b",
    ]


def test_the_reference_can_be_read_without_pytorch():
    # the site is built where PyTorch isn't installed: nothing may be asked of its functions on import
    program = (
        "import importlib, pkgutil, scipy.stats, sklearn.linear_model\n"
        "from sphinx.ext.autodoc.mock import mock\n"
        "with mock(['torch']):\n"
        "    import discreet.deep\n"
        "    for found in pkgutil.walk_packages(discreet.deep.__path__, 'discreet.deep.'):\n"
        "        if 'flower' not in found.name:\n"
        "            importlib.import_module(found.name)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
