"""Where a training's rows come from: tensors, or a map-style data set."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from discreet.deep.clipping import as_tuple
from discreet.deep.contributions import Tensor
from discreet.noise.generators import find_generators, reseed

__all__ = ["Source", "open_source"]


class Source:
    """Tensors, rows in the first dimension."""

    reader: Any = None

    def __init__(self, inputs: tuple[Tensor, ...], targets: Tensor) -> None:
        self._inputs, self._targets = inputs, targets

    def __len__(self) -> int:
        return len(self._targets)

    @property
    def inputs(self) -> list[tuple[tuple[int, ...], Any]]:
        """The shape of a row and the type of its numbers, for each argument of the network."""
        return [(tuple(each.shape[1:]), each.dtype) for each in self._inputs]

    @property
    def targets(self) -> tuple[tuple[int, ...], Any]:
        """The shape and the type of a row's target."""
        return tuple(self._targets.shape[1:]), self._targets.dtype

    def take(self, places: npt.NDArray[np.int64]) -> tuple[tuple[Tensor, ...], Tensor]:
        """The rows at these places; zeros at -1."""
        missing = np.flatnonzero(places < 0)
        if not len(self._targets):
            missing, places = np.arange(len(places)), np.full(len(places), -1)
        at = torch.from_numpy(np.where(places < 0, 0, places))
        empty = torch.from_numpy(missing)

        def fill(values: Tensor) -> Tensor:
            if len(missing) == len(places):
                return values.new_zeros(len(places), *values.shape[1:])
            found = values.index_select(0, at)
            return found.index_fill_(0, empty, 0) if len(missing) else found

        return tuple(map(fill, self._inputs)), fill(self._targets)


class Mapped(Source):
    """A map-style data set, of which drawn rows alone are read."""

    def __init__(self, rows: Any, example: tuple[Any, Any]) -> None:
        inputs = tuple(torch.as_tensor(each)[None] for each in as_tuple(example[0]))
        super().__init__(inputs, torch.as_tensor(example[1])[None])
        self.reader = rows

    def __len__(self) -> int:
        return len(self.reader)

    def take(self, places: npt.NDArray[np.int64]) -> tuple[tuple[Tensor, ...], Tensor]:
        inputs = tuple(each.new_zeros(len(places), *each.shape[1:]) for each in self._inputs)
        targets = self._targets.new_zeros(len(places), *self._targets.shape[1:])
        for at in np.flatnonzero(places >= 0):
            slots = [slot[at] for slot in (*inputs, targets)]
            reseed(self._generators)  # what one row seeds is nothing to the next
            try:
                values = self._read(int(places[at]), slots)
            except KeyboardInterrupt:
                raise
            except BaseException:  # what is wrong with a row is not told: it counts as zeros
                continue
            for slot, value in zip(slots, values, strict=True):
                slot.copy_(value)
        return inputs, targets

    @cached_property
    def _generators(self) -> list[Any]:
        return find_generators(self.reader)

    def _read(self, place: int, slots: list[Tensor]) -> list[Tensor]:
        """One row as tensors like `slots`, whole or not at all."""
        given, aim = self.reader[place]
        values = [*map(torch.as_tensor, as_tuple(given)), torch.as_tensor(aim)]
        if [each.shape for each in values] != [slot.shape for slot in slots]:
            raise ValueError("the row has another shape.")
        pairs = zip(slots, values, strict=True)
        return [torch.empty_like(slot).copy_(value.detach()) for slot, value in pairs]


def open_source(inputs: Any, targets: Any, example: tuple[Any, Any] | None) -> Source:
    """Tensors, or a map-style data set with a made-up row, as a source of rows."""
    if targets is None:
        if not hasattr(inputs, "__getitem__") or not hasattr(inputs, "__len__"):
            raise TypeError("targets must be given, or a map-style data set of pairs as inputs.")
        if example is None:
            raise ValueError(
                "example must be given with a data set: a made-up pair (input, target) of the right shapes, "
                "since its shapes are public and its rows are not."
            )
        return Mapped(inputs, example)
    tensors = tuple(torch.as_tensor(each) for each in as_tuple(inputs))
    aims = torch.as_tensor(targets)
    if aims.dim() < 1 or any(each.dim() < 1 or len(each) != len(aims) for each in tensors):
        raise ValueError("inputs and targets must have rows in the first dimension, equally many.")
    return Source(tensors, aims)
