"""Whether the rows of a block draw at random each by itself, found out on random public inputs.

Proofs couple the draws of persons: who is removed moves those behind to other places, which changes nothing
if all draws are independent and equally distributed. One mask for a whole block isn't: its rows add up.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from discreet.deep.clipping import Differentiator, Loss, Path
from discreet.deep.contributions import Tensor
from discreet.deep.probe import Rows, perturb
from discreet.noise.generators import find_generators, read_states, rewind

__all__ = ["check_draws_apart"]

#: Copies of a row that draw side by side, how many rows are tried, and how many runs each has.
COPIES, ROWS, RUNS = 16, 2, 32
#: How many runs each of two more series has where draws look shared.
MORE_RUNS = 128
#: How many times the variance that independent draws would have is suspected at first, and then refused: for
#: draws that two rows share it is 2, and among this many runs it varies by a quarter and by an eighth.
SUSPECT, REFUSED = 1.4, 1.6
#: How many times less than that it may be: draws of rows that make up for one another's have less.
LOW = 4.0
#: Variances below this share of the mean square are rounding.
ROUNDING = 1e-10


def check_draws_apart(model: Any, loss: Loss, path: Path, rows: Rows) -> None:
    """Raise where rows share what the network, or its loss, draws, or where draws go by place.

    Parameters
    ----------
    model : torch.nn.Module
        It is copied; the copy is what runs here.
    loss : callable
    path : str
        How it is differentiated.
    rows : callable
        From a number of rows to random public inputs and targets.
    """
    with rewind(find_generators(model, loss)):
        probe = copy.deepcopy(model).train()
        perturb(probe)  # weights of zero would hide what is drawn behind them
        engine = Differentiator(probe, loss, path)
        generators = find_generators(engine.model, engine.loss)
        before = read_states(generators, with_torch=False)
        counts = _count_draws(engine, rows)
        if read_states(generators, with_torch=False) != before:
            raise ValueError(
                "model: it, or the loss, draws from a generator that isn't torch's, once for all rows of a "
                "block: draw with torch, so that each row has its own, or train with block=1."
            )
        if path == "vmap":
            return  # each row is run by itself, and draws its own
        fewer, more = counts[COPIES], counts[COPIES + 1]
        if fewer or more:
            shared = [(COPIES + 1) * count for count in fewer] != [COPIES * count for count in more]
            if shared or _vary_together(engine, rows):
                raise ValueError(
                    "model: rows of a block share what it, or the loss, draws at random, such as one mask "
                    "for all of them, or it seeds a generator in each call. Each row must draw its own: "
                    "draw with the rows as the first dimension, or train with block=1."
                )


class _Draws(TorchDispatchMode):
    """How many numbers each operation draws at random."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if torch.Tag.nondeterministic_seeded in func.tags:
            first = found[0] if isinstance(found, tuple | list) else found
            self.counts.append(first.numel())
        return found


def _count_draws(engine: Differentiator, rows: Rows) -> dict[int, list[int]]:
    """What is drawn for some rows and for one more: a mask for two is seen by it, and a rare one, too."""
    found = {}
    for count in (COPIES, COPIES, COPIES + 1):  # what the first run builds isn't drawn again
        inputs, targets = rows(count)
        ones = torch.ones(count, dtype=next(iter(engine.parameters.values())).dtype)
        with _Draws() as drawn:
            engine.parts(inputs, targets, ones, count)
        found[count] = drawn.counts
    return found


def _vary_together(engine: Differentiator, rows: Rows) -> bool:
    """Whether copies of a row vary together, against one another, or by place, in their losses."""
    inputs, targets = rows(ROWS)
    for place in range(ROWS):
        copies = tuple(
            each[place : place + 1].repeat(COPIES, *[1] * (each.dim() - 1))
            for each in (*inputs, targets)
        )
        if _is_shared(engine, copies, RUNS, SUSPECT) and all(
            _is_shared(engine, copies, MORE_RUNS, REFUSED) for _ in range(2)
        ):
            return True
    return False


def _is_shared(engine: Differentiator, copies: tuple[Tensor, ...], runs: int, limit: float) -> bool:
    """Whether copies vary more than `limit` times as much together, or by place, as by themselves.

    For independent draws three variances are the same but for chance.
    """
    with torch.no_grad():
        told = [engine.losses(copies[:-1], copies[-1], COPIES).double() for _ in range(runs)]
    found = torch.stack(told)
    rounding = ROUNDING * float(found.square().mean())
    means = COPIES * float(found.mean(dim=1).var())  # over runs, of the mean over copies
    within = float(found.var(dim=1).mean())  # over the copies of a run
    over = float(found.var(dim=0).mean())  # over the runs of a copy
    together = means > limit * within + rounding or within > LOW * means + rounding
    return together or within > limit * over + rounding
