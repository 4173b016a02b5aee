"""Charts as PNG, for documents that take no SVG."""

from __future__ import annotations

import io
from threading import Lock

from discreet.report import Chart
from discreet.show import Table, draw_table
from discreet.studio.visits import FieldErrors

__all__ = ["draw_png"]

_NUMBERS = ("value", "stderr", "lower", "upper", "quantity")
_lock = Lock()


def draw_png(chart: Chart) -> bytes:
    """The table of a chart, drawn by matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise FieldErrors({"": "PNG needs matplotlib: pip install 'discreet[report]'."}) from None
    table = chart.table
    keys = [
        name
        for name in table.columns
        if name not in _NUMBERS and not name.endswith(("_lower", "_upper"))
    ]
    titled = Table(table.columns, table.rows, chart.title)
    with _lock:  # matplotlib isn't made for threads
        figure = Figure(figsize=(8, 5), dpi=150, layout="constrained")
        draw_table(titled, keys, figure.subplots())
        picture = io.BytesIO()
        figure.savefig(picture, format="png")
    return picture.getvalue()
