"""The documentation's pages, wherever the package is installed: certificates and errors name them."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

__all__ = ["list_pages", "read_page"]

#: Where the pages are: in an installed package beside its code, in a checkout of the repository in ``docs``.
_PLACES = (Path(__file__).parent / "_docs", Path(__file__).parents[2] / "docs")


def list_pages() -> list[str]:
    """The names of all pages that are installed: the tutorial, guides, proofs and the others.

    Examples
    --------
    >>> import discreet as dp
    >>> "proofs/ledger" in dp.list_pages()
    True
    """
    folder = _find_folder()
    pages = (path.relative_to(folder) for path in folder.rglob("*.md"))
    return sorted(page.with_suffix("").as_posix() for page in pages if page.parts[0] != "_made")


def read_page(name: str) -> str:
    """The text of a page, as Markdown.

    Parameters
    ----------
    name : str
        As `list_pages` has it, such as ``"proofs/ledger"``, or as docstrings and errors write it:
        ``"docs/proofs/ledger.md"``.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.read_page("docs/proofs/ledger.md").splitlines()[0]
    "# The ledger's filters"
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be that of a page, as text, not {type(name).__name__}.")
    wanted = name.strip().removeprefix("docs/").removesuffix(".md").strip("/")
    pages = list_pages()
    if wanted in pages:
        return (_find_folder() / f"{wanted}.md").read_text("utf-8")
    found = [page for page in pages if page.rpartition("/")[2] == wanted]
    alike = found or get_close_matches(wanted, pages, n=1, cutoff=0.6)
    hint = f" Did you mean {' or '.join(map(repr, alike))}?" if alike else ""
    raise ValueError(f"there is no page {name!r}.{hint} dp.list_pages() has them all.")


def _find_folder() -> Path:
    for place in _PLACES:
        if (place / "index.md").is_file():
            return place
    raise FileNotFoundError(
        "this installation has no documentation: install the package from its wheel, or read it in the "
        "repository's folder docs."
    )
