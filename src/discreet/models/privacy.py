"""What an estimator says about the privacy of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.events import Assumed, Event, event_from_dict, walk
from discreet.ledger import NOT_DATA, Entry
from discreet.ledger.statement import describe
from discreet.measures import Measure, measure_from_dict
from discreet.show import Shown, Table, read_document, write_document
from discreet.unit import Unit

#: The note of a fit that opened a ledger of its own.
ALONE = (
    "the ledger was opened by this fit alone: nothing adds up across such fits. Give ledger=dp.Ledger(...) "
    "to keep one budget for all that is asked of these people"
)
#: What a certificate is about.
COVERED = (
    "covers: this fit, and not what was learned from the same rows before it, such as by a scaler, a "
    "selection of columns or an encoding that was not charged."
)


@dataclass(frozen=True)
class FitPrivacy(Shown):
    """What was paid for a fitted estimator, and what that guarantees.

    It can be shown: `to_frame`, `to_csv`, `to_json`, and as a table in a notebook.

    Attributes
    ----------
    event, measure : what ran, and what was charged for it
    unit : Unit
        Who is protected.
    claims : tuple of str
        Names of the claims that the guarantee rests on.
    entry : Entry or None
        The ledger's entry; None on public rows.
    is_private : bool
        False on rows declared public, and when noise was drawn from a fixed seed.
    note : str
        What else a reader must know; may be empty.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> X, y = np.array([[0.1], [0.9]] * 100), [0, 1] * 100
    >>> paid = GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1]).fit(X, y).privacy_
    >>> paid.measure, str(paid.unit), paid.claims
    (PureDP(epsilon=1), 'a person is in the data or not', ('naive-bayes',))
    """

    event: Event
    measure: Measure
    unit: Unit
    claims: tuple[str, ...]
    entry: Entry | None
    is_private: bool
    note: str = ""

    @property
    def certificate(self) -> str:
        """The guarantee in a few lines, for people."""
        lines = [
            f"{self.measure!r} for: {self.unit}." if self.is_private else "NOT PRIVATE.",
            f"event: {describe(self.event)}",
            f"claims: {', '.join(self.claims) or 'none'}",
            COVERED,
        ]
        told = dict.fromkeys(part.why for part in walk(self.event) if isinstance(part, Assumed))
        lines += [f"assumed, not proved: {why}" for why in told]
        if self.entry is not None and NOT_DATA in self.entry.note:
            lines.insert(0, f"{NOT_DATA}.")
        if self.entry is not None:
            lines.append(f"ledger entry {self.entry.number}, {self.entry.time}, {self.entry.hash}")
        if self.note:
            lines.append(f"note: {self.note}.")
        return "\n".join(lines)

    def to_table(self, level: float = 0.95) -> Table:
        """The certificate as a table of facts."""
        guarantee, *others = self.certificate.split("\n")
        facts = [
            ("guarantee", guarantee),
            *(line.split(": ", 1) for line in others if ": " in line),
        ]
        if self.entry is not None:
            entry = f"{self.entry.number}, {self.entry.time}, {self.entry.hash}"
            facts.append(("ledger entry", entry))
        return Table(("fact", "value"), facts, "What was paid for this fit")

    def to_plain(self) -> dict[str, Any]:
        """The certificate as plain data."""
        return {
            "is_private": self.is_private,
            "measure": self.measure.to_dict(),
            "event": self.event.to_dict(),
            "unit": self.unit.to_dict(),
            "protected": str(self.unit),
            "claims": list(self.claims),
            "entry": None if self.entry is None else self.entry.to_dict(),
            "note": self.note,
        }

    @classmethod
    def from_plain(cls, body: Mapping[str, Any]) -> FitPrivacy:
        """The inverse of `to_plain`."""
        entry = body["entry"]
        if not isinstance(body["is_private"], bool):
            raise TypeError("is_private")
        return cls(
            event_from_dict(body["event"]),
            measure_from_dict(body["measure"]),
            Unit.from_dict(body["unit"]),
            tuple(str(claim) for claim in body["claims"]),
            None if entry is None else Entry.from_dict(entry),
            body["is_private"],
            str(body["note"]),
        )

    def to_json(self) -> str:
        """The certificate as JSON, exact to the last digit."""
        return write_document("certificate", 1, self.to_plain())

    @classmethod
    def from_json(cls, text: str) -> FitPrivacy:
        """A certificate that `to_json` wrote. Nothing in the text is run, and nothing in it is checked."""
        with read_document(text, "certificate", 1) as body:
            return cls.from_plain(body)
