"""What a page is asked and what it answers: forms, pages, redirects, downloads, sentences beside fields."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final
from urllib.parse import parse_qsl, quote

from discreet.cli.outcome import CommandError, is_told
from discreet.ledger import BudgetExceeded, LedgerError
from discreet.measures import ApproxDP, PureDP

if TYPE_CHECKING:
    from discreet.studio.desk import Desk

__all__ = [
    "Download",
    "FieldErrors",
    "Form",
    "NotFound",
    "Page",
    "Redirect",
    "Visit",
    "parse_form",
    "read_measure",
    "tell_error",
]

#: More fields than any form has.
MAX_FIELDS = 20_000


@final
class Form:
    """What was typed into a form: text by name, several for lists of boxes."""

    def __init__(self, pairs: Sequence[tuple[str, str]] = ()) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)

    def text(self, name: str, default: str = "") -> str:
        """One field, without blanks around it."""
        return self._values.get(name, [default])[-1].strip()

    def number(self, name: str, words: str, maximum: int = 2**40) -> int | None:
        """A whole number from 1 on, None if the field is empty; `words` stand beside it if it isn't one."""
        text = self.text(name)
        if not text:
            return None
        if not (text.isdecimal() and len(text) <= len(str(maximum)) and 0 < int(text) <= maximum):
            raise FieldErrors({name: words})
        return int(text)

    def lines(self, name: str) -> list[str]:
        """The lines of a field that hold something."""
        return [line.strip() for line in self.text(name).splitlines() if line.strip()]

    def all(self, name: str) -> list[str]:
        """All that was chosen under a name."""
        return [value for value in self._values.get(name, []) if value.strip()]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def plain(self) -> dict[str, str]:
        """The last value of each field, to show again what was typed."""
        return {name: values[-1] for name, values in self._values.items()}


def parse_form(body: bytes) -> Form:
    """A form as browsers send it; whatever isn't one is an empty form."""
    try:
        pairs = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except (UnicodeDecodeError, ValueError):
        return Form()
    return Form(pairs)


@final
@dataclass(frozen=True)
class Visit:
    """One request: where to, with what."""

    places: Mapping[str, str] = field(default_factory=dict)
    query: Form = field(default_factory=Form)
    form: Form = field(default_factory=Form)
    #: Whether the page's script asks for a part of the page.
    is_part: bool = False
    #: The table that was open when the request came: another tab may open another one meanwhile.
    desk: Desk | None = None


@final
@dataclass(frozen=True)
class Page:
    """A template with what it shows."""

    template: str
    shown: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@final
@dataclass(frozen=True)
class Redirect:
    """Go on at another page of the studio."""

    place: str


@final
@dataclass(frozen=True)
class Download:
    """A file to keep."""

    name: str
    kind: str
    body: bytes
    #: Whether the browser shows it instead of keeping it, as it does with pictures in a page.
    is_shown: bool = False

    @property
    def disposition(self) -> str:
        """The header that names the file."""
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", self.name)
        how = "inline" if self.is_shown else "attachment"
        return f"{how}; filename=\"{plain}\"; filename*=UTF-8''{quote(self.name, safe='')}"


class NotFound(Exception):
    """There is no such page."""


class FieldErrors(Exception):
    """What is wrong with fields of a form, as a sentence for each; "" is the form as a whole."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(errors.values()))
        self.errors = dict(errors)


def read_measure(form: Form, epsilon: str = "epsilon", delta: str = "delta") -> PureDP | ApproxDP:
    """The budget that two fields give."""
    try:
        found = PureDP(form.text(epsilon))
    except (TypeError, ValueError, ArithmeticError):
        raise FieldErrors({epsilon: "ε must be a number above 0, such as 0.5."}) from None
    if not 0 < found.epsilon < 1000:
        raise FieldErrors({epsilon: "ε must be above 0 and below 1000, such as 0.5."})
    if not form.text(delta) or form.text(delta) == "0":
        return found
    try:
        pair = ApproxDP(form.text(epsilon), form.text(delta))
    except (TypeError, ValueError, ArithmeticError):
        pair = None
    if pair is None or not 0 < pair.delta <= 0.01:
        raise FieldErrors({delta: "δ must be empty, or a small number such as 1e-6; at most 0.01."})
    return pair


def tell_error(error: BaseException) -> str:
    """What went wrong in a sentence; a message that could hold a cell is withheld."""
    if isinstance(error, CommandError | BudgetExceeded | LedgerError) or is_told(error):
        words = " ".join(str(error).split())
        return re.sub(r"^--(\w+):? ", "", words)
    return (
        f"an error of discreet itself ({type(error).__name__}), whose message is withheld because it could "
        "hold a value of a row."
    )
