"""Sample and aggregate as it is released: the noise that the step itself draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, final

import numpy as np

from discreet.audit.registry import Case, Part
from discreet.guarantees.fits import SCHEMA, Integers, likelihood
from discreet.measures import PureDP
from discreet.mechanisms import Distribution, NoNoise, mechanism_for
from discreet.models.cluster.blocks import SIZE, BlockCentres, block_sensitivity, dealt
from discreet.step import CodedRows
from discreet.unit import ADD_REMOVE, Unit

__all__ = ["released_blocks"]

BLOCKS = 8
COLUMNS = ("x", "y")


@final
class _ManyTimes:
    """The same distribution on many copies of the sums, so that a step draws for many runs at once."""

    def __init__(self, distribution: Distribution, times: int) -> None:
        self._distribution, self._times = distribution, times

    def run(self, totals: Integers) -> Integers:
        return self._distribution.run(np.repeat(totals[None], self._times, axis=0))


def _neighbours() -> tuple[Integers, Integers]:
    """Codes of rows in the middle of all blocks but one, without and with a row at a corner in that one."""
    corner = np.array([[SIZE, SIZE]])
    rows = [np.array([[SIZE // 2 + step, SIZE // 2]]) for step in range(1_000)]
    by_block = {int(dealt(row, BLOCKS)[0]): row for row in rows}
    del by_block[int(dealt(corner, BLOCKS)[0])]
    middle = np.concatenate(list(by_block.values()))
    return middle, np.concatenate([middle, corner])


def released_blocks(epsilon: int = 2, trials: int = 20_000) -> Iterator[Part]:
    """Yield the step's own answer for neighbours whose sums lie amid the grid, so that no noise is cut."""
    unit = Unit(ADD_REMOVE)
    moved = block_sensitivity(SCHEMA, unit, COLUMNS, 1, BLOCKS)
    noise = mechanism_for(PureDP(epsilon), moved).distribution(moved)
    starts = np.zeros((1, 1, 2))

    def answer(codes: Integers, distribution: Any) -> Integers:
        rows = CodedRows(codes, COLUMNS, SCHEMA)
        shares = BlockCentres(COLUMNS, starts, BLOCKS, distribution).run(rows)
        return np.asarray(np.rint(shares * (SIZE * BLOCKS)), np.int64)

    def mechanism(codes: Integers, trials: int) -> Integers:
        return answer(codes, _ManyTimes(noise, trials)).reshape(trials, -1)

    pair = _neighbours()
    here, there = (answer(codes, NoNoise()).ravel() for codes in pair)
    options = {"score": likelihood(noise, here, there)}
    title = f"{BLOCKS} blocks as released, ε = {epsilon}"
    yield Case(title, mechanism, pair, float(epsilon), trials, options)
