"""The steps of a training, one after the other: claim, draw, add up, add noise, apply."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
import torch

from discreet import progress
from discreet.deep.plans import Integers, TrainingPlan
from discreet.deep.quiet import keep_quiet
from discreet.deep.steps import BatchSum
from discreet.deep.tables import TableDoor
from discreet.deep.tensors import TensorDoor
from discreet.noise import entropy
from discreet.noise.generators import find_generators, renew

__all__ = ["Blocks", "apply_gradient", "run_steps"]


@final
@dataclass(frozen=True)
class Blocks:
    """How many persons are worked on at a time, and how often each row stands there."""

    size: int
    repeats: int = 1


def run_steps(
    door: TensorDoor | TableDoor,
    plan: TrainingPlan,
    batch: BatchSum,
    blocks: Blocks,
    apply: Callable[[Integers], None],
    every: int,
    after: Callable[[], None] = lambda: None,
) -> None:
    """Make all steps that are left of a plan: claim `every` so many, draw, add up, add noise, apply.

    Privacy
    -------
    `apply` gets noised sums alone. Warnings, logs and what Python prints while rows are worked on get lost.
    Generators that a network may use are seeded from the toolkit's entropy
    meanwhile, and put back afterwards. The bar shows how many steps were made, which is public.
    """
    made = done = door.begun
    # dropout and augmentation draw by place in a block: who knew their seed would see others move up
    secret = renew(find_generators(batch.augment, batch.engine.model, batch.engine.loss))
    bar = progress.show("training", lambda: made / plan.steps)

    def several(count: int, rows: TensorDoor) -> None:
        nonlocal made
        for _ in range(count):
            with keep_quiet():  # warnings, logs and prints of a network may tell of rows
                total = batch.total(rows.draw(blocks.size, blocks.repeats))
            apply(total + noise.next(len(total)))
            made += 1

    with secret, bar, _NoiseAhead(plan) as noise:
        while done < plan.steps:
            count = min(every, plan.steps - done)
            door.carry_out(count, partial(several, count))
            done += count
            after()


def apply_gradient(model: Any, optimizer: Any, noised: Integers, scale: float) -> None:
    """One step of an optimizer on a noised sum, times `scale`."""
    at = 0
    for parameter in model.parameters():
        if parameter.requires_grad:
            part = noised[at : at + parameter.numel()].astype(np.float64) * scale
            at += parameter.numel()
            parameter.grad = torch.from_numpy(part).reshape(parameter.shape).to(parameter)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


@final
class _NoiseAhead:
    """Noise of the next step, drawn beside the work of this one; each draw is given out once."""

    def __init__(self, plan: TrainingPlan) -> None:
        self._plan = plan
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: Future[Integers] | None = None

    def __enter__(self) -> _NoiseAhead:
        if self._plan.sigma and not entropy.is_fixed():  # a fixed stream is for its own thread
            self._pool = ThreadPoolExecutor(1)
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def next(self, size: int) -> Integers:
        """Fresh noise for one step."""
        if self._pool is None:
            return self._plan.draw_noise(size)
        waiting = self._waiting
        drawn = self._plan.draw_noise(size) if waiting is None else waiting.result()
        self._waiting = self._pool.submit(self._plan.draw_noise, size)
        return drawn
