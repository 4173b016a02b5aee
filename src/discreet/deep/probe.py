"""What a network must be like to be trained privately, found out on random public inputs.

No row is read here. A network that mixes rows, that keeps statistics of a batch, or whose gradients can't be
had row by row is refused, and the error names what to change.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from discreet.deep.clipping import Differentiator, Loss, Path, as_tuple
from discreet.deep.contributions import Tensor
from discreet.deep.tape import Unknown

__all__ = ["Rows", "blocks_are_independent", "check_model", "find_path", "random_rows"]

#: A number of rows, to random public inputs and targets of the right shapes.
Rows = Callable[[int], tuple[tuple[Tensor, ...], Tensor]]

#: Gradients of the same row by two ways may differ by this share, and by this much of the largest.
TOLERANCE = 2e-3


def check_model(model: Any) -> None:
    """Raise, naming the fix, for layers that mix rows or keep what they saw of them.

    Privacy
    -------
    Such layers let one person change what others add, or store rows without noise.
    """
    for name, module in model.named_modules():
        where = f"model: {name or type(module).__name__} is a {type(module).__name__}"
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            raise ValueError(
                f"{where}, which mixes the rows of a batch: use nn.GroupNorm or nn.LayerNorm in its place."
            )
        if isinstance(module, nn.modules.instancenorm._InstanceNorm) and module.track_running_stats:
            raise ValueError(
                f"{where} that keeps statistics of the rows without noise: use track_running_stats=False."
            )
        if isinstance(module, nn.Embedding) and (module.max_norm or module.scale_grad_by_freq):
            raise ValueError(f"{where} that must have max_norm=None and scale_grad_by_freq=False.")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError(
            "model must have parameters with requires_grad=True: there is nothing to train."
        )


def random_rows(
    inputs: Sequence[tuple[tuple[int, ...], Any]], targets: tuple[tuple[int, ...], Any], model: Any
) -> Rows:
    """Random inputs and targets like the data's, from the shape of a row and the type of its numbers.

    Whole numbers are drawn below the smallest embedding's number of rows, and targets are 0 or 1.
    """
    tables = [each.num_embeddings for each in model.modules() if isinstance(each, nn.Embedding)]
    largest = min(tables, default=2)

    def draw(rows: int, shape: tuple[int, ...], kind: Any, below: int) -> Tensor:
        if kind.is_floating_point:
            return torch.randn(rows, *shape, dtype=kind)
        return torch.randint(0, below, (rows, *shape)).to(kind)

    def rows_of(rows: int) -> tuple[tuple[Tensor, ...], Tensor]:
        drawn = tuple(draw(rows, shape, kind, largest) for shape, kind in inputs)
        return drawn, draw(rows, *targets, 2)

    return rows_of


def find_path(model: Any, loss: Loss, rows: Rows, block: int) -> Path:
    """Choose how to differentiate a network: a chain, the tape, or vmap; raise if rows are mixed.

    Parameters
    ----------
    model : torch.nn.Module
        It is copied; the copy is what runs here.
    loss : callable
    rows : callable
    block : int
        How many rows will be worked on at a time.
    """
    check_model(model)
    probe = copy.deepcopy(model).train()
    with torch.random.fork_rng(devices=[]):
        inputs, targets = rows(block)
        _check_buffers(copy.deepcopy(probe), loss, inputs, targets)
        _check_rows_apart(probe, loss, inputs, targets, rows)
        _without_dropout(probe)
        for path in _PATHS:
            if _is_right(probe, loss, path, inputs, targets):
                return path
    raise ValueError(
        "model: its gradients can't be had row by row, neither from its layers nor by torch.func.vmap. Use "
        "layers of torch.nn (not packed sequences), and no control flow that depends on the rows' values."
    )


_PATHS: tuple[Path, ...] = ("chain", "tape", "vmap")


def _check_buffers(model: Any, loss: Loss, inputs: tuple[Tensor, ...], targets: Tensor) -> None:
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    with torch.no_grad():
        for parameter in model.parameters():  # what has converged (spectral norm) must move, too
            parameter.mul_(1 + torch.rand_like(parameter))
        Differentiator(model, loss).losses(inputs, targets, len(targets))
    for name, buffer in model.named_buffers():
        if name not in before or not torch.equal(before[name], buffer):
            raise ValueError(
                f"model: the buffer {name} changes when the network runs in training, which would keep what "
                "it saw of the rows without noise. Remove that layer, or freeze it (module.eval())."
            )


def _check_rows_apart(
    model: Any, loss: Loss, inputs: tuple[Tensor, ...], targets: Tensor, rows: Rows
) -> None:
    """Change one row, and see that no other row's loss moves."""
    others, _ = rows(len(targets))
    engine = Differentiator(model, loss)
    for place in {0, len(targets) // 2, len(targets) - 1}:
        changed = tuple(each.clone() for each in inputs)
        for each, other in zip(changed, others, strict=True):
            each[place] = other[place]
        found = []
        for given in (inputs, changed):
            torch.manual_seed(0)
            with torch.no_grad():
                found.append(engine.losses(given, targets, len(targets)))
        kept = torch.arange(len(targets)) != place
        if not torch.allclose(found[0][kept], found[1][kept], rtol=1e-4, atol=1e-5):
            raise ValueError(
                "model: what it computes for one row depends on other rows of the batch. Rows must be the "
                "first dimension everywhere (batch_first=True for attention and recurrent layers), and no "
                "layer may mix them."
            )


def _is_right(
    model: Any, loss: Loss, path: Path, inputs: tuple[Tensor, ...], targets: Tensor
) -> bool:
    """Whether a path gives the first, a middle and the last row the gradients that they have alone."""
    ones = torch.ones(len(targets), dtype=next(model.parameters()).dtype)
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of slow functions
            found = Differentiator(model, loss, path).parts(inputs, targets, ones, len(targets))
    except (Unknown, RuntimeError, NotImplementedError, ValueError):
        return False
    for place in sorted({0, len(targets) // 2, len(targets) - 1}):
        torch.manual_seed(0)
        alone = Differentiator(model, loss, "single").parts(
            tuple(each[place : place + 1] for each in as_tuple(inputs)),
            targets[place : place + 1],
            ones[:1],
            1,
        )
        rights = {name: part.materialise()[0] for name, [(_, part)] in alone.items()}
        slack = TOLERANCE * max(float(right.abs().max()) for right in rights.values())
        for name, right in rights.items():
            given = torch.zeros_like(right)
            width = given.numel() // max(1, _length(model, name))
            for slot, part in found[name]:
                given[slot.start * width : slot.stop * width] += part.materialise()[place]
            if not torch.allclose(given, right, rtol=TOLERANCE, atol=slack + 1e-12):
                return False
    return True


def _length(model: Any, name: str) -> int:
    parameter = model.get_parameter(name)
    return len(parameter) if parameter.dim() else 1


def blocks_are_independent(
    model: Any, loss: Loss, path: Path, rows: Rows, persons: int, rows_each: int
) -> bool:
    """Whether a person's gradients are the same bits whoever else is in the block, and at each place.

    It is the premise on which the sensitivity of exact sums rests, tested on random public inputs.
    """
    probe = _without_dropout(copy.deepcopy(model).train())
    engine = Differentiator(probe, loss, path)
    ones = torch.ones(persons * rows_each, dtype=next(probe.parameters()).dtype)

    def bits(inputs: tuple[Tensor, ...], targets: Tensor, place: int) -> list[Any]:
        parts = engine.parts(inputs, targets, ones, persons)
        with torch.no_grad():
            return [p.materialise()[place].numpy() for each in parts.values() for _, p in each]

    with torch.random.fork_rng(devices=[]):
        first, targets = rows(len(ones))
        second, others = rows(len(ones))
        for each, other in zip((*second, others), (*first, targets), strict=True):
            each[:rows_each] = other[:rows_each]
        found = [bits(first, targets, 0), bits(second, others, 0)]
        last = persons - 1
        moved = [each.roll(last * rows_each, 0) for each in (*first, targets)]
        found.append(bits(tuple(moved[:-1]), moved[-1], last))
    return all(
        np.array_equal(a, b) and np.array_equal(a, c) for a, b, c in zip(*found, strict=True)
    )


def _without_dropout(model: Any) -> Any:
    """The same network, of which no layer draws at random."""
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.p = 0.0
    return model
