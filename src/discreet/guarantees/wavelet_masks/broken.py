"""The masks LS, LS+ and pseudo-quantum of Choi & Lee 2019, drawn many times, and what reads them back.

The masks themselves are those that anybody can run on public rows: `discreet.publish.masks`.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from discreet.guarantees.draws import GENERATOR, Floats
from discreet.publish.masks import LS, LSPlus, PseudoQuantum
from discreet.publish.masks.published import PublishedMask
from discreet.publish.wavelets import THREE_BAND, forward
from discreet.unit import PUBLIC

__all__ = ["details", "ls", "ls_plus", "pseudo_quantum", "read_back", "wavelet"]

#: Table 2.1: the low-pass filter α and the two high-pass filters β.
_FILTERS = np.array(THREE_BAND.taps)


@cache
def wavelet(rows: int) -> Floats:
    """The orthogonal matrix of one level: first all approximation rows, then both detail bands."""
    if rows % 3 or rows < 6:
        raise ValueError("rows must be a multiple of 3, and at least 6.")
    return forward(np.eye(rows), THREE_BAND)


def details(table: Floats) -> Floats:
    """The detail bands of a table, or of many (trials, rows, columns): two thirds of its information."""
    return forward(table, THREE_BAND, axis=-2)[..., table.shape[-2] // 3 :, :]


def ls(
    table: Floats, trials: int, *, epsilon: float, gamma: float = 1.0, labels: bool = False
) -> Floats:
    """Masks by `LS`; `labels` sets the last column to 0 or 1 at the end."""
    return _draw(LS(epsilon, gamma), table, trials, labels)


def ls_plus(block: Floats, trials: int, *, epsilon: float, gamma: float = 1.0) -> Floats:
    """Masks of one block of rows by `LSPlus`."""
    return _draw(LSPlus(epsilon, gamma, block=len(block)), block, trials)


def pseudo_quantum(
    table: Floats,
    trials: int,
    *,
    epsilon: float,
    intensity: float = 0.1,
    labels: bool = False,
    generator: np.random.Generator = GENERATOR,
) -> Floats:
    """Masks by `PseudoQuantum`."""
    return _draw(PseudoQuantum(epsilon, intensity), table, trials, labels, generator)


def _draw(
    mask: PublishedMask,
    table: Floats,
    trials: int,
    labels: bool = False,
    generator: np.random.Generator = GENERATOR,
) -> Floats:
    target = -1 if labels else None
    return mask.draw(table, trials, unit=PUBLIC, target=target, random_state=generator)[0]


def read_back(masked: Floats, likely: float = 0.0) -> Floats:
    """A table of zeros and ones from its LS or pseudo-quantum mask, without any key.

    A pair of detail coefficients is a function of six successive rows: a list of the 64 possible pairs
    identifies them. Only six equal rows can't be told apart (both filters sum to 0): there the neighbours
    decide, and finally the value that is `likely`.
    """
    rows, columns = masked.shape
    third = rows // 3
    patterns = np.array([[code >> bit & 1 for bit in range(6)] for code in range(64)], np.float64)
    known = patterns @ _FILTERS[1:].T
    starts = 3 * np.arange(third)
    windows = masked[(starts[:, None] + np.arange(6)) % rows]  # the masked rows of each window
    seen = np.einsum("kwc,bw->kcb", windows, _FILTERS[1:])
    nearest = np.argmin(((seen[:, :, None, :] - known) ** 2).sum(axis=-1), axis=-1)
    unsure = (nearest == 0) | (nearest == 63)
    bits = patterns[nearest]  # (windows, columns, 6)
    table = np.full((rows, columns), np.nan)
    # a row stands in the first half of one window, the second of the one before
    for half in (0, 3):
        for place in range(3):
            at = (starts + half + place) % rows
            table[at] = np.where(unsure, table[at], bits[:, :, half + place])
    for order in (range(third), range(third - 1, -1, -1)):  # equal rows take over what is known
        for k in order:
            here = (3 * k + np.arange(6)) % rows
            found = np.nanmax(np.vstack([table[here], np.full(columns, -1.0)]), axis=0)
            fill = unsure[k] & (found >= 0)
            table[np.ix_(here, np.flatnonzero(fill))] = found[fill]
    return np.where(np.isnan(table), likely, table)
