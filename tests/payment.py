"""Nothing is charged that can't be answered: what the suites ask of every act that costs something."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import discreet as dp
from discreet.ledger import Book

#: Budgets from far too small to far too large.
EPSILONS = (1e-30, 1e-15, 1e-9, 1e-7, 1e-3, 1.0, 1e3, 1e9, 1e15, 1e30)
#: Bounds of columns; the widest and the narrowest are refused when they are declared.
BOUNDS = (
    (0.0, 3.0),
    (-1e100, 1e100),
    (0.0, 1e-100),
    (-1e-100, 1e100),
    (1e16, 1e16 + 4),
    (2.0**60, 2.0**60),
    (0.0, 1e150),
    (1e-150, 3.0),
    (-1e279, 1e279),
    (1e-279, 2e-279),
    (-1e300, 1e300),
    (1e-300, 2e-300),
)


def open_ledger(
    unit: Any, *, concentrated: bool = False, accept_assumed: bool = False
) -> dp.Ledger:
    """A ledger whose limit nothing here reaches."""
    limit = dp.ZCDP(10**300) if concentrated else dp.ApproxDP(10**300, "0.999")
    return dp.Ledger(limit=limit, unit=unit, accept_assumed=accept_assumed)


def answer_or_refusal(act: Callable[[], Any], ledger: Book | None) -> Any:
    """What an act gives, all of it finite; or None, if it refuses in our own words, unpaid."""
    head = None if ledger is None else ledger.head
    refusal: Exception | None = None
    try:
        answer = act()
    except (TypeError, ValueError) as error:
        refusal = error
    if refusal is None:
        assert is_finite(answer)
        return answer
    assert ledger is None or ledger.head == head, f"paid for nothing: {refusal}"
    check_own_words(refusal)
    return None


def check_own_words(error: BaseException) -> None:
    """An error that this package raised itself, with a sentence that says what is wrong."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    assert "/discreet/" in last.filename.replace("\\", "/"), (
        f"{last.filename}:{last.lineno}: {error}"
    )
    assert str(error).endswith("."), str(error)
    assert len(str(error).split()) >= 5, str(error)


def is_finite(value: Any) -> bool:
    """Whether all numbers in an answer are finite."""
    if dataclasses.is_dataclass(value):
        return all(map(is_finite, vars(value).values()))
    if isinstance(value, list | tuple):
        return all(map(is_finite, value))
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    array = np.asarray(value)
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())
