"""What an estimator says about the privacy of a fit."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.events import Assumed, Event, walk
from discreet.ledger import Entry
from discreet.ledger.statement import describe
from discreet.measures import Measure
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
class FitPrivacy:
    """What was paid for a fitted estimator, and what that guarantees.

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
        if self.entry is not None:
            lines.append(f"ledger entry {self.entry.number}, {self.entry.time}, {self.entry.hash}")
        if self.note:
            lines.append(f"note: {self.note}.")
        return "\n".join(lines)
