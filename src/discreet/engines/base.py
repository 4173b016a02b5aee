"""What engines share: answers of parts added up, errors that tell nothing, checks of types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from discreet.coding import Places, Tally

Result = TypeVar("Result")


def join_tallies(tallies: Iterable[Tally]) -> Tally:
    """The tallies of parts of a table, added up."""
    counts: dict[tuple[int, int], int] = {}
    for tally in tallies:
        for group, code, count in np.stack(tally, axis=1).tolist():
            counts[group, code] = counts.get((group, code), 0) + count
    rows = np.array([(*key, counts[key]) for key in sorted(counts)], np.int64).reshape(-1, 3)
    return Tally(rows[:, 0], rows[:, 1], rows[:, 2])


def join_keys(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    """The counts of keys in parts of a table, added up."""
    counts: dict[str, int] = {}
    for part in parts:
        for key, count in part.items():
            counts[key] = counts.get(key, 0) + count
    return counts


class EngineFailed(RuntimeError):
    """What holds the rows could not be read. Its own message is withheld: it may show a row."""


def withhold_errors(act: Callable[[], Result]) -> Result:
    """The result of `act`; if it fails, an error that neither shows nor holds the engine's own."""
    try:
        with np.errstate(all="ignore"):
            return act()
    except (EngineFailed, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # engines in other languages panic with errors of their own
        name = type(error).__name__
    raise EngineFailed(
        f"the data could not be read: the engine behind it failed with {name}. Its message is withheld "
        "because it may show a row; check that the file or frame can be read at all."
    )


def withhold_each(found: Iterator[Result]) -> Iterator[Result]:
    """What an iterator gives; if it fails on the way, an error that tells nothing."""
    end = object()
    while (item := withhold_errors(lambda: next(found, end))) is not end:
        yield item  # type: ignore[misc]


def refuse_key(places: Places) -> None:
    """Refuse a column of slots where rows have a position."""
    if places.order_by is not None:
        raise ValueError(
            "order_by: rows of arrays, data frames in memory and files stand in their order already; leave "
            "order_by out."
        )
