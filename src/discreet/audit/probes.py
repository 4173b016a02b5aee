"""Probes that involve no chance: what is read when, and how far a function moves.

>>> def door(rows, pay):
...     pay()
...     return sum(float(cell) for cell in rows["age"])
>>> order_of_charge_and_read(door, {"age": [41, 17]}).verdict
'consistent'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.audit.exact import statement
from discreet.audit.results import AuditResult

__all__ = ["Refused", "WatchedRows", "order_of_charge_and_read", "sensitivity_exceeded"]


class Refused(Exception):
    """What a charge raises when the probe lets it fail.

    Examples
    --------
    >>> from discreet import audit
    >>> def door(rows, pay):
    ...     try:
    ...         pay()
    ...     except audit.Refused:
    ...         return None  # and nothing is read
    ...     return sum(rows["age"])
    >>> audit.order_of_charge_and_read(door, {"age": [41, 17]}).verdict
    'consistent'
    """


class WatchedNumber(Fraction):
    """A number that notes when somebody looks at it: compares, adds, converts or prints it."""

    _note: Callable[[], None]

    @classmethod
    def of(cls, value: float, note: Callable[[], None]) -> WatchedNumber:
        """The number `value`, which calls `note` at each look."""
        made = cls(value)
        made._note = note
        return made


def _watch(name: str) -> None:
    plain = getattr(Fraction, name)

    def looked_at(self: WatchedNumber, *others: Any) -> Any:
        self._note()
        return plain(Fraction(self._numerator, self._denominator), *others)  # type: ignore[attr-defined]

    setattr(WatchedNumber, name, looked_at)


for _name in (
    *("__float__", "__int__", "__bool__", "__hash__", "__str__", "__repr__", "__format__"),
    *("__eq__", "__lt__", "__le__", "__gt__", "__ge__"),
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__pow__"),
    *("__truediv__", "__rtruediv__", "__floordiv__", "__mod__", "__abs__", "__neg__", "__pos__"),
    *("__floor__", "__ceil__", "__round__", "__trunc__"),
):
    if hasattr(Fraction, _name):
        _watch(_name)


class WatchedRows(Mapping[str, npt.NDArray[np.object_]]):
    """Columns of numbers that note every look at a cell, for the door that is to be probed.

    Taking a column, asking for its length and passing it on don't count as looks; reading a value does.

    Parameters
    ----------
    columns : mapping of names to sequences of finite numbers
    acts : list, optional
        Where a look is noted, as ``"read"``; a list of its own by default.

    Examples
    --------
    >>> rows = WatchedRows({"age": [41, 17]})
    >>> len(rows["age"]), rows.reads
    (2, 0)
    >>> float(rows["age"][0]), rows.reads
    (41.0, 1)
    """

    def __init__(
        self, columns: Mapping[str, Sequence[float]], acts: list[str] | None = None
    ) -> None:
        self.acts: list[str] = [] if acts is None else acts

        def note() -> None:
            self.acts.append("read")

        self._columns = {
            name: np.fromiter((WatchedNumber.of(cell, note) for cell in cells), np.object_)
            for name, cells in columns.items()
        }

    @property
    def reads(self) -> int:
        """How often a cell was looked at."""
        return self.acts.count("read")

    def __getitem__(self, name: str) -> npt.NDArray[np.object_]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def order_of_charge_and_read(
    door: Callable[[WatchedRows, Callable[[], None]], Any],
    columns: Mapping[str, Sequence[float]],
    *,
    title: str | None = None,
) -> AuditResult:
    """Check that a door pays before it reads, first with a charge that passes, then with a refused one.

    Parameters
    ----------
    door : callable
        ``door(rows, pay)`` answers one question about `rows`, which are watched, and calls ``pay()`` to
        be charged for it. In the second run ``pay()`` raises `Refused`.
    columns : mapping of names to sequences of numbers
        What the rows hold.
    title : str, optional

    Returns
    -------
    AuditResult
        *Violated* if a cell is looked at before the charge, or although it is refused, or if nothing is
        ever charged.

    Privacy
    -------
    A door that reads first and charges afterwards gives a free answer to whoever makes the charge fail:
    a second analyst, a full disk, a kill. Running time and what a debugger sees are not looked at.

    Examples
    --------
    >>> from discreet import audit
    >>> def hasty(rows, pay):
    ...     total = sum(rows["age"])
    ...     pay()
    ...     return total
    >>> audit.order_of_charge_and_read(hasty, {"age": [41, 17]}).verdict
    'violated'
    """
    accepted: list[str] = []
    door(WatchedRows(columns, accepted), lambda: accepted.append("charge"))
    refused: list[str] = []

    def refuse() -> None:
        refused.append("charge")
        raise Refused("this charge is refused.")

    try:
        door(WatchedRows(columns, refused), refuse)
    except Exception:  # a door may report a refusal in its own way; what counts is what it read
        refused.append("an exception")
    early = accepted.index("charge") if "charge" in accepted else -1
    found = {
        "nothing was ever charged": early < 0,
        f"{early} looks at cells came before the charge": early > 0,
        f"{refused.count('read')} looks at cells though the charge was refused": "read" in refused,
    }
    wrong = [words for words, is_so in found.items() if is_so]
    return statement(
        title or str(getattr(door, "__name__", "the door")),
        "charges before it reads a cell, and reads nothing if the charge is refused",
        not wrong,
        "; ".join(wrong) or "the charge came first, and a refused one ended it",
        probe="order of acts",
    )


Norm = Literal["l1", "l2_squared", "largest"]


def sensitivity_exceeded(
    function: Callable[[Any], Any],
    pairs: Iterable[tuple[Any, Any]],
    bound: float | Fraction,
    *,
    norm: Norm = "l1",
    title: str | None = None,
) -> AuditResult:
    """Check whether a function of data moves farther than a bound between neighbours, on the given pairs.

    Parameters
    ----------
    function : callable
        From a data set to a number or an array of numbers, without noise.
    pairs : pairs of neighbouring data sets
        The worst that you can think of: corners of the bounds, NaN, rows that drop out, empty tables.
    bound : number
        What is claimed.
    norm : "l1", "l2_squared" or "largest"
        How the difference is measured; for ``"l2_squared"`` the bound is squared too.

    Returns
    -------
    AuditResult
        *Violated* if a distance is larger; they are computed in fractions, from the numbers as the
        function gave them.

    Examples
    --------
    >>> sensitivity_exceeded(sum, [([1, 2], [1, 2, 9])], 5).event
    'the farthest pair is 9 apart: 1.8 times the bound'
    """
    worst = Fraction(0)
    for first, second in pairs:
        worst = max(worst, _distance(function(first), function(second), norm))
    ratio = f": {_share(worst / Fraction(bound))} times the bound" if bound else ""
    return statement(
        title or str(getattr(function, "__name__", "the function")),
        f"moves by at most {float(bound):g} ({norm})",
        worst <= Fraction(bound),
        f"the farthest pair is {float(worst):g} apart{ratio}",
        probe="sensitivity",
    )


def _share(ratio: Fraction) -> str:
    """A ratio in digits; where it is barely above 1, with the difference."""
    over = float(ratio - 1)
    return f"1 + {over:.2g}" if 0 < over < 1e-3 else f"{float(ratio):.4g}"


def _distance(first: Any, second: Any, norm: Norm) -> Fraction:
    here, there = (np.asarray(side).ravel().tolist() for side in (first, second))
    if len(here) != len(there):
        raise ValueError("function must give as many numbers for both data sets of a pair.")
    gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(here, there, strict=True)]
    if norm == "l2_squared":
        return sum((gap**2 for gap in gaps), Fraction(0))
    return sum(gaps, Fraction(0)) if norm == "l1" else max(gaps, default=Fraction(0))
