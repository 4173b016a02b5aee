"""What the documentation's site needs besides ``docs``: the order of pages, outside pages, the reference."""

from __future__ import annotations

import inspect
import posixpath
import re
from collections.abc import Collection, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.ext.autodoc.mock import mock

#: Pages in the order of the menu; a page of these folders that isn't named comes after the named ones.
MENU: dict[str, tuple[str, ...]] = {
    "Start": ("_made/readme", "tutorial", "guides/one_liners", "guides/choosing", "sharp_edges"),
    "Your data": ("guides/data/index", "guides/data/*", "guides/at_scale"),
    "Moving": (
        "guides/from_diffprivlib",
        "guides/from_opendp",
        "guides/from_tumult",
        "guides/from_opacus",
    ),
    "Guides": ("guides/answers", "guides/models", "guides/*"),
    "Trust": ("papers", "_made/papers/*", "audits", "benchmarks", "proofs/*"),
    "Reference": ("_made/api/index", "architecture", "_made/*"),
}
#: Files outside ``docs`` that pages link to, and what they are called on the site.
OUTSIDE = {
    "README.md": "_made/readme.md",
    "CONTRIBUTING.md": "_made/contributing.md",
    "SECURITY.md": "_made/security.md",
    "CHANGELOG.md": "_made/changelog.md",
}
#: The modules whose public names are the reference.
MODULES = (
    "discreet",
    "discreet.queries",
    "discreet.measures",
    "discreet.events",
    "discreet.accounting",
    "discreet.mechanisms",
    "discreet.noise",
    "discreet.ledger",
    "discreet.publish",
    "discreet.publish.masks",
    "discreet.publish.wavelets",
    "discreet.publish.imaging",
    "discreet.deep",
    "discreet.audit",
    "discreet.tradeoff",
    "discreet.report",
    "discreet.testing",
    "discreet.models",
    "discreet.models.linear_model",
    "discreet.models.svm",
    "discreet.models.naive_bayes",
    "discreet.models.m_estimation",
    "discreet.models.tree",
    "discreet.models.boosting",
    "discreet.models.cluster",
    "discreet.models.decomposition",
    "discreet.models.preprocessing",
    "discreet.models.model_selection",
    "discreet.models.metrics",
)
#: Marks a link whose target the site doesn't have.
_GONE = "\x00"
_DROPPED = re.compile(rf"\[([^\]]*)\]{_GONE}")
#: Bars, stars beside a letter, and a name's last underline, unless they are escaped already.
_SIGN = re.compile(r"(?<!\\)(\||\*(?=\w)|(?<=\w)_(?!\w))")
#: Code in a line, which is left as it is.
_QUOTED = re.compile(r"(``.*?``|`[^`]*`)")
#: A numbered source, and the place that names it.
_NOTE = re.compile(r"(?:\.\. )?\[(\d+)\]_?")
_LINK = re.compile(r"(\]\()([^)\s:#]+)(#[^)\s]*)?\)")


def write(docs: Path) -> None:
    """Write the pages that aren't files of ``docs`` into its folder ``_made``."""
    root, made = docs.parent, docs / "_made"
    papers = sorted(root.glob("papers/*/README.md"))
    outside = {name: docs / target for name, target in OUTSIDE.items() if (root / name).exists()}
    outside |= {
        f"papers/{path.parent.name}/README.md": made / "papers" / f"{path.parent.name}.md"
        for path in papers
    }
    for name, target in outside.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (root / name).read_text("utf-8")
        _write(target, lead_links(text, Path(name).parent.as_posix(), target.relative_to(docs)))
    with mock(["torch"]):  # it is large, and only its names are needed
        for name, text in reference_pages():
            target = made / "api" / f"{name}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            _write(target, text)


def _write(target: Path, text: str) -> None:
    if not target.exists() or target.read_text("utf-8") != text:
        target.write_text(text, "utf-8")


def on_source_read(app: Any, name: str, content: list[str]) -> None:
    """Lead a page's links to where the site has them; the first page gets the menu."""
    if not name.startswith("_made/"):
        here = posixpath.join("docs", posixpath.dirname(name))
        content[0] = lead_links(content[0], here, Path(f"{name}.md"))
    if name == "index":
        content[0] += "\n".join(menu(app.env.found_docs))


def on_docstring(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Docstrings are read by people first: signs that reStructuredText would take for its own are kept."""
    for place, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = _QUOTED.split(line)
            parts[::2] = [_SIGN.sub(r"\\\g<0>", part) for part in parts[::2]]
            lines[place] = _NOTE.sub(r"[\1]", "".join(parts))


def on_member(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn gives every estimator for its routing of metadata."""
    return True if name.endswith(("_request", "metadata_routing")) else None


def menu(pages: Collection[str]) -> Iterator[str]:
    """The tables of contents that the first page hides and the menu shows: each of the pages once."""
    listed: list[str] = []
    for caption, patterns in MENU.items():
        start = len(listed)
        for pattern in patterns:
            matches = re.compile(re.escape(pattern).replace(r"\*", "[^/]*")).fullmatch
            listed += sorted(page for page in pages if matches(page) and page not in listed)
        yield from ("", "```{toctree}", ":hidden:", f":caption: {caption}", "", *listed[start:])
        yield "```\n"


def lead_links(text: str, here: str, page: Path) -> str:
    """Links from a file in folder `here` of the repository, as `page` of the site must write them.

    What the site doesn't have (code, records) becomes plain text.
    """

    def lead(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, found[2]))
        if target.startswith("papers/") and target.endswith("README.md"):
            target = f"docs/_made/papers/{target.split('/')[1]}.md"
        elif target in OUTSIDE:
            target = f"docs/{OUTSIDE[target]}"
        elif target == "docs/proofs":
            target = "docs/index.md"
        if not target.startswith("docs/"):
            return f"]{_GONE}"
        back = posixpath.relpath(target.removeprefix("docs/"), page.parent.as_posix() or ".")
        return f"{found[1]}{back}{found[3] or ''})"

    return _DROPPED.sub(r"\1", _LINK.sub(lead, text))


def reference_pages() -> Iterator[tuple[str, str]]:
    """A page for each public module, with all of its public names."""
    names: list[str] = []
    described: dict[int, str] = {}
    for name in sorted(
        MODULES, reverse=True
    ):  # what several modules have is described where it belongs
        module = import_module(name)
        listed = sorted(public_names(module))
        lines = [f"# `{name}`", "", *_describe(module)]
        for each in listed:
            lines += _entry(module, each, _look_up(module, each), described)
        names.insert(0, name)
        yield name, "\n".join(lines) + "\n"
    rows = "\n".join(f"{name} <{name}>" for name in names)
    title = "# Reference\n\nEvery public name, by module.\n\n"
    yield "index", f"{title}```{{toctree}}\n:maxdepth: 1\n\n{rows}\n```\n"


def public_names(module: Any) -> list[str]:
    """What a module lists, or else what it defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]


def _look_up(module: Any, name: str) -> Any:
    try:
        return getattr(module, name)
    except ImportError:  # an extra that isn't installed
        return None


def find_example(module: Any, name: str, value: Any) -> str:
    """The example of a public name: its own, or the parts of its module's docstring that use it."""
    own = value.__doc__ or "" if callable(value) else ""
    if ">>>" in own:
        return inspect.cleandoc(own)
    is_used = re.compile(rf"\b{re.escape(name)}\b").search
    parts = inspect.cleandoc(module.__doc__ or "").split("\n\n")
    return "\n\n".join(part for part in parts if part.startswith(">>>") and is_used(part))


def _describe(module: Any) -> Iterator[str]:
    """What a module's docstring says, its examples as programs."""
    for part in inspect.cleandoc(module.__doc__ or "").split("\n\n"):
        yield from (("```pycon", part, "```", "") if part.startswith(">>>") else (part, ""))


def _entry(module: Any, name: str, value: Any, described: dict[int, str]) -> list[str]:
    if inspect.ismodule(value):
        return []
    heading, home = ["", f"## {name}", ""], module.__name__
    if not callable(value):
        example = find_example(module, name, value)
        shown = ["", "```pycon", example, "```"] if example else []
        return [*heading, f"`{home}.{name}`", *shown, ""]
    if id(value) in described:
        return [*heading, f"See [{described[id(value)]}](<project:{described[id(value)]}.md>).", ""]
    described[id(value)] = home
    kind = "autoclass" if inspect.isclass(value) else "autofunction"
    options = ["   :members:"] if kind == "autoclass" else []
    return [*heading, "```{eval-rst}", f".. {kind}:: {home}.{name}", *options, "```", ""]
