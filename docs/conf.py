"""How the documentation becomes a site: ``make docs`` writes it to ``site/``, without any network.

Pages stay plain Markdown that reads well as files. What only the site needs (the order of pages, the
reference of every public name, pages that stand outside ``docs``) is made here, into ``docs/_made``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tools"))

import site_pages  # noqa: E402

project = "discreet"
author = "The discreet authors"
project_copyright = "The discreet authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
default_role = "literal"
suppress_warnings = ["ref.python"]  # types in docstrings are words, not always names
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_title = "discreet"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("sort_tables.js", {"defer": "defer"})]
html_show_sourcelink = False
html_show_search_summary = False  # a browser fetches no pages for it from a folder
html_copy_source = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "tango"
pygments_dark_style = "monokai"

myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_mock_imports = ["torch"]
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Privacy", "Proof", "Sources"]


def setup(app: Any) -> None:
    """Make the pages that aren't files, and lead links that leave ``docs`` to them."""
    site_pages.write(HERE)
    app.connect("source-read", site_pages.on_source_read)
    app.connect("autodoc-skip-member", site_pages.on_member)
    app.connect("autodoc-process-docstring", site_pages.on_docstring, priority=100)
