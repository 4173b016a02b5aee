"""What can go wrong with a ledger. All of it is a `LedgerError`.

``LedgerError`` → ``BudgetExceeded`` (the answer would cost more than is left), ``LedgerCorrupt``
(the entries don't add up), ``LedgerUnavailable`` (the file or server can't be used; nothing was
charged), ``LedgerUnknown`` (a charge was sent, and nobody can say yet whether it was booked).
"""

from __future__ import annotations

from typing import Any

from discreet.measures import Measure, measure_from_dict

__all__ = [
    "BudgetExceeded",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerUnavailable",
    "LedgerUnknown",
]


class LedgerError(Exception):
    """The base of all errors of a ledger.

    Examples
    --------
    >>> import discreet as dp
    >>> ledger = dp.Ledger(limit=dp.PureDP(1))
    >>> try:
    ...     ledger.charge(dp.events.DiscreteLaplace("1/2"))  # ε = 2
    ... except dp.ledger.LedgerError as error:
    ...     print(type(error).__name__)
    BudgetExceeded
    """


class LedgerCorrupt(LedgerError):
    """The entries of a ledger don't add up: something was changed, cut off or restored.

    Examples
    --------
    >>> import discreet as dp
    >>> ledger = dp.Ledger(limit=dp.PureDP(2))
    >>> kept = ledger.statement()  # on paper, or with somebody else
    >>> ledger.verify(kept.head, kept.count)
    >>> try:
    ...     ledger.verify(kept.head, kept.count + 1)  # an entry is gone
    ... except dp.ledger.LedgerCorrupt:
    ...     print("something was cut off, or an old copy put back")
    something was cut off, or an old copy put back
    """


class LedgerUnavailable(LedgerError):
    """The place where a ledger is kept can't be read or written. Nothing was charged.

    Examples
    --------
    >>> import discreet as dp
    >>> try:
    ...     dp.Ledger("sqlite:////no/such/folder/budget.db", limit=dp.PureDP(1))
    ... except dp.ledger.LedgerUnavailable:
    ...     print("choose another place; nothing was charged")
    choose another place; nothing was charged
    """


class LedgerUnknown(LedgerError):
    """A charge was lost while it was committed, and the ledger can't be asked yet.

    Nothing may be read for it. When the ledger can be reached again, ``ledger.find(error.token)``
    returns its entry if it was charged, and None if it wasn't and never will be.

    Attributes
    ----------
    token : str
        The token that the entry of the charge would carry.
    url : str
        The ledger.
    reason : str
        Why it can't be asked.

    Examples
    --------
    >>> from discreet.ledger import LedgerUnknown
    >>> error = LedgerUnknown("a4f1", "postgresql://db/budget", "the server doesn't answer")
    >>> error.token  # later: ledger.find("a4f1")
    'a4f1'
    """

    def __init__(self, token: str, url: str, reason: str) -> None:
        super().__init__(token, url, reason)
        self.token, self.url, self.reason = token, url, reason

    def __str__(self) -> str:
        return (
            f"The ledger {self.url} was lost while a charge was committed, and can't say yet "
            f"whether it was booked: {self.reason}. Nothing may be read for it. Once the ledger can "
            f"be reached again, ledger.find({self.token!r}) returns the entry if it was charged, and "
            "None if it wasn't and never will be."
        )


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
        What the charge asked of, and found left in, the δ set aside at opening; may be empty.

    Examples
    --------
    >>> import discreet as dp
    >>> ledger = dp.Ledger(limit=dp.PureDP(1))
    >>> data = dp.PrivateDataset({"x": [1.0]}, dp.Schema(x=dp.Real(0, 9)), ledger=ledger)
    >>> try:
    ...     data.release(dp.Count(), dp.PureDP(2))
    ... except dp.BudgetExceeded as refused:
    ...     print(str(refused).split(". ")[0])
    The charge costs PureDP(epsilon=2), but the ledger has only PureDP(epsilon=1) left
    """

    def __init__(self, asked: Measure, left: Measure, account: str, reserve: str = "") -> None:
        super().__init__(asked, left, account, reserve)
        self.asked, self.left, self.account, self.reserve = asked, left, account, reserve

    def __reduce__(self) -> tuple[Any, ...]:
        return _describe_refusal, (
            self.asked.to_dict(),
            self.left.to_dict(),
            self.account,
            self.reserve,
        )

    def __str__(self) -> str:
        where = "the ledger" if self.account == "/" else f"account {self.account}"
        reserve = f" ({self.reserve})" if self.reserve else ""
        return (
            f"The charge costs {self.asked!r}, but {where} has only {self.left!r} left{reserve}. "
            "Nothing was charged and nothing may be read: ask for less, or stop here."
        )


def _describe_refusal(
    asked: dict[str, Any], left: dict[str, Any], account: str, reserve: str
) -> BudgetExceeded:
    return BudgetExceeded(measure_from_dict(asked), measure_from_dict(left), account, reserve)
