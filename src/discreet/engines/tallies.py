"""How often each value of a code occurs in each group, counted a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from discreet.coding import Integers, Tally

#: Up to this many cells, counts are an array; beyond, only the values that occur are kept.
MAX_CELLS = 2**24


def tally_places(groups: int, width: int, parts: Iterable[Integers]) -> Tally:
    """The tally of places group·width + code, which come in parts."""
    if groups * width <= MAX_CELLS:
        counts = np.zeros(groups * width, np.int64)
        for part in parts:
            np.add.at(counts, part, 1)
        places = np.flatnonzero(counts)
        return Tally(places // width, places % width, counts[places])
    seen: dict[int, int] = {}
    for part in parts:
        values, numbers = np.unique(part, return_counts=True)
        for value, number in zip(values.tolist(), numbers.tolist(), strict=True):
            seen[value] = seen.get(value, 0) + number
    places = np.array(sorted(seen), np.int64)
    found = np.fromiter((seen[place] for place in places.tolist()), np.int64, len(places))
    return Tally(places // width, places % width, found)
