"""From the updates of clients to integers whose sum one client moves by at most `grid.RADIUS`. Numpy alone.

Proof page: ``docs/proofs/federated.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.deep.grid import CodedDense, Rule, sum_clipped

__all__ = ["Shapes", "clip_update", "sum_contributions", "sum_updates"]

Integers = npt.NDArray[np.int64]
#: The shape of each parameter that is trained: public.
Shapes = Sequence[tuple[int, ...]]

_ALONE = np.ones(1, bool)


def count_numbers(shapes: Shapes) -> int:
    """How many numbers an update has."""
    return sum(int(np.prod(shape, dtype=np.int64)) for shape in shapes)


def clip_update(update: Any, shapes: Shapes, bound: float, rule: Rule = "flat") -> Integers:
    """One client's update as integers with an L2 norm of at most `grid.RADIUS`; zeros if it isn't one.

    Parameters
    ----------
    update : sequence of arrays of floats
        Whatever a client sent. Other shapes, other types, infinite or missing numbers: all count as zeros.
    shapes : sequence of tuples
    bound : float
        The norm that is clipped to, which becomes `grid.RADIUS`.
    rule : {"flat", "per-layer", "automatic"}

    Privacy
    -------
    A function of this client's update alone, of a public shape. Nothing raises.
    """
    nothing = np.zeros(count_numbers(shapes), np.int64)
    try:
        arrays = [np.asarray(each) for each in islice(iter(update), len(shapes) + 1)]
        fits = [each.shape for each in arrays] == [tuple(shape) for shape in shapes]
        if not fits or any(each.dtype.kind != "f" for each in arrays):
            return nothing
        parts = [[CodedDense(each.reshape(1, -1))] for each in arrays]
        sums = sum_clipped(parts, bound, rule, _ALONE)
        return np.concatenate([part for each in sums for part in each])
    except Exception:  # what is wrong with an update is not told
        return nothing


def sum_updates(
    updates: Iterable[Any], shapes: Shapes, bound: float, rule: Rule = "flat"
) -> Integers:
    """The sum of clipped updates; zeros for no client.

    Privacy
    -------
    One client more or less moves it by at most `grid.RADIUS` in the L2 norm, modulo 2^64.
    """
    total = np.zeros(count_numbers(shapes), np.int64)
    for update in updates:
        total += clip_update(update, shapes, bound, rule)
    return total


def sum_contributions(contributions: Iterable[Any], size: int) -> Integers:
    """The sum of the integers of sites, modulo 2^64; what isn't an array of so many integers adds nothing.

    Privacy
    -------
    One person is at one site and moves that site's integers alone, so the sum moves as they do.
    """
    total = np.zeros(size, np.int64)
    for given in contributions:
        if isinstance(given, np.ndarray) and given.dtype == np.int64 and given.shape == (size,):
            total += given
    return total
