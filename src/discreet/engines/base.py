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


#: What to do about failures that no row can cause, by the name of the error, which is told anyway.
_REMEDIES = {
    "PermissionError": "this user may not read it; ask for the permission, or copy it to where you may",
    "FileNotFoundError": "it is not there any more; check the path, and open the data set again",
    "IsADirectoryError": "it is a folder; name the file in it",
    "ConnectionRefusedError": "no server answers there; check the address, and that the server runs",
    "ConnectionResetError": "the server broke off; check that it runs, and try again",
    "TimeoutError": "no answer came in time; check the network, and try again",
    "BadGzipFile": "it isn't compressed by gzip; rename it to .csv if it is plain text",
    "ModuleNotFoundError": "a package that it needs is missing; install it",
    "ImportError": "a package that it needs is missing; install it",
}


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
    remedy = _REMEDIES.get(name, "check that the file or frame can be read at all")
    raise EngineFailed(
        f"the data could not be read: the engine behind it failed with {name}: {remedy}. Its message is "
        "withheld because it may show a row."
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
