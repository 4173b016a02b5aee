"""One step of a private training: the integer sum of a batch's clipped gradients, noised."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt
import torch

from discreet.deep.augmenting import Augment, augment_rows
from discreet.deep.clipping import Differentiator, Part, sum_in_floats, width_of
from discreet.deep.contributions import Tensor
from discreet.deep.grid import RADIUS, Rule, code_clipped, sum_columns
from discreet.deep.tensors import Block
from discreet.deep.totals import IntegerTotal, Placed
from discreet.noise.generators import find_generators, keep_states, reseed

__all__ = ["Arithmetic", "BatchSum"]

Integers = npt.NDArray[np.int64]
#: How a batch is added up: proved, or faster.
Arithmetic = Literal["exact", "fast"]
#: What a block, or one person of it, adds.
Found = Integers | list[Placed]


@final
@dataclass(frozen=True)
class BatchSum:
    """The sum of clipped gradients of drawn persons, as integers.

    Attributes
    ----------
    engine : Differentiator
    bound : float
        The norm that a person's gradient is clipped to.
    rule : {"flat", "per-layer", "automatic"}
    arithmetic : {"exact", "fast"}
    augment : callable or None

    Privacy
    -------
    With ``"exact"`` a person moves the sum by at most `grid.RADIUS`, given that at a fixed shape of blocks
    their gradients depend on their rows and the network alone. With ``"fast"`` sums are rounded by the
    network's float arithmetic, which isn't bounded here. Proof page: ``docs/proofs/deep.md``.
    """

    engine: Differentiator
    bound: float
    rule: Rule
    arithmetic: Arithmetic
    augment: Augment | None = None

    def total(self, blocks: Iterable[Block]) -> Integers:
        """The sum over blocks; zeros for no block."""
        parameters = self.engine.parameters
        total = IntegerTotal(sum(each.numel() for each in parameters.values()))
        for block in blocks:
            for found in self._block(block, parameters):
                if isinstance(found, np.ndarray):
                    total.add_integers(found)
                else:
                    total.add(found, len(block.present))
        return total.total()

    def _block(self, block: Block, parameters: dict[str, Tensor]) -> list[Found]:
        if self.augment is not None:
            own = self._of_augment
            inputs, present = augment_rows(self.augment, block.inputs, block.present, own)
            each = len(block.weights) // max(1, len(present))
            weights = block.weights * np.repeat(present, each)
            block = Block(inputs, block.targets, weights, present)
        reseed(self._generators)  # reading rows, or changing them, may have seeded them by a row
        back = keep_states(self._generators)
        try:
            return [self._sum(block, parameters)]
        except KeyboardInterrupt:
            raise
        except BaseException:  # a value that the network refuses, such as a class out of range
            return self._by_person(block, parameters, back)

    def _by_person(
        self, block: Block, parameters: dict[str, Tensor], back: Callable[[], None]
    ) -> list[Found]:
        """Each person alone, with the draws that their place had: whether they raise is theirs to decide."""
        alone: list[Found] = []
        for place in np.flatnonzero(block.present):
            back()
            try:
                alone.append(self._sum(block.keep(int(place)), parameters))
            except KeyboardInterrupt:
                raise
            except BaseException:  # an error is a fact about this person: it adds nothing
                continue
        reseed(self._generators)  # the next block's draws are its own
        return alone

    @cached_property
    def _generators(self) -> list[Any]:
        """What the network and the loss may draw from, besides the generators of the process."""
        return find_generators(self.engine.model, self.engine.loss)

    @cached_property
    def _of_augment(self) -> list[Any]:
        return find_generators(self.augment)

    def _sum(self, block: Block, parameters: dict[str, Tensor]) -> Found:
        inputs = block.inputs
        kind = next(iter(parameters.values())).dtype
        weights = torch.from_numpy(block.weights).to(kind)
        if self._is_chain and len(weights) == len(block.present):
            return self._in_columns(inputs, block, weights)
        found = self.engine.parts(inputs, block.targets, weights, len(block.present))
        with torch.no_grad():
            if self.arithmetic == "fast":
                total = self._in_floats(found, block, parameters)
                if np.isfinite(total).all():
                    return np.rint(total).astype(np.int64)
            return self._in_integers(found, block, parameters)

    @property
    def _is_chain(self) -> bool:
        """Whether all gradients are products, to be clipped together."""
        chosen = self.arithmetic == "exact" and self.rule != "per-layer"
        return chosen and self.engine.chain is not None

    def _in_columns(self, inputs: Any, block: Block, weights: Tensor) -> Integers:
        columns = self.engine.columns(inputs, block.targets, weights)
        assert self.engine.chain is not None
        stacked, widths = self.engine.chain.stack(columns)
        totals = sum_columns(stacked, widths, self.bound, self.rule, block.present)
        return self.engine.chain.flatten(totals)

    def _in_floats(
        self, found: dict[str, list[Part]], block: Block, parameters: dict[str, Tensor]
    ) -> npt.NDArray[np.float64]:
        total = sum_in_floats(
            parameters, found, self.bound, self.rule, torch.from_numpy(block.present)
        )
        flat = torch.cat([total[name].flatten() for name in parameters]).double().numpy()
        return np.asarray(flat * (RADIUS / self.bound))

    def _in_integers(
        self, found: dict[str, list[Part]], block: Block, parameters: dict[str, Tensor]
    ) -> list[Placed]:
        coded = [[part.coded() for _, part in found[name]] for name in parameters]
        wholes = code_clipped(coded, self.bound, self.rule, block.present)
        placed, at = [], 0
        for (name, parameter), parts in zip(parameters.items(), wholes, strict=True):
            width = width_of(parameter)
            for (slot, _), whole in zip(found[name], parts, strict=True):
                placed.append(Placed(at + slot.start * width, at + slot.stop * width, whole))
            at += parameter.numel()
        return placed
