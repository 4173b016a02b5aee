"""Who spent what of a privacy budget, and what is left.

`Ledger` keeps the budget of one population; `Account` is a part of it. Both are a `Book`: something
that can be charged.
"""

from discreet.ledger.book import Account, Book
from discreet.ledger.chain import Entry
from discreet.ledger.errors import (
    BudgetExceeded,
    LedgerCorrupt,
    LedgerError,
    LedgerUnavailable,
    LedgerUnknown,
)
from discreet.ledger.ledger import Ledger
from discreet.ledger.statement import Statement

__all__ = [
    "Account",
    "Book",
    "BudgetExceeded",
    "Entry",
    "Ledger",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerUnavailable",
    "LedgerUnknown",
    "Statement",
]
