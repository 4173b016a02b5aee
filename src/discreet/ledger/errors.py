"""What can go wrong with a ledger. All of it is a `LedgerError`.

``LedgerError`` → ``BudgetExceeded`` (the answer would cost more than is left), ``LedgerCorrupt``
(the entries don't add up), ``LedgerUnavailable`` (the file or server can't be used).
"""

from __future__ import annotations

from typing import Any

from discreet.measures import Measure, measure_from_dict

__all__ = ["BudgetExceeded", "LedgerCorrupt", "LedgerError", "LedgerUnavailable"]


class LedgerError(Exception):
    """A ledger said no."""


class LedgerCorrupt(LedgerError):
    """The entries of a ledger don't belong together."""


class LedgerUnavailable(LedgerError):
    """The place where a ledger is kept can't be read or written."""


class BudgetExceeded(LedgerError):
    """A charge that doesn't fit. Nothing was booked, so nothing may be read.

    Attributes
    ----------
    asked : Measure
        What the event would have cost.
    left : Measure
        What the account has left.
    account : str
        The account that was too small: ``"/"`` is the ledger itself.
    reserve : str
        What was asked of, and left in, the δ set aside at opening; empty where there is none.
    """

    def __init__(self, asked: Measure, left: Measure, account: str, reserve: str = "") -> None:
        super().__init__(asked, left, account, reserve)
        self.asked, self.left, self.account, self.reserve = asked, left, account, reserve

    def __reduce__(self) -> tuple[Any, ...]:
        return _refused, (self.asked.to_dict(), self.left.to_dict(), self.account, self.reserve)

    def __str__(self) -> str:
        where = "the ledger" if self.account == "/" else f"account {self.account}"
        reserve = f" ({self.reserve})" if self.reserve else ""
        return (
            f"The charge costs {self.asked!r}, but {where} has only {self.left!r} left{reserve}. "
            "Nothing was charged and nothing may be read: ask for less, or stop here."
        )


def _refused(
    asked: dict[str, Any], left: dict[str, Any], account: str, reserve: str
) -> BudgetExceeded:
    return BudgetExceeded(measure_from_dict(asked), measure_from_dict(left), account, reserve)
