"""Whether the rows of a block draw at random each by itself, found out on random public inputs.

Proofs couple the draws of persons: who is removed moves those behind to other places, which changes nothing
if all draws are independent and equally distributed. One mask for a whole block isn't: its rows add up.
"""

from __future__ import annotations

import copy
from typing import Any

import torch

from discreet.deep.clipping import Differentiator, Loss, Path, width_of
from discreet.deep.contributions import Tensor
from discreet.noise.generators import find_generators, read_states, rewind

__all__ = ["check_draws_apart"]

#: Copies of a row that draw side by side, how many rows are tried, and how many runs each has.
COPIES, ROWS, RUNS = 16, 2, 32
#: How many runs each of two more series has where draws look shared.
MORE_RUNS = 128
#: How many times the variance that independent draws would have is suspected at first, and then refused: for
#: draws that two rows share it is 2, and among this many runs it varies by a quarter and by an eighth.
SUSPECT, REFUSED = 1.4, 1.6
#: Variances below this share of the squared norm of a gradient are rounding.
ROUNDING = 1e-10


def check_draws_apart(model: Any, loss: Loss, path: Path, rows: Any) -> None:
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
    probe = copy.deepcopy(model).train()
    generators = find_generators(probe, loss)
    with rewind(generators):
        series = _Series(Differentiator(probe, loss, path), generators)
        inputs, targets = rows(ROWS)
        for place in range(ROWS):
            copies = tuple(
                each[place : place + 1].repeat(COPIES, *[1] * (each.dim() - 1))
                for each in (*inputs, targets)
            )
            if series.is_shared(copies, RUNS, SUSPECT) and all(
                series.is_shared(copies, MORE_RUNS, REFUSED) for _ in range(2)
            ):
                raise ValueError(
                    "model: rows of a block share what it, or the loss, draws at random, such as one mask "
                    "for all of them, or it seeds a generator in each call. Each row must draw its own: "
                    "draw with the rows as the first dimension, or train with block=1."
                )


class _Series:
    """Runs of a network on copies of a row, each told by a random projection of its gradient."""

    def __init__(self, engine: Differentiator, generators: list[Any]) -> None:
        self._engine, self._generators = engine, generators
        self._along = {
            name: torch.randn(parameter.numel(), dtype=torch.float64)
            for name, parameter in engine.parameters.items()
        }
        self._ones = torch.ones(COPIES, dtype=next(iter(engine.parameters.values())).dtype)
        self._squared_norm = 0.0

    def is_shared(self, copies: tuple[Tensor, ...], runs: int, limit: float) -> bool:
        """Whether copies vary together, or by place, more than `limit` times as much as by themselves."""
        before = read_states(self._generators)
        found = [self._tell(copies), self._tell(copies)]
        if not torch.equal(*found) or read_states(self._generators) != before:
            found += [self._tell(copies) for _ in range(runs - 2)]
        return self._vary(torch.stack(found), limit)

    def _vary(self, found: Tensor, limit: float) -> bool:
        """For independent draws three variances are the same but for chance."""
        rounding = ROUNDING * self._squared_norm
        means = COPIES * float(found.mean(dim=1).var())  # over runs, of the mean over copies
        within = float(found.var(dim=1).mean())  # over the copies of a run
        over = float(found.var(dim=0).mean())  # over the runs of a copy
        return means > limit * within + rounding or within > limit * over + rounding

    def _tell(self, copies: tuple[Tensor, ...]) -> Tensor:
        told, squared = torch.zeros(COPIES, dtype=torch.float64), 0.0
        parts = self._engine.parts(copies[:-1], copies[-1], self._ones, COPIES)
        with torch.no_grad():
            for name, found in parts.items():
                width = width_of(self._engine.parameters[name])
                for slot, part in found:
                    along = self._along[name][slot.start * width : slot.stop * width]
                    gradients = part.materialise().reshape(COPIES, -1).double()
                    told += gradients @ along
                    squared += float(gradients.square().sum()) / COPIES
        self._squared_norm = max(self._squared_norm, squared)
        return told
