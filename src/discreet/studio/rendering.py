"""Pages as HTML: templates in which everything is escaped and made visible, and the studio's own files."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from discreet.report.theme import STYLE
from discreet.show import visible

__all__ = ["load_static", "render"]

_STATIC = {
    "studio.css": "text/css; charset=utf-8",
    "studio.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("discreet.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_show,
    )
    found.filters["typed"] = lambda value: Markup(escape("" if value is None else str(value)))
    return found


def _show(value: Any) -> Any:
    """Text with every character visible, so that none changes the direction or hides another."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def render(template: str, shown: dict[str, Any]) -> str:
    """A template as HTML."""
    return _environment().get_template(template).render(shown)


@cache
def load_static(name: str) -> tuple[str, bytes] | None:
    """A file that pages use, with its kind; None if there is no such file."""
    if name == "theme.css":
        return _STATIC["studio.css"], STYLE.encode()
    if name not in _STATIC:
        return None
    return _STATIC[name], (files("discreet.studio") / "static" / name).read_bytes()
