"""Federated averaging with a guarantee for whole clients (McMahan, Ramage, Talwar & Zhang 2018)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
import torch

from discreet.deep.clipping import as_tuple
from discreet.deep.federated.rounds import Party, Rounds
from discreet.deep.federated.server import Ask, Federation, plain_steps
from discreet.deep.federated.updates import sum_updates
from discreet.deep.grid import Rule
from discreet.deep.plans import Integers, TrainingPlan
from discreet.deep.quiet import keep_quiet
from discreet.noise.generators import find_generators, renew
from discreet.rational import Number

__all__ = ["FederatedAveraging", "LocalSGD", "train_client"]

#: From a copy of the model and a client's data to nothing: the copy is trained in place.
ClientTraining = Callable[[Any, Any], object]


@final
@dataclass(frozen=True)
class LocalSGD:
    """What a client does with its own (inputs, targets): plain SGD, with no noise and no clipping of rows.

    Parameters
    ----------
    loss : callable
        From outputs and targets to losses, or to their mean.
    lr : float
    epochs : int
    batch : int
    """

    loss: Callable[[Any, Any], Any]
    lr: float = 0.1
    epochs: int = 1
    batch: int = 32

    def __call__(self, model: Any, data: Any) -> None:
        """Train a copy of the model in place."""
        inputs = tuple(torch.as_tensor(each) for each in as_tuple(data[0]))
        targets = torch.as_tensor(data[1])
        optimizer = torch.optim.SGD(model.parameters(), lr=self.lr)
        model.train()
        for _ in range(self.epochs):
            order = torch.randperm(len(targets))
            for start in range(0, len(targets), self.batch):
                rows = order[start : start + self.batch]
                optimizer.zero_grad()
                found = self.loss(model(*(each[rows] for each in inputs)), targets[rows])
                found.mean().backward()
                optimizer.step()


@final
class FederatedAveraging(Federation):
    """DP-FedAvg: clients train by themselves, and the noised mean of their clipped updates moves the model.

    Parameters
    ----------
    model : torch.nn.Module
        Trained in place.
    training : callable
        What a client does, ``training(model, data)``, with a copy of the model; `LocalSGD` or your own. It
        must keep nothing from one client to the next. Its errors aren't told: see `rehearse`.
    epsilon, delta : number
        The budget of the whole training; an infinite ε with public clients only.
    sampling_rate : number
        The chance of each client to be asked in a round.
    rounds : int
    max_update_norm : float
        The norm that each client's update is clipped to, over all parameters.
    rule : {"flat", "per-layer", "automatic"}
        As in `PrivateTrainer`.
    optimizer : torch.optim.Optimizer, optional
        The server's; by default the mean update is added as it is. It gets minus the update as gradient.

    Attributes
    ----------
    plan_ : TrainingPlan
    entry_ : Entry or None
        What the ledger has of it.

    Privacy
    -------
    (ε, δ)-DP for whole clients, added or removed, all weights of all rounds together: Poisson samples of
    clients, integer sums that one client moves by at most a known norm, rounded Gaussian noise. Sums are
    divided by the *expected* number of clients; empty rounds work. A client that fails, or sends missing
    numbers or other shapes, adds nothing. The server sees updates as they are and must be trusted. Proof
    page: ``docs/proofs/federated.md``.
    """

    _sign, _bound_name = -1.0, "max_update_norm"

    def __init__(
        self,
        model: Any,
        training: ClientTraining,
        *,
        epsilon: Number,
        delta: Number,
        sampling_rate: Number,
        rounds: int,
        max_update_norm: float = 1.0,
        rule: Rule = "flat",
        optimizer: Any = None,
    ) -> None:
        super().__init__(
            model,
            plain_steps(model) if optimizer is None else optimizer,
            epsilon=epsilon,
            delta=delta,
            sampling_rate=sampling_rate,
            rounds=rounds,
            bound=max_update_norm,
        )
        if rule not in ("flat", "per-layer", "automatic"):
            raise ValueError(f"rule must be 'flat', 'per-layer' or 'automatic', got {rule!r}.")
        # each client gets copies: what can't be copied is told here, where no data is
        copy.deepcopy(model)
        copy.deepcopy(training)
        self._training, self._rule = training, rule

    def rehearse(self, data: Any) -> float:
        """Try the training on a made-up client, with its errors; the norm of its update.

        Privacy
        -------
        For made-up data: nothing is charged, and nothing protects it.
        """
        update = _train(self.model, self._training, data)
        return float(np.sqrt(sum((each**2).sum() for each in update)))

    def choose(self, rounds: Rounds, parties: Sequence[Party]) -> list[Party]:
        return rounds.sample(parties)

    def add_up(self, contributions: Iterable[Any]) -> Integers:
        return sum_updates(contributions, self.shapes, self._bound, self._rule)

    def read(self, arrays: list[Any]) -> Any:
        return arrays

    def _open(self, parties: Sequence[Any], plan: TrainingPlan) -> tuple[Sequence[Any], Ask]:
        return parties, lambda data: train_client(self.model, self._training, data)


def train_client(
    model: Any, training: ClientTraining, data: Any
) -> list[npt.NDArray[np.float64]] | None:
    """One client's update: what its training changes in a copy of the model; None if it fails.

    Privacy
    -------
    A function of the model, the client's data and fresh randomness: model and training are copied, and
    generators are seeded anew from the toolkit's entropy. Errors, warnings, logs and what Python prints
    aren't told: each would tell who was asked.
    """
    try:
        with keep_quiet():
            return _train(model, training, data)
    except KeyboardInterrupt:
        raise
    except BaseException:  # an error is a fact about this client: it adds nothing
        return None


def _train(model: Any, training: ClientTraining, data: Any) -> list[npt.NDArray[np.float64]]:
    own, training = copy.deepcopy(model), copy.deepcopy(training)
    with renew(find_generators(own, training)):
        training(own, data)
    after = dict(own.named_parameters())
    return [
        (after[name].detach().double() - before.detach().double()).cpu().numpy()
        for name, before in model.named_parameters()
        if before.requires_grad
    ]
