"""The masks LS, LS+ and pseudo-quantum of Choi & Lee 2019, drawn many times.

The masks themselves are those that anybody can run on public rows: `discreet.publish.masks`. What reads
them back is `discreet.audit.denoise`.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from discreet.guarantees.draws import GENERATOR, Floats
from discreet.publish.masks import LS, LSPlus, PseudoQuantum
from discreet.publish.masks.published import PublishedMask
from discreet.publish.wavelets import THREE_BAND, forward
from discreet.unit import PUBLIC

__all__ = ["details", "ls", "ls_plus", "pseudo_quantum", "wavelet"]


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
