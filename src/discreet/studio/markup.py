"""HTML that our own code wrote and escaped, marked as such for templates; Markdown of our own pages."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from discreet.report.blocks import Section
from discreet.report.page import render_sections

__all__ = ["as_markup", "render_markdown", "show_sections"]

_SCROLL = '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'


def as_markup(html: str) -> Markup:
    """HTML of `discreet.report`, in which every text is escaped already."""
    return Markup(html)


def show_sections(sections: Sequence[Section], prefix: str, level: int = 2) -> Markup:
    """Sections of a report for a page."""
    return as_markup(render_sections(sections, prefix, level))


@lru_cache(64)
def render_markdown(text: str, page: str, base: str, lower: int = 0) -> Markup:
    """A page of the documentation as HTML; HTML inside of it is shown as text.

    Parameters
    ----------
    text : str
    page : str
        Its name, from which links lead on.
    base : str
        What the addresses of the studio begin with.
    lower : int
        By how much headings stand lower than in the page.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + lower)}"
        for inner in token.children or ():
            _lead_on(inner, page, base)
    parser.add_render_rule("table_open", _open_table)
    parser.add_render_rule("table_close", _close_table)
    return Markup(parser.renderer.render(tokens, parser.options, {}))


def _open_table(*_: Any) -> str:
    return _SCROLL


def _close_table(*_: Any) -> str:
    return "</table></div>"


def _lead_on(token: Token, page: str, base: str) -> None:
    """Links to other pages lead to them here; pictures, which aren't installed, are left out."""
    if token.type == "image":
        token.type, token.tag, token.content = "text", "", ""
        return
    place = str(token.attrs.get("href", ""))
    if token.type != "link_open" or "://" in place:
        return
    path, _, _ = place.partition("#")
    if path.endswith(".md"):
        found = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        token.attrs["href"] = f"{base}/trust/page/{found.removesuffix('.md')}"
