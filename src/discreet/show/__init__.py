"""Results that can be shown: tables as text, HTML, frames, CSV and JSON, and pictures of them.

Everything here is given what was released or is public already; nothing here sees a row.
"""

from discreet.show.cells import as_cell
from discreet.show.documents import read_document, write_document
from discreet.show.frames import native_frame
from discreet.show.notes import name_several, shorten_note
from discreet.show.pages import render_html
from discreet.show.plots import draw_table, open_axes
from discreet.show.shown import Shown
from discreet.show.tables import Table
from discreet.show.values import decode_value, encode_value, visible

__all__ = [
    "Shown",
    "Table",
    "as_cell",
    "decode_value",
    "draw_table",
    "encode_value",
    "name_several",
    "native_frame",
    "open_axes",
    "read_document",
    "render_html",
    "shorten_note",
    "visible",
    "write_document",
]
