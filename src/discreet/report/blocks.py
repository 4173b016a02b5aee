"""What a report is made of: sections with words, facts, tables and charts, as data.

The page and the JSON file are two forms of the same blocks, so neither says more than the other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, final

from discreet.show import Table, decode_value, encode_value, read_document, write_document

__all__ = ["Bullets", "Chart", "Facts", "Grid", "Report", "Section", "Series", "Words"]

#: Raised when the form of these documents changes; old forms stay readable.
VERSION = 1


@final
@dataclass(frozen=True)
class Words:
    """A paragraph. *Notice* and *alarm* are what a reader must not miss.

    Examples
    --------
    >>> from discreet.report import Words
    >>> Words("Nothing here was checked by another person.", "notice").tone
    'notice'
    """

    text: str
    tone: Literal["plain", "lead", "notice", "alarm"] = "plain"

    def __post_init__(self) -> None:
        _check_texts(self.text)
        if self.tone not in ("plain", "lead", "notice", "alarm"):
            raise ValueError("tone must be plain, lead, notice or alarm.")


@final
@dataclass(frozen=True)
class Bullets:
    """A list of sentences.

    Examples
    --------
    >>> from discreet.report import Bullets
    >>> Bullets(("The number of rows is public.", "Bounds were declared by the clinic.")).items[0]
    'The number of rows is public.'
    """

    items: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_texts(*self.items)


@final
@dataclass(frozen=True)
class Facts:
    """Names and what they are.

    Examples
    --------
    >>> from discreet.report import Facts
    >>> Facts((("unit", "one patient"), ("limit", "ε = 1"))).pairs[1]
    ('limit', 'ε = 1')
    """

    pairs: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        _check_texts(*(text for name, value in self.pairs for text in (name, value)))


@final
@dataclass(frozen=True)
class Grid:
    """A table that stands for itself.

    Examples
    --------
    >>> from discreet.report import Grid
    >>> from discreet.show import Table
    >>> Grid(Table(("ward", "visits"), (("A", 120), ("B", 80)))).table.columns
    ('ward', 'visits')
    """

    table: Table


@final
@dataclass(frozen=True)
class Series:
    """Points with a name; `lower` and `upper` are empty or the ends of their intervals.

    A *reference* is something to compare with, such as a bound, and is drawn dashed. Without marks the points
    are not drawn, only the line.

    Examples
    --------
    >>> from discreet.report import Series
    >>> accuracy = Series("GaussianNB", (0.1, 1.0), (0.71, 0.83), (0.66, 0.82), (0.76, 0.84))
    >>> bound = Series("without privacy", (0.1, 1.0), (0.85, 0.85), is_reference=True, has_marks=False)
    >>> accuracy.y, bound.is_reference
    ((0.71, 0.83), True)
    """

    name: str
    x: tuple[Any, ...]
    y: tuple[float, ...]
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    is_reference: bool = False
    has_marks: bool = True

    def __post_init__(self) -> None:
        _check_texts(self.name)
        numbers = (*self.y, *self.lower, *self.upper)
        if not all(isinstance(number, int | float) for number in numbers):
            raise TypeError("y, lower and upper must be numbers.")
        if len(self.x) != len(self.y) or not self.x:
            raise ValueError("x and y must have one length, of at least 1.")
        if any(len(ends) not in (0, len(self.y)) for ends in (self.lower, self.upper)):
            raise ValueError("lower and upper must be empty, or as long as y.")
        if len(self.lower) != len(self.upper):
            raise ValueError("lower and upper must have one length.")


@final
@dataclass(frozen=True)
class Chart:
    """A picture, the words that stand for it, and the numbers behind it.

    Attributes
    ----------
    kind : str
        ``"bars"``: one horizontal bar for each name. ``"dots"``: for each name a dot of every series.
        ``"lines"``: lines with bands. ``"heat"``: numbers over pairs of names. ``"meter"``: a share.
    title, description : str
        Read to people who can't see it.
    table : Table
        The numbers that are drawn, and more.
    x_scale : {"linear", "log", "names"}
    x_limits, y_limits : pair of float
        The ends of the axes; empty where they follow from the numbers.

    Examples
    --------
    >>> from discreet.report import Chart, Series
    >>> from discreet.show import Table
    >>> table = Table(("ward", "visits"), (("A", 120), ("B", 80)))
    >>> bars = Series("visits", ("A", "B"), (120.0, 80.0), lower=(110.0, 70.0), upper=(130.0, 90.0))
    >>> chart = Chart("bars", "Visits", "Ward A has more visits than ward B.", table, (bars,))
    >>> chart.to_svg().startswith("<svg")
    True
    """

    kind: Literal["bars", "dots", "lines", "heat", "meter"]
    title: str
    description: str
    table: Table
    series: tuple[Series, ...]
    x_label: str = ""
    y_label: str = ""
    x_scale: Literal["linear", "log", "names"] = "linear"
    x_limits: tuple[float, ...] = ()
    y_limits: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _check_texts(self.title, self.description, self.x_label, self.y_label)
        if self.kind not in ("bars", "dots", "lines", "heat", "meter") or not self.series:
            raise ValueError("kind must be that of a chart, and series have at least one.")
        if self.kind in ("bars", "meter") and len(self.series) > 1:
            raise ValueError(f"a chart of kind {self.kind!r} has one series.")
        if self.kind in ("dots", "heat") and len({len(one.x) for one in self.series}) > 1:
            raise ValueError(f"the series of a chart of kind {self.kind!r} must have one length.")
        if self.x_scale not in ("linear", "log", "names"):
            raise ValueError("x_scale must be linear, log or names.")
        places = [x for one in self.series for x in one.x]
        if self.kind == "lines" and self.x_scale != "names":
            if not all(isinstance(x, int | float) for x in places):
                raise TypeError("x must be numbers.")
            if self.x_scale == "log" and not min(places) > 0:
                raise ValueError("x must be greater than 0 on a logarithmic scale.")
        for ends in (self.x_limits, self.y_limits):
            if ends and not (len(ends) == 2 and float(ends[0]) < float(ends[1])):
                raise ValueError("limits must be two numbers, the smaller one first.")

    def to_svg(self) -> str:
        """The chart as an SVG file of its own, for light and dark pages."""
        from discreet.report.svg import draw_chart

        return draw_chart(self, "chart", is_alone=True) + "\n"


def _check_texts(*texts: object) -> None:
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("what people read must be text.")


Block = Words | Bullets | Facts | Grid | Chart


@final
@dataclass(frozen=True)
class Section:
    """A heading with what stands below it; sections inside it are one level lower.

    Examples
    --------
    >>> from discreet.report import Section, Words
    >>> page = Section("Our visits", (Words("Counted in May.", "lead"),), (Section("By ward"),))
    >>> [part.title for part in page.sections]
    ['By ward']
    """

    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()

    def __post_init__(self) -> None:
        _check_texts(self.title)
        if not all(isinstance(block, Block) for block in self.blocks):
            raise TypeError("blocks must be words, bullets, facts, grids or charts.")
        if not all(isinstance(section, Section) for section in self.sections):
            raise TypeError("sections must be sections.")


@final
@dataclass(frozen=True)
class Report:
    """A whole report.

    Examples
    --------
    >>> from discreet.report import Report, Section, Words
    >>> report = Report("Visits", (Section("Summary", (Words("Nothing was released."),)),))
    >>> Report.from_json(report.to_json()) == report
    True

    Privacy
    -------
    It holds what it is given: what was released, or is public already. Nothing here sees a row.
    """

    title: str
    sections: tuple[Section, ...]

    def to_json(self) -> str:
        """The report as JSON: numbers exact to the last digit, text to the last character."""
        plain = _to_plain(self)
        return write_document("report", VERSION, {key: plain[key] for key in ("title", "sections")})

    @classmethod
    def from_json(cls, text: str) -> Report:
        """A report that `to_json` wrote. Nothing in the text is run."""
        with read_document(text, "report", VERSION) as body:
            sections = _from_plain(body["sections"])
            if not all(isinstance(section, Section) for section in sections):
                raise TypeError("sections")
            return cls(str(body["title"]), sections)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts, in the order of the page."""
        return tuple(_iter_charts(self.sections))

    def to_html(self) -> str:
        """The report as one page that needs nothing else."""
        from discreet.report.page import render_page

        return render_page(self)


def _iter_charts(sections: tuple[Section, ...]) -> Iterator[Chart]:
    for section in sections:
        yield from (block for block in section.blocks if isinstance(block, Chart))
        yield from _iter_charts(section.sections)


_KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (Words, Bullets, Facts, Grid, Chart, Series, Section, Table)
}


def _to_plain(value: Any) -> Any:
    """Blocks as plain data: records with their kind, tuples as lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: _to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
        return {
            "kind": type(value).__name__,
            **({"is": fields.pop("kind")} if "kind" in fields else {}),
            **fields,
        }
    if isinstance(value, tuple):
        return [_to_plain(part) for part in value]
    return encode_value(value)


def _from_plain(data: Any) -> Any:
    """The inverse of `_to_plain`; builds nothing but blocks and plain values."""
    if isinstance(data, list):
        return tuple(_from_plain(part) for part in data)
    if isinstance(data, dict) and "kind" in data:
        fields = {key: _from_plain(part) for key, part in data.items() if key != "kind"}
        if "is" in fields:
            fields["kind"] = fields.pop("is")
        return _KINDS[data["kind"]](**fields)
    return decode_value(data)
