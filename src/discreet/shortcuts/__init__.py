"""One-liners: a private mean, sum, count, histogram or quantile of one column that is at hand.

Each is the long form in one call: a schema for the column, a ledger, the door, one release. What they save is
typing, never a charge.
"""

from discreet.shortcuts.counting import count, histogram
from discreet.shortcuts.numbers import mean, median, quantile, std, sum, variance

__all__ = ["count", "histogram", "mean", "median", "quantile", "std", "sum", "variance"]
