"""How many persons are worked on at a time: decided from public shapes, before a row is read."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, final

import torch

from discreet.deep.chain import Chain
from discreet.deep.clipping import Differentiator, Loss, Path
from discreet.deep.contributions import Contribution
from discreet.deep.grid import CHUNK, MAX_BLOCK
from discreet.deep.probe import Rows

__all__ = ["Blocks", "choose_size", "count_bytes"]

#: Networks with more parameters than this work in small blocks.
SMALL_NETWORK = 50_000
#: The most persons in a block of a chain, and what their number is a multiple of.
CHAIN_BLOCK, CHAIN_STEP = 1024, 32


@final
@dataclass(frozen=True)
class Blocks:
    """How many persons are worked on at a time, and how often each row stands there."""

    size: int
    repeats: int = 1


def choose_size(model: Any, expected: float) -> int:
    """The number of persons in a block, from the network and the expected number in a batch.

    A batch of a chain fits into one block nearly always: it has that number and two standard deviations.
    """
    if Chain.find(model) is not None:
        wanted = math.ceil((expected + 2 * math.sqrt(expected)) / CHAIN_STEP) * CHAIN_STEP
        return max(CHAIN_STEP, min(CHAIN_BLOCK, wanted))
    return 64 if sum(each.numel() for each in model.parameters()) <= SMALL_NETWORK else 32


def fit_size(model: Any, loss: Loss, path: Path, rows: Rows, each: int, memory: int) -> int:
    """The most persons whose rows fit into so many bytes while they are worked on.

    Parameters
    ----------
    model, loss, path
        As for `Differentiator`.
    rows : callable
        Random public rows.
    each : int
        Rows of a person, augmented ones included.
    memory : int
        In bytes, for what grows with the block: not for the network and the optimizer.
    """
    fixed = 8 * CHUNK * 2  # what the grid works on at a time
    one = count_bytes(model, loss, path, rows, each)
    size = (memory - fixed) // one
    if size < 1:
        raise ValueError(
            f"memory: a block of one person of this network needs about {fixed + one:,} bytes; give at least "
            "that, or use a smaller network."
        )
    return int(min(size, MAX_BLOCK))


def count_bytes(model: Any, loss: Loss, path: Path, rows: Rows, each: int) -> int:
    """How many bytes one more person takes: inputs, what autograd keeps, and gradients."""
    few, more = (_bytes_of(model, loss, path, rows, each, persons) for persons in (2, 4))
    return max(1, (more - few) // 2)


def _bytes_of(model: Any, loss: Loss, path: Path, rows: Rows, each: int, persons: int) -> int:
    engine = Differentiator(copy.deepcopy(model).train(), loss, path)
    known = {each.data_ptr() for each in engine.model.parameters()}
    kept: dict[tuple[int, int], int] = {}

    def note(tensor: Any) -> Any:
        if tensor.data_ptr() not in known:
            kept[tensor.data_ptr(), tensor.numel()] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.random.fork_rng(devices=[]):
        inputs, targets = rows(persons * each)
        ones = torch.ones(persons * each, dtype=next(iter(engine.parameters.values())).dtype)
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            found = engine.parts(inputs, targets, ones, persons)
    given: int = sum(value.numel() * value.element_size() for value in (*inputs, targets))
    with torch.no_grad():
        parts = sum(_size_of(part) for several in found.values() for _, part in several)
    return given + sum(kept.values()) + parts


def _size_of(part: Contribution) -> int:
    """The bytes of what a layer gives, and of what is made of it on the grid."""
    return sum(2 * int(array.nbytes) for array in part.coded().arrays())
