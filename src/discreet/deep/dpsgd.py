"""Private stochastic gradient descent: batches by chance, clipped gradients, exact noise, any optimizer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from os import PathLike
from typing import Any, final

from discreet.deep import checkpoints
from discreet.deep.blocks import Blocks, choose_size, fit_size
from discreet.deep.checkpoints import Checkpoint
from discreet.deep.choice import Choice
from discreet.deep.clipping import Differentiator
from discreet.deep.contributions import Tensor
from discreet.deep.draws import check_draws_apart
from discreet.deep.grid import LARGEST_BOUND, MAX_BLOCK, MAX_SIZE, RADIUS, SMALLEST_BOUND, Rule
from discreet.deep.loop import GradientStep, run_steps
from discreet.deep.plans import Integers, PoissonSampler, TrainingPlan, calibrate_noise, rows_each
from discreet.deep.probe import blocks_are_independent, check_floats, find_path
from discreet.deep.processes import Together
from discreet.deep.steps import Arithmetic, BatchSum
from discreet.deep.tables import Data, PrivateTable, TableDoor, open_rows
from discreet.deep.tensors import PrivateTensors, TensorDoor
from discreet.ledger import Entry
from discreet.ledger.chain import new_token
from discreet.measures import ApproxDP
from discreet.rational import Number, as_integer, positive

__all__ = ["FAST", "UNTESTED", "PrivateTrainer"]

#: What a training rests on whose sums are rounded by the network's own arithmetic.
FAST = "clipped sums in float arithmetic, whose rounding over a batch is not bounded"
#: What it rests on where a person's bits were seen to depend on others.
UNTESTED = (
    "a person's gradients were seen to depend, in their last bits, on others of the same block"
)


@final
class PrivateTrainer:
    """Train a network by DP-SGD (Abadi et al. 2016), charged to a ledger before a row is read.

    Parameters
    ----------
    model : torch.nn.Module
        Trained in place.
    loss : callable
        From outputs and targets to one loss for each row, as ``nn.CrossEntropyLoss(reduction="none")``.
    optimizer : torch.optim.Optimizer
        Of the model's parameters. It sees noised gradients alone.
    epsilon, delta : number
        The budget of the whole training; an infinite ε with public rows only.
    sampling_rate : number, optional
        The chance of each person to be in a batch; or give `batch`, the expected size, with `public_size`.
    steps : int, optional
        Or give `epochs`.
    batch, epochs : number, optional
    public_size : int, optional
        The number of persons as far as it is public; the data's own by default. Never the true number.
    max_grad_norm : float
        The norm that each person's gradient is clipped to.
    rule : {"flat", "per-layer", "automatic"}
        Clip the whole gradient; each parameter's to an equal share; or scale it to nearly that norm.
    arithmetic : {"exact", "fast"}
        ``"exact"``, the default, adds up integers, and its guarantee is proved. ``"fast"`` adds up in the
        network's float arithmetic; its event is `Assumed`, for ledgers with ``accept_assumed=True``.
    block : int, optional
        Persons worked on at a time. Always filled up, so that shapes are public.
    memory : int, optional
        In place of `block`: the bytes that a block may take, besides the network and the optimizer. The
        number of persons in it follows from the shapes of a row and of the network.
    augment : callable, optional
        From the network's arguments for one row to randomly changed ones of the same shapes and types; each
        row has `augmentations`, whose gradients are averaged before they are clipped (De et al. 2022).
    augmentations : int
    average : float, optional
        The decay of an exponential moving average of the weights, kept in ``average_``.
    scheduler : torch.optim.lr_scheduler, optional
        Stepped after each step; it must not need a metric.
    distributed : bool
        Train together with the other processes of ``torch.distributed``, each of which has persons of its own
        in a `PrivateTensors` and the same ledger. Chance, batch and `public_size` are those of all together.

    Attributes
    ----------
    plan_ : TrainingPlan
    entry_ : Entry or None
        What the ledger has of it.
    average_ : dict
        The averaged weights by name, where `average` is given.
    scores_ : list of pairs
        Steps and scores, where `fit` was given `validate`.

    Privacy
    -------
    (ε, δ)-DP for the data's unit, all weights of all steps together: Poisson samples, integer sums that one
    person moves by at most a known norm, rounded Gaussian noise. Batches are divided by their *expected*
    size; empty ones work. Of several processes each must have *all* rows of its persons; the first one pays
    and draws the noise, once, and sums that aren't noised yet pass between them. No loss, metric or batch
    size is shown. How long a step takes isn't protected.
    Proof page: ``docs/proofs/deep.md``.
    """

    def __init__(
        self,
        model: Any,
        loss: Callable[[Any, Any], Any],
        optimizer: Any,
        *,
        epsilon: Number,
        delta: Number,
        sampling_rate: Number | None = None,
        steps: int | None = None,
        batch: Number | None = None,
        epochs: Number | None = None,
        public_size: int | None = None,
        max_grad_norm: float = 1.0,
        rule: Rule = "flat",
        arithmetic: Arithmetic = "exact",
        block: int | None = None,
        memory: int | None = None,
        augment: Callable[..., Any] | None = None,
        augmentations: int = 1,
        average: float | None = None,
        scheduler: Any = None,
        distributed: bool = False,
    ) -> None:
        self._model, self._loss, self._optimizer = model, loss, optimizer
        self._measure = ApproxDP(epsilon, delta)
        self._rate, self._steps, self._batch, self._epochs = sampling_rate, steps, batch, epochs
        self._size = public_size
        self._bound, self._rule, self._arithmetic = float(max_grad_norm), rule, arithmetic
        self._augment = augment
        self._repeats = as_integer(augmentations, "augmentations", minimum=1)
        self._decay, self._scheduler = average, scheduler
        self._together = Together() if distributed else None
        self._block = None if block is None else as_integer(block, "block", minimum=1)
        self._memory = None if memory is None else as_integer(memory, "memory", minimum=1)
        self.average_: dict[str, Tensor] = {}
        self.scores_: list[tuple[int, float]] = []
        self.entry_: Entry | None = None
        self.plan_: TrainingPlan | None = None
        self._check()

    def _check(self) -> None:
        """Raise for settings that can't be meant."""
        if self._rule not in ("flat", "per-layer", "automatic"):
            raise ValueError(
                f"rule must be 'flat', 'per-layer' or 'automatic', got {self._rule!r}."
            )
        if self._arithmetic not in ("exact", "fast"):
            raise ValueError(f"arithmetic must be 'exact' or 'fast', got {self._arithmetic!r}.")
        if not SMALLEST_BOUND <= self._bound <= LARGEST_BOUND:
            raise ValueError(f"max_grad_norm must be a number above 0, got {self._bound!r}.")
        if self._arithmetic == "fast":
            check_floats(self._model, self._bound)
        if (self._rate is None) == (self._batch is None):
            raise ValueError("give sampling_rate, or batch with public_size, and not both.")
        if (self._steps is None) == (self._epochs is None):
            raise ValueError("give steps, or epochs, and not both.")
        if self._repeats > 1 and self._augment is None:
            raise ValueError("augmentations needs augment, which changes rows at random.")
        if self._block is not None and self._block > MAX_BLOCK:
            raise ValueError(f"block must be at most {MAX_BLOCK}.")
        if self._block is not None and self._memory is not None:
            raise ValueError("give block or memory, and not both.")
        if self._decay is not None and not 0 < self._decay < 1:
            raise ValueError("average must be a decay between 0 and 1, such as 0.999.")
        if hasattr(self._scheduler, "best"):
            raise ValueError(
                "scheduler must not need a metric: one of the training rows would have to be paid for."
            )
        largest = max((each.numel() for each in self._model.parameters()), default=0)
        if largest > MAX_SIZE:
            raise ValueError(f"model: a parameter has more than {MAX_SIZE} numbers.")

    def plan(self, data: Data) -> TrainingPlan:
        """What a training on these rows would do and cost; no row is read."""
        return self._plan(open_rows(data))

    def _plan(self, data: PrivateTensors | PrivateTable) -> TrainingPlan:
        if self._measure.epsilon == math.inf and not data.unit.is_public:
            raise ValueError("epsilon may be infinite (no noise) only with unit=dp.PUBLIC.")
        sampler = PoissonSampler(self._chance(data))
        steps = self._count(sampler)
        sigma = calibrate_noise(sampler, steps, self._measure)
        return TrainingPlan(sampler, steps, sigma, self._prepare(data, sampler))

    def _public_size(self, data: PrivateTensors | PrivateTable) -> int:
        size = data.public_size if self._size is None else self._size
        if size is None:
            raise ValueError(
                "public_size must be given, here or with the data: how many persons there are as far as it "
                "is public. The true number is private."
            )
        return as_integer(size, "public_size", minimum=1)

    def _chance(self, data: PrivateTensors | PrivateTable) -> Fraction:
        if self._rate is not None:
            return positive(self._rate, "sampling_rate")
        assert self._batch is not None
        return positive(self._batch, "batch") / self._public_size(data)

    def _count(self, sampler: PoissonSampler) -> int:
        if self._steps is not None:
            return as_integer(self._steps, "steps", minimum=1)
        assert self._epochs is not None
        return math.ceil(positive(self._epochs, "epochs") / sampler.chance)

    def _expected(self, data: PrivateTensors | PrivateTable, sampler: PoissonSampler) -> float:
        """The public size of a batch."""
        if self._batch is not None:
            return float(self._batch)
        return float(sampler.chance * self._public_size(data))

    def _prepare(self, data: PrivateTensors | PrivateTable, sampler: PoissonSampler) -> str:
        """Choose the path and the blocks, on random public rows; what then isn't proved, or nothing."""
        each, rows = rows_each(data.unit) * self._repeats, data.random_rows(self._model)
        self._path = find_path(self._model, self._loss, rows, 8 * each, self._augment)
        if self._block is not None:
            size = self._block
        elif self._memory is not None:
            size = fit_size(self._model, self._loss, self._path, rows, each, self._memory)
        else:
            size = choose_size(self._model, self._expected(data, sampler))
        self._blocks = Blocks(size, self._repeats)
        if size > 1:
            check_draws_apart(self._model, self._loss, self._path, rows)
        if self._arithmetic == "fast":
            return FAST
        if not blocks_are_independent(self._model, self._loss, self._path, rows, size, each):
            return UNTESTED
        return ""

    def fit(
        self,
        data: Data,
        *,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int = 100,
        validate: Callable[[Any], float] | None = None,
        validate_every: int = 10,
        patience: int | None = None,
    ) -> PrivateTrainer:
        """Train, after the whole plan was charged.

        Parameters
        ----------
        data : PrivateTensors, PrivateTable or PrivateDataset
            Of a data set the last column is the target; `PrivateTable` names another.
        checkpoint : path, optional
            Where to write what was learned, every `checkpoint_every` steps. Those steps are claimed in the
            ledger together, before the first of them: a crash loses them.
        checkpoint_every : int
        validate : callable, optional
            From the network to a score, the higher the better, asked every `validate_every` steps: the best
            weights are kept. It must use public rows, or pay for what it asks of private ones.
        validate_every : int
        patience : int, optional
            Stop after so many scores in a row that miss the best one. Steps that aren't made stay paid for.
        """
        rows = open_rows(data)
        choice = (
            None if validate is None else Choice(self._model, validate, validate_every, patience)
        )
        if choice is not None and (checkpoint is not None or self._together is not None):
            raise ValueError("validate: give it without checkpoint, and to one process alone.")
        plan = self._plan(rows)
        if self._together is not None:
            return self._fit_together(self._together, rows, plan, checkpoint)
        token = None if checkpoint is None else new_token()
        every = (
            plan.steps
            if checkpoint is None
            else as_integer(checkpoint_every, "checkpoint_every", minimum=1)
        )
        with rows.prepaid(plan, self._measure, token=token) as door:
            self._run(rows, plan, door, checkpoint, every, token, choice)
        return self

    def _fit_together(
        self,
        together: Together,
        data: PrivateTensors | PrivateTable,
        plan: TrainingPlan,
        checkpoint: Any,
    ) -> PrivateTrainer:
        """The same in several processes: the first one charges, and the others wait for that."""
        if checkpoint is not None or not isinstance(data, PrivateTensors):
            raise ValueError(
                "distributed: several processes train on dp.deep.PrivateTensors, without checkpoints."
            )
        shapes = tuple((name, tuple(each.shape)) for name, each in self._model.named_parameters())
        facts = (str(plan.sampler.chance), plan.steps, plan.sigma, str(data.unit), self._blocks)
        more = (self._bound, self._rule, self._arithmetic, self._expected(data, plan.sampler))
        said = together.agree((*facts, *more, shapes), plan.assumption)
        plan = replace(plan, assumption=said)
        together.share_weights(self._model)
        with data.prepaid_together(plan, self._measure, together) as door:
            self._run(data, plan, door, None, plan.steps, None)
        return self

    def resume(
        self,
        data: Data,
        checkpoint: str | PathLike[str],
        *,
        checkpoint_every: int = 100,
    ) -> PrivateTrainer:
        """Go on after a crash, behind the last step that the ledger knows of; those that were lost stay lost.

        Parameters
        ----------
        data : PrivateTensors, PrivateTable or PrivateDataset
        checkpoint : path
            It is written anew at once; a copy of it can't be taken up again.
        checkpoint_every : int
        """
        if self._together is not None:
            raise ValueError("distributed: several processes train without checkpoints.")
        rows, found = open_rows(data), checkpoints.load(checkpoint)
        sampler = PoissonSampler(Fraction(found.chance))
        plan = TrainingPlan(sampler, found.steps, found.sigma, self._prepare(rows, sampler))
        every = as_integer(checkpoint_every, "checkpoint_every", minimum=1)
        if rows.ledger is not None and rows.ledger.find(found.token) is None:
            raise ValueError("checkpoint: the ledger has no training of this name.")
        with rows.prepaid(plan, self._measure, token=found.token) as door:
            checkpoints.take_up(door.book, found)
            self._restore(found)
            self._save(checkpoint, plan, found.token)
            self._run(rows, plan, door, checkpoint, every, found.token)
        return self

    def _run(
        self,
        data: PrivateTensors | PrivateTable,
        plan: TrainingPlan,
        door: TensorDoor | TableDoor,
        checkpoint: str | PathLike[str] | None,
        every: int,
        token: str | None,
        choice: Choice | None = None,
    ) -> None:
        self.plan_, self.entry_ = plan, door.entry
        scale = self._bound / RADIUS / self._expected(data, plan.sampler)
        step = GradientStep(self._model, self._optimizer, scale)
        self._model.train()
        engine = Differentiator(self._model, self._loss, self._path)
        batch = BatchSum(engine, self._bound, self._rule, self._arithmetic, self._augment)

        def save() -> None:
            if checkpoint is not None and token is not None:
                self._save(checkpoint, plan, token)

        run_steps(
            door,
            plan,
            batch,
            self._blocks,
            lambda noised: self._apply(noised, step),
            every,
            save,
            self._together,
            *([] if choice is None else [choice.look]),
        )
        if choice is not None:
            choice.keep_best()
            self.scores_ = choice.scores

    def _apply(self, noised: Integers, step: GradientStep) -> None:
        """One step of the optimizer on a noised gradient."""
        step.apply(noised)
        if self._scheduler is not None:
            self._scheduler.step()
        if self._decay is not None:
            for name, value in self._model.named_parameters():
                kept = self.average_.setdefault(name, value.detach().clone())
                kept.lerp_(value.detach(), 1 - self._decay)

    def _save(self, path: str | PathLike[str], plan: TrainingPlan, token: str) -> None:
        states = {
            "model": self._model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "scheduler": None if self._scheduler is None else self._scheduler.state_dict(),
            "average": self.average_,
        }
        chance = str(plan.sampler.chance)
        checkpoints.save(
            path, Checkpoint(token, new_token(), plan.sigma, plan.steps, chance, states)
        )

    def _restore(self, found: Checkpoint) -> None:
        self._model.load_state_dict(found.states["model"])
        self._optimizer.load_state_dict(found.states["optimizer"])
        if self._scheduler is not None and found.states["scheduler"] is not None:
            self._scheduler.load_state_dict(found.states["scheduler"])
        self.average_ = found.states["average"]
