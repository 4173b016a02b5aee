"""The steps of a training, one after the other: claim, draw, add up, add noise, apply."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, final

import numpy as np
import torch

from discreet import progress
from discreet.deep.blocks import Blocks
from discreet.deep.plans import Integers, TrainingPlan
from discreet.deep.processes import Together
from discreet.deep.quiet import keep_quiet
from discreet.deep.steps import BatchSum
from discreet.deep.tables import TableDoor
from discreet.deep.tensors import TensorDoor
from discreet.noise import entropy
from discreet.noise.generators import find_generators, renew

__all__ = ["GradientStep", "run_steps"]


#: Fewer draws than this are made for several steps at once, not handed to another thread.
FEW_DRAWS = 20_000


def run_steps(
    door: TensorDoor | TableDoor,
    plan: TrainingPlan,
    batch: BatchSum,
    blocks: Blocks,
    apply: Callable[[Integers], None],
    every: int,
    after: Callable[[], None] = lambda: None,
    together: Together | None = None,
    stop: Callable[[int], bool] = lambda made: False,
) -> None:
    """Make all steps that are left of a plan: claim `every` so many, draw, add up, add noise, apply.

    `stop` is asked after each step; steps that are then not made stay paid for.

    Privacy
    -------
    `apply` gets noised sums alone; of several processes the first one draws the noise, once. Warnings, logs
    and what Python prints while rows are worked on get lost. Generators that a network may use are seeded
    from the toolkit's entropy meanwhile, and put back afterwards. The bar shows how many steps were made, and
    how long the others will take, both of which are public or not protected.
    """
    made = done = door.begun
    over = False
    # dropout, augmentation and data sets draw by place: who knew their seed would see others move up
    reader = door.reader if isinstance(door, TensorDoor) else None
    secret = renew(find_generators(batch.augment, batch.engine.model, batch.engine.loss, reader))
    bar = progress.show("training", lambda: made / plan.steps)

    def several(count: int, rows: TensorDoor) -> None:
        nonlocal made, over
        for _ in range(count):
            with keep_quiet():  # warnings, logs and prints of a network may tell of rows
                total = batch.total(rows.draw(blocks.size, blocks.repeats))
            apply(release(total))
            made += 1
            over = stop(made)
            if over:
                return

    def release(total: Integers) -> Integers:
        if together is None:
            total += noise.next(len(total))
            return total
        return together.release(total, noise.next(len(total)) if together.is_first else None)

    with secret, bar, _NoiseAhead(plan) as noise:
        while done < plan.steps and not over:
            count = min(every, plan.steps - done)
            door.carry_out(count, partial(several, count))
            done += count
            after()


@final
class GradientStep:
    """Steps of an optimizer on noised sums.

    Parameters
    ----------
    model : torch.nn.Module
    optimizer : torch.optim.Optimizer
    scale : float
        What a sum is multiplied by.
    """

    def __init__(self, model: Any, optimizer: Any, scale: float) -> None:
        self._trained = [each for each in model.parameters() if each.requires_grad]
        self._sizes = [each.numel() for each in self._trained]
        kinds = {each.dtype for each in self._trained}
        self._kind = kinds.pop() if len(kinds) == 1 else None
        self._optimizer, self._scale = optimizer, scale

    def apply(self, noised: Integers) -> None:
        """Make one step."""
        scaled = torch.from_numpy(noised).double().mul_(self._scale)
        if self._kind is not None:
            scaled = scaled.to(self._kind)
        for parameter, part in zip(self._trained, scaled.split(self._sizes), strict=True):
            grad = part.view(parameter.shape)
            parameter.grad = grad if grad.dtype == parameter.dtype else grad.to(parameter.dtype)
        self._optimizer.step()
        for parameter in self._trained:
            parameter.grad = None


@final
class _NoiseAhead:
    """Noise of the next step, drawn beside the work of this one; each draw is given out once."""

    def __init__(self, plan: TrainingPlan) -> None:
        self._plan = plan
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: Future[Integers] | None = None
        self._left: Integers = np.zeros(0, np.int64)

    def __enter__(self) -> _NoiseAhead:
        if self._plan.sigma and not entropy.is_fixed():  # a fixed stream is for its own thread
            self._pool = ThreadPoolExecutor(1)
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def next(self, size: int) -> Integers:
        """Fresh noise for one step."""
        if size < FEW_DRAWS:
            return self._next_few(size)
        if self._pool is None:
            return self._plan.draw_noise(size)
        waiting = self._waiting
        drawn = self._plan.draw_noise(size) if waiting is None else waiting.result()
        self._waiting = self._pool.submit(self._plan.draw_noise, size)
        return drawn

    def _next_few(self, size: int) -> Integers:
        """The next of many draws that were made together, which costs less for each."""
        if len(self._left) < size:
            self._left = self._plan.draw_noise(size * (FEW_DRAWS // size))
        drawn, self._left = self._left[:size], self._left[size:]
        return drawn
