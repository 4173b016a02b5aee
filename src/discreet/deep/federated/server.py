"""What the server of a federation does in each round, whatever carries its messages."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from os import PathLike
from typing import Any, Self, TypeVar

import torch

from discreet import progress
from discreet.deep import checkpoints
from discreet.deep.checkpoints import Checkpoint
from discreet.deep.federated.rounds import Parties, Rounds
from discreet.deep.federated.updates import Shapes
from discreet.deep.grid import LARGEST_BOUND, MAX_SIZE, RADIUS, SMALLEST_BOUND
from discreet.deep.loop import GradientStep
from discreet.deep.plans import Integers, PoissonSampler, TrainingPlan, calibrate_noise
from discreet.ledger import Entry
from discreet.ledger.chain import new_token
from discreet.measures import ApproxDP
from discreet.rational import Number, as_integer

__all__ = ["Federation"]

Path = str | PathLike[str]
Party = TypeVar("Party")


class Federation(ABC):
    """A training whose sums come from several parties; noise is added once, by the server.

    Parameters
    ----------
    model : torch.nn.Module
        Trained in place.
    optimizer : torch.optim.Optimizer
        Of the model's parameters; it sees noised sums alone.
    epsilon, delta : number
        The budget of the whole training; an infinite ε with public data only.
    sampling_rate : number
        The chance of each unit to be in a round.
    rounds : int
    bound : float
        The norm that what one unit adds is clipped to.
    """

    #: 1 where contributions are gradients, -1 where they are steps in their own direction.
    _sign: float
    #: What the norm is called, in errors.
    _bound_name: str

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        *,
        epsilon: Number,
        delta: Number,
        sampling_rate: Number,
        rounds: int,
        bound: float,
    ) -> None:
        self.model, self._optimizer = model, optimizer
        self.measure = ApproxDP(epsilon, delta)
        self._sampler = PoissonSampler(sampling_rate)
        self._rounds = as_integer(rounds, "rounds", minimum=1)
        self._bound = float(bound)
        if not SMALLEST_BOUND <= self._bound <= LARGEST_BOUND:
            raise ValueError(f"{self._bound_name} must be a number above 0, got {bound!r}.")
        sizes = [each.numel() for each in self.trained.values()]
        if not sizes or max(sizes) > MAX_SIZE:
            raise ValueError(
                f"model must have parameters to train, each of at most {MAX_SIZE} numbers."
            )
        self.plan_: TrainingPlan | None = None
        self.entry_: Entry | None = None

    @property
    def trained(self) -> dict[str, Any]:
        """The parameters that are trained, by name."""
        return {name: each for name, each in self.model.named_parameters() if each.requires_grad}

    @property
    def shapes(self) -> Shapes:
        """The shapes of the parameters that are trained."""
        return [tuple(each.shape) for each in self.trained.values()]

    def plan(self, parties: Parties) -> TrainingPlan:
        """What a training of these parties would do and cost; no data is read."""
        if self.measure.epsilon == math.inf and not parties.unit.is_public:
            raise ValueError("epsilon may be infinite (no noise) only with unit=dp.PUBLIC.")
        sigma = calibrate_noise(self._sampler, self._rounds, self.measure)
        return TrainingPlan(self._sampler, self._rounds, sigma)

    @abstractmethod
    def choose(self, rounds: Rounds, parties: Sequence[Party]) -> list[Party]:
        """Who is asked in the next claimed round."""

    @abstractmethod
    def add_up(self, contributions: Iterable[Any]) -> Integers:
        """The integer sum of whatever parties sent, which one unit moves by at most `grid.RADIUS`."""

    @abstractmethod
    def read(self, arrays: list[Any]) -> Any:
        """What a party sent over a network, in the form that `add_up` takes."""

    @abstractmethod
    def _open(self, parties: Sequence[Any], plan: TrainingPlan) -> tuple[Sequence[Any], Ask]:
        """The parties of this process, ready to be asked, and how they are asked."""

    def finish_round(
        self, parties: Parties, plan: TrainingPlan, contributions: Iterable[Any]
    ) -> None:
        """Add up what parties sent, add noise, and make one step of the optimizer.

        Privacy
        -------
        Divided by the *expected* number of units, which is public. Nothing but the noised sum is kept.
        """
        noised = plan.add_noise(self.add_up(contributions))
        expected = float(plan.sampler.chance * parties.public_size)
        scale = self._sign * self._bound / RADIUS / expected
        GradientStep(self.model, self._optimizer, scale).apply(noised)

    def fit(
        self, parties: Parties, *, checkpoint: Path | None = None, checkpoint_every: int = 10
    ) -> Self:
        """Train in one process, after the whole plan was charged.

        Parameters
        ----------
        parties : PrivateClients or PrivateSites
        checkpoint : path, optional
            Where to write what was learned, every `checkpoint_every` rounds. Those rounds are claimed in the
            ledger together, before the first of them: a crash loses them.
        checkpoint_every : int
        """
        plan = self.plan(parties)
        token = None if checkpoint is None else new_token()
        every = plan.steps
        if checkpoint is not None:
            every = as_integer(checkpoint_every, "checkpoint_every", minimum=1)
        with parties.prepaid(plan, self.measure, token=token) as rounds:
            self._run(parties, plan, rounds, every, self._saver(checkpoint, plan, token))
        return self

    def resume(self, parties: Parties, checkpoint: Path, *, checkpoint_every: int = 10) -> Self:
        """Go on after a crash, behind the last round that the ledger knows of; lost ones stay lost.

        Parameters
        ----------
        parties : PrivateClients or PrivateSites
        checkpoint : path
            It is written anew at once; a copy of it can't be taken up again.
        checkpoint_every : int
        """
        found = checkpoints.load(checkpoint)
        sampler = PoissonSampler(Fraction(found.chance))
        plan = TrainingPlan(sampler, found.steps, found.sigma)
        every = as_integer(checkpoint_every, "checkpoint_every", minimum=1)
        if parties.ledger is not None and parties.ledger.find(found.token) is None:
            raise ValueError("checkpoint: the ledger has no training of this name.")
        with parties.prepaid(plan, self.measure, token=found.token) as rounds:
            checkpoints.take_up(rounds.book, found)
            self.model.load_state_dict(found.states["model"])
            self._optimizer.load_state_dict(found.states["optimizer"])
            save = self._saver(checkpoint, plan, found.token)
            save()
            self._run(parties, plan, rounds, every, save)
        return self

    def _run(
        self,
        parties: Parties,
        plan: TrainingPlan,
        rounds: Rounds,
        every: int,
        save: Callable[[], None],
    ) -> None:
        """Make all rounds that are left: claim `every` so many, ask, add up, add noise, apply."""
        self.plan_, self.entry_ = plan, rounds.entry
        made = done = rounds.begun
        opened, ask = self._open(rounds.parties, plan)
        with progress.show("federated training", lambda: made / plan.steps):
            while done < plan.steps:
                count = min(every, plan.steps - done)
                rounds.claim(count)
                for _ in range(count):
                    asked = self.choose(rounds, opened)
                    self.finish_round(parties, plan, map(ask, asked))
                    made += 1
                done += count
                save()

    def _saver(
        self, path: Path | None, plan: TrainingPlan, token: str | None
    ) -> Callable[[], None]:
        """What writes a checkpoint, or does nothing where none is wanted."""
        if path is None or token is None:
            return lambda: None
        chance = str(plan.sampler.chance)

        def save() -> None:
            states = {
                "model": self.model.state_dict(),
                "optimizer": self._optimizer.state_dict(),
            }
            checkpoints.save(
                path, Checkpoint(token, new_token(), plan.sigma, plan.steps, chance, states)
            )

        return save


#: From a party to what it adds.
Ask = Callable[[Any], Any]


def plain_steps(model: Any) -> Any:
    """An optimizer that adds what it is given as it is."""
    return torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=1.0)
