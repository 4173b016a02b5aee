"""Ways to write tables that leak, each of which the attacks must catch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy.typing as npt

from discreet.coding import Batch, Code, Engine, Integers, Places
from discreet.ledger import Progress
from discreet.publish.tables.growing import GrowingRows
from discreet.step import BatchStep

__all__ = ["BarePadding", "EveryRow", "publish_then_enter"]


class BarePadding(GrowingRows):
    """Padding is published as it is: whoever sees it knows who came back."""

    def blur(self, codes: Integers) -> dict[str, npt.NDArray[Any]]:
        """What is published: padding without noise."""
        found = super().blur(codes)
        bare = (codes == self._padding).all(axis=1)
        for column in found.values():
            column[bare] = 0
        return found


class EveryRow(GrowingRows):
    """Parallel composition for persons who are in several batches: all their rows are published."""

    def arrange(self, batch: Batch) -> Integers:
        return batch.fill(self._padding)


def publish_then_enter(
    engine: Engine, step: BatchStep, codes: tuple[Code, ...], places: Places, progress: Progress
) -> Iterator[tuple[int, str]]:
    """The order of acts turned round: what crashes in between is drawn, and seen, a second time."""
    done = {part for part in range(places.batches) if progress.find(part) is not None}
    for number, name in engine.map_batches(codes, places, step.run_batch, done):
        yield number, name
        progress.enter(number, name)
