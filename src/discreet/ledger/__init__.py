"""Who spent what of a privacy budget, and what is left.

`Ledger` keeps the budget of one population; `Account` is a part of it. Both are a `Book`. Whatever is
charged before rows are read is a `Payer`: a book, a `PaidPlan`, or `Nobody` where rows are public.

>>> from discreet.ledger import NOT_DATA
>>> NOT_DATA  # what notes of a rehearsal begin with
'NOT DATA: made-up rows of a rehearsal'
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
from discreet.ledger.payers import NOT_DATA, Nobody, Payer
from discreet.ledger.plans import PaidPlan
from discreet.ledger.progress import Progress
from discreet.ledger.statement import Statement

__all__ = [
    "NOT_DATA",
    "Account",
    "Book",
    "BudgetExceeded",
    "Entry",
    "Ledger",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerUnavailable",
    "LedgerUnknown",
    "Nobody",
    "PaidPlan",
    "Payer",
    "Progress",
    "Statement",
]
