"""What a network must be like to be trained privately, found out on random public inputs.

No row is read here. A network that mixes rows, that keeps statistics of a batch, or whose gradients can't be
had row by row is refused, and the error names what to change.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from discreet.deep.augmenting import Augment, are_near, check_augment, put_row
from discreet.deep.clipping import Differentiator, Loss, Path, as_tuple, isolate, width_of
from discreet.deep.contributions import Tensor
from discreet.deep.dropout import without_dropout
from discreet.deep.kept import check_hooks, check_kept
from discreet.deep.quiet import keep_quiet
from discreet.deep.tape import Unknown
from discreet.noise.generators import find_generators, rewind

__all__ = [
    "Rows",
    "blocks_are_independent",
    "check_floats",
    "check_model",
    "find_path",
    "perturb",
    "random_rows",
]

#: A number of rows, to random public inputs and targets of the right shapes.
Rows = Callable[[int], tuple[tuple[Tensor, ...], Tensor]]

#: Gradients of the same row by two ways may differ by this share, and by this much of the largest.
TOLERANCE = 2e-3
#: What a row may hold that others must not notice.
EXTREMES = (math.nan, math.inf, 1e30, -1e4)
#: How often the independence of blocks is tried, each time with other weights and rows.
TRIES = 5
#: Sums in floats clip to no less than this: far below it squares are zero.
SMALLEST_FAST_BOUND = 1e-10


def check_model(model: Any) -> None:
    """Raise, naming the fix, for layers that mix rows or keep what they saw of them.

    Privacy
    -------
    Such layers let one person change what others add, or store rows without noise.
    """
    if any(map(nn.parameter.is_lazy, model.parameters())):
        raise ValueError(
            "model: it has lazy layers; run it once on made-up rows, so that they get shapes."
        )
    for name, module in model.named_modules():
        where = f"model: {name or type(module).__name__} is a {type(module).__name__}"
        check_hooks(where, module)
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            raise ValueError(
                f"{where}, which mixes the rows of a batch: use nn.GroupNorm or nn.LayerNorm in its place."
            )
        if isinstance(module, nn.modules.instancenorm._InstanceNorm) and module.track_running_stats:
            raise ValueError(
                f"{where} that keeps statistics of the rows without noise: use track_running_stats=False."
            )
        if isinstance(module, nn.Embedding | nn.EmbeddingBag) and (
            module.max_norm or module.scale_grad_by_freq or module.sparse
        ):
            raise ValueError(
                f"{where} that must have max_norm=None, scale_grad_by_freq=False and sparse=False."
            )
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


def check_floats(model: Any, bound: float) -> None:
    """Raise where norms in the network's own arithmetic would not see what is clipped.

    Privacy
    -------
    Squares of small numbers are zero in it, and sums of halves lose whole persons.
    """
    halves = (torch.float16, torch.bfloat16)
    if any(parameter.dtype in halves for parameter in model.parameters()):
        raise ValueError(
            "arithmetic must be 'exact' for a network in half precision: norms and sums in so few bits bound "
            "nobody's share."
        )
    if bound < SMALLEST_FAST_BOUND:
        raise ValueError(
            f"arithmetic must be 'exact' with max_grad_norm below {SMALLEST_FAST_BOUND:g}: the squares of "
            "such small gradients are zero in float arithmetic."
        )


def find_path(
    model: Any, loss: Loss, rows: Rows, block: int, augment: Augment | None = None
) -> Path:
    """Choose how to differentiate a network: the first path that fits; raise if rows are mixed, or kept.

    Parameters
    ----------
    model : torch.nn.Module
        It is copied; the copy is what runs here.
    loss : callable
    rows : callable
    block : int
        How many rows will be worked on at a time.
    augment : callable, optional
        What changes rows at random before the network gets them.
    """
    check_model(model)
    isolate(model)
    probe = copy.deepcopy(model).train()
    with rewind(find_generators(augment, probe, loss)) as back:
        inputs, targets = rows(block)
        check_kept(copy.deepcopy(probe), loss, inputs, targets)
        if augment is not None:
            check_augment(augment, inputs, rows(block)[0], back)
        perturb(probe)
        _check_rows_apart(probe, loss, inputs, targets, rows, back)
        drawing = copy.deepcopy(probe)
        with without_dropout(probe):
            _check_reached(probe, loss, inputs, targets)
        for path in _PATHS:
            with without_dropout(probe):
                if not _is_right(probe, loss, path, inputs, targets):
                    continue
                reached = _list_reached(probe, loss, path, inputs, targets)
            # a path that knows a weight may not know one from which numbers are dropped
            if reached <= _list_reached(drawing, loss, path, inputs, targets):
                return path
    raise ValueError(
        "model: its gradients can't be had row by row, neither from its layers nor by torch.func.vmap. Use "
        "layers of torch.nn (not packed sequences), no control flow that depends on the rows' values, and no "
        "draws at random but those of dropout."
    )


_PATHS: tuple[Path, ...] = ("chain", "channels-last", "tape", "vmap")


def _check_reached(model: Any, loss: Loss, inputs: tuple[Tensor, ...], targets: Tensor) -> None:
    """Raise for a parameter that moves the losses though no gradient reaches it: it would never learn."""
    engine = Differentiator(model, loss)
    trained = engine.parameters
    with torch.enable_grad():
        before = engine.losses(inputs, targets, len(targets))
        if not before.requires_grad:
            return
        total = before.sum()
        found = torch.autograd.grad(total, list(trained.values()), allow_unused=True)
    with torch.no_grad():
        for (name, parameter), gradient in zip(trained.items(), found, strict=True):
            if gradient is None:
                kept = parameter.clone()
                parameter.add_(torch.rand_like(parameter))
                after = engine.losses(inputs, targets, len(targets))
                parameter.copy_(kept)
                if not are_near(before, after):
                    raise ValueError(
                        f"model: {name} moves the losses, but no gradient reaches it. Use checkpoints with "
                        "use_reentrant=False, or set requires_grad=False."
                    )


def perturb(model: Any) -> None:
    """Move all weights at random: what weights of zero hide, training would bring to light."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.numel():
                size = float(parameter.double().square().mean().sqrt())
                size = size or width_of(parameter) ** -0.5
                parameter.add_(0.3 * size * torch.randn_like(parameter))


def _extremes(given: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
    """Rows of extreme values; of numbers that aren't floats as they are."""

    def fill(each: Tensor, value: float) -> Tensor:
        if not each.is_floating_point():
            return each
        largest = torch.finfo(each.dtype).max
        return torch.full_like(each, min(value, largest) if math.isfinite(value) else value)

    return [tuple(fill(each, value) for each in given) for value in EXTREMES]


def _check_rows_apart(
    model: Any,
    loss: Loss,
    inputs: tuple[Tensor, ...],
    targets: Tensor,
    rows: Rows,
    back: Callable[[], None],
) -> None:
    """Change one row and its target, and see that no other row's loss moves; zeros must be taken, too."""
    count, given = len(targets), (*inputs, targets)
    drawn, aims = rows(count)
    engine, middle = Differentiator(model, loss), count // 2

    def run(values: tuple[Tensor, ...]) -> Tensor:
        back()
        with torch.no_grad():
            return engine.losses(values[:-1], values[-1], count)

    first = run(given)

    def check(place: int, second: Tensor) -> None:
        kept = torch.arange(count) != place
        if not are_near(first[kept], second[kept]):
            raise ValueError(_MIXED)

    for place in sorted({0, middle, count - 1}):
        check(place, run(put_row(given, place, (*drawn, aims))))
    for extreme in _extremes(given):
        found = _try(run, put_row(given, middle, extreme))
        if found is not None:
            check(middle, found)
    blank = tuple(torch.zeros_like(each) for each in given)
    alone = _try(run, put_row(blank, middle, given))
    if alone is None:
        raise ValueError(
            "model: it, or the loss, raises for rows of zeros. They fill places where nobody is, so it must "
            "take them."
        )
    if not are_near(alone[middle], first[middle]):
        raise ValueError(_MIXED)


def _try(run: Callable[..., Any], *arguments: Any) -> Any:
    """What comes out, or None if it raises: whoever raises in a training is left out, alone."""
    try:
        with keep_quiet():
            return run(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


_MIXED = (
    "model: what it, or the loss, computes for one row depends on other rows of the batch. Rows must be the "
    "first dimension everywhere (batch_first=True for attention and recurrent layers), and nothing may mix "
    "them, not even a check of the whole batch."
)


def _find_parts(
    model: Any, loss: Loss, path: Path, inputs: tuple[Tensor, ...], targets: Tensor
) -> Any:
    """What rows add to the gradients by a path; None where it can't tell."""
    ones = torch.ones(len(targets), dtype=next(model.parameters()).dtype)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of slow functions
            return Differentiator(model, loss, path).parts(inputs, targets, ones, len(targets))
    except (Unknown, RuntimeError, NotImplementedError, ValueError):
        return None


def _list_reached(
    model: Any, loss: Loss, path: Path, inputs: tuple[Tensor, ...], targets: Tensor
) -> set[str]:
    """The parameters to whose gradients rows add something."""
    found = _find_parts(model, loss, path, inputs, targets) or {}
    return {name for name, parts in found.items() if parts}


def _is_right(
    model: Any, loss: Loss, path: Path, inputs: tuple[Tensor, ...], targets: Tensor
) -> bool:
    """Whether a path gives the first, a middle and the last row the gradients that they have alone."""
    found = _find_parts(model, loss, path, inputs, targets)
    if found is None:
        return False
    ones = torch.ones(1, dtype=next(model.parameters()).dtype)
    for place in sorted({0, len(targets) // 2, len(targets) - 1}):
        alone = Differentiator(model, loss, "single").parts(
            tuple(each[place : place + 1] for each in as_tuple(inputs)),
            targets[place : place + 1],
            ones,
            1,
        )
        rights = {name: part.materialise()[0] for name, [(_, part)] in alone.items()}
        slack = TOLERANCE * max(float(r.abs().max()) for r in rights.values() if r.numel())
        for name, right in rights.items():
            given = torch.zeros_like(right)
            width = width_of(model.get_parameter(name))
            for slot, part in found[name]:
                given[slot.start * width : slot.stop * width] += part.materialise()[place]
            if not torch.allclose(given, right, rtol=TOLERANCE, atol=slack + 1e-12):
                return False
    return True


def blocks_are_independent(
    model: Any, loss: Loss, path: Path, rows: Rows, persons: int, rows_each: int
) -> bool:
    """Whether a person's gradients are the same bits whoever else is in the block, and at each place.

    It is the premise on which the sensitivity of exact sums rests, tested on random public inputs, with
    weights that are moved at random, and with others who are missing, not finite or huge. What is compared
    is what the integer grid is given. A block of copies of one person shows all places. A single try may
    pass where some weights and rows would not, so there are several.
    """
    held = []  # where arrays begin in memory may decide how they are rounded
    for turn in range(TRIES):
        held += [torch.empty(1 + 4099 * (8 * turn + place) % 20_011) for place in range(8)]
        if not _try_blocks(model, loss, path, rows, persons, rows_each):
            return False
    return True


def _try_blocks(
    model: Any, loss: Loss, path: Path, rows: Rows, persons: int, rows_each: int
) -> bool:
    """Whether blocks are independent at one choice of weights and rows."""
    probe = copy.deepcopy(model).train()
    with rewind(find_generators(probe, loss)), without_dropout(probe):
        perturb(probe)
        engine = Differentiator(probe, loss, path)
        ones = torch.ones(persons * rows_each, dtype=next(probe.parameters()).dtype)

        def bits(given: tuple[Tensor, ...]) -> list[Any]:
            parts = engine.parts(given[:-1], given[-1], ones, persons)
            with torch.no_grad():
                coded = [part.coded() for found in parts.values() for _, part in found]
            return [array for each in coded for array in (*each.arrays(), each.squared_norms())]

        def beside(others: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            mixed = tuple(each.clone() for each in others)
            for each, mine in zip(mixed, given, strict=True):
                each[:rows_each] = mine[:rows_each]
            return mixed

        def place(found: list[Any], at: int) -> list[Any]:
            return [each[at : at + 1] for each in found]

        inputs, targets = rows(len(ones))
        given = (*inputs, targets)
        mine = place(bits(given), 0)
        second, aims = rows(len(ones))
        last = persons - 1
        crowd = tuple(torch.cat([each[:rows_each]] * persons) for each in given)
        found = [place(bits(beside((*second, aims))), 0), bits(crowd)]
        found.append(place(bits(tuple(each.roll(last * rows_each, 0) for each in given)), last))
        found.append(place(bits(beside(tuple(torch.zeros_like(each) for each in given))), 0))
        extremes = [_try(bits, beside(extreme)) for extreme in _extremes(given)]
        found += [place(each, 0) for each in extremes if each is not None]
    return all(
        np.array_equal(np.broadcast_to(a, b.shape), b, equal_nan=True)
        for each in found
        for a, b in zip(mine, each, strict=True)
    )
