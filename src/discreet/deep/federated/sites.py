"""DP-SGD over several sites, with a guarantee for persons: sites add up integers, the server adds noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, final

import torch

from discreet.dataset import agree_on_unit
from discreet.deep.clipping import Differentiator, Path
from discreet.deep.contributions import Tensor
from discreet.deep.draws import check_draws_apart
from discreet.deep.federated.rounds import Parties, Party, Rounds, book_of
from discreet.deep.federated.server import Ask, Federation
from discreet.deep.federated.updates import count_numbers, sum_contributions
from discreet.deep.grid import Rule
from discreet.deep.plans import Integers, PoissonSampler, TrainingPlan, check_unit
from discreet.deep.probe import blocks_are_independent, find_path, random_rows
from discreet.deep.quiet import keep_quiet
from discreet.deep.steps import BatchSum
from discreet.deep.tensors import open_paid
from discreet.ledger import Payer
from discreet.noise.generators import find_generators, renew
from discreet.rational import Number, as_integer
from discreet.unit import Relation, Unit

__all__ = ["FederatedSGD", "PrivateSites", "Site"]

#: The shape of a row and the type of its numbers, of inputs and of targets.
Kinds = tuple[tuple[tuple[int, ...], Any], tuple[tuple[int, ...], Any]]

#: Persons that are worked on at a time.
DEFAULT_BLOCK = 64


@final
class Site:
    """A site's part of `FederatedSGD`: its rows answer each round with an integer sum.

    Parameters
    ----------
    inputs, targets : tensor or array
        With one row for each person.
    model : torch.nn.Module
        With the weights of the round, to be set before `contribute`.
    loss : callable
    sampling_rate : number
        The chance of each person to be in a round: that of the server's plan.
    rounds : int
        How often it answers at most.
    max_grad_norm : float
    rule : {"flat", "per-layer", "automatic"}
    block : int

    Privacy
    -------
    A person moves a sum by at most `grid.RADIUS`. The sums have **no noise**: they are for a server that is
    trusted with them, which adds it.
    """

    def __init__(
        self,
        inputs: Any,
        targets: Any,
        model: Any,
        loss: Callable[[Any, Any], Any],
        *,
        sampling_rate: Number,
        rounds: int,
        max_grad_norm: float = 1.0,
        rule: Rule = "flat",
        block: int = DEFAULT_BLOCK,
    ) -> None:
        rows = as_rows(inputs, targets)
        # the noise is the server's: here a plan only counts rounds and draws persons
        plan = TrainingPlan(
            PoissonSampler(sampling_rate), as_integer(rounds, "rounds", minimum=1), 1
        )
        self._door = open_paid(*rows, plan)
        path = find_safe_path(model, loss, _kinds(rows), block)
        self._batch = BatchSum(
            Differentiator(model, loss, path), float(max_grad_norm), rule, "exact"
        )
        self._block = block

    def contribute(self) -> Integers:
        """The integer sum of the clipped gradients of persons drawn for one round, without noise."""
        self._door.claim(1)
        engine = self._batch.engine
        engine.model.train()
        with renew(find_generators(engine.model, engine.loss)), keep_quiet():
            return self._batch.total(self._door.draw(self._block))

    def __reduce__(self) -> Any:
        raise TypeError("a site can't be pickled or copied: that would copy its rows.")


@final
class PrivateSites(Parties):
    """Sites, such as hospitals, with rows of persons: what is hidden is each *person*, wherever the rows are.

    Parameters
    ----------
    sites : mapping, optional
        By name, each site's (inputs, targets), with one row for each person; None for sites that are
        elsewhere and answer over a network.
    ledger : Ledger or account
        One for the persons of all sites, whose unit is a row.
    unit : Unit, optional
        The ledger's by default; ``dp.PUBLIC`` without a ledger.
    public_size : int
        How many persons there are at all sites together, as far as that is public.

    Privacy
    -------
    Which sites there are is public; their rows and numbers of rows are not. A person must be at one site
    alone: at k sites the guarantee is that of a group of k. Proof page: ``docs/proofs/federated.md``.
    """

    _note = "federated training of persons at several sites"

    def __init__(
        self,
        sites: Mapping[str, tuple[Any, Any]] | None,
        *,
        ledger: Payer | None = None,
        unit: Unit | Relation | None = None,
        public_size: int,
    ) -> None:
        chosen = agree_on_unit(unit, book_of(ledger))
        check_unit(chosen, False)
        held = {} if sites is None else {name: as_rows(*rows) for name, rows in sites.items()}
        self.names = tuple(held)
        self.kinds = list({str(kind): kind for kind in map(_kinds, held.values())}.values())
        super().__init__(tuple(held.values()), ledger, chosen, public_size, "public_size")

    def __repr__(self) -> str:
        return f"PrivateSites({', '.join(map(str, self.names))},\n  unit: {self.unit})"


@final
class FederatedSGD(Federation):
    """DP-SGD over several sites: what `PrivateTrainer` makes of all rows in one place, and they never are.

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
    sampling_rate : number
        The chance of each person to be in a round.
    rounds : int
    max_grad_norm : float
        The norm that each person's gradient is clipped to.
    rule : {"flat", "per-layer", "automatic"}
    block : int
        Persons worked on at a time.

    Attributes
    ----------
    plan_ : TrainingPlan
    entry_ : Entry or None
        What the ledger has of it.

    Privacy
    -------
    (ε, δ)-DP for persons, each at one site, all weights of all rounds together. Sites draw their persons and
    clip; integers add up to what one pooled sum would be, and get noise once. The server sees the sums of
    sites without noise, and must be trusted; a site that doesn't clip harms its own persons alone. Proof
    page: ``docs/proofs/federated.md``.
    """

    _sign, _bound_name = 1.0, "max_grad_norm"

    def __init__(
        self,
        model: Any,
        loss: Callable[[Any, Any], Any],
        optimizer: Any,
        *,
        epsilon: Number,
        delta: Number,
        sampling_rate: Number,
        rounds: int,
        max_grad_norm: float = 1.0,
        rule: Rule = "flat",
        block: int = DEFAULT_BLOCK,
    ) -> None:
        super().__init__(
            model,
            optimizer,
            epsilon=epsilon,
            delta=delta,
            sampling_rate=sampling_rate,
            rounds=rounds,
            bound=max_grad_norm,
        )
        if rule not in ("flat", "per-layer", "automatic"):
            raise ValueError(f"rule must be 'flat', 'per-layer' or 'automatic', got {rule!r}.")
        self._loss, self._rule, self._block = loss, rule, as_integer(block, "block", minimum=1)

    def choose(self, rounds: Rounds, parties: Sequence[Party]) -> list[Party]:
        return rounds.everyone(parties)

    def add_up(self, contributions: Iterable[Any]) -> Integers:
        return sum_contributions(contributions, count_numbers(self.shapes))

    def plan(self, parties: Parties) -> TrainingPlan:
        """What a training at these sites would do and cost; no row is read."""
        for kinds in parties.kinds if isinstance(parties, PrivateSites) else ():
            find_safe_path(self.model, self._loss, kinds, self._block)
        return super().plan(parties)

    def read(self, arrays: list[Any]) -> Any:
        return arrays[0] if len(arrays) == 1 else None

    def _open(self, parties: Sequence[Any], plan: TrainingPlan) -> tuple[Sequence[Any], Ask]:
        sites = [
            Site(
                inputs,
                targets,
                self.model,
                self._loss,
                sampling_rate=plan.sampler.chance,
                rounds=plan.steps,
                max_grad_norm=self._bound,
                rule=self._rule,
                block=self._block,
            )
            for inputs, targets in parties
        ]
        return sites, Site.contribute


def as_rows(inputs: Any, targets: Any) -> tuple[Tensor, Tensor]:
    """Tensors with rows in the first dimension."""
    rows = torch.as_tensor(inputs), torch.as_tensor(targets)
    if any(each.dim() < 1 or len(each) != len(rows[0]) for each in rows):
        raise ValueError(
            "sites: inputs and targets must have rows in the first dimension, equally many."
        )
    return rows


def find_safe_path(model: Any, loss: Callable[[Any, Any], Any], kinds: Kinds, block: int) -> Path:
    """How to differentiate a network; raise where a person's bits depend on others of the same block.

    Privacy
    -------
    Found out on random public rows: the premise on which the sensitivity of exact sums rests.
    """
    rows = random_rows([kinds[0]], kinds[1], model)
    path = find_path(model, loss, rows, block)
    if block > 1:
        check_draws_apart(model, loss, path, rows)
    if block > 1 and not blocks_are_independent(model, loss, path, rows, block, 1):
        raise ValueError(
            "block: on this machine a person's gradients depend, in their last bits, on others of the same "
            "block. Use block=1."
        )
    return path


def _kinds(rows: tuple[Tensor, Tensor]) -> Kinds:
    return (tuple(rows[0].shape[1:]), rows[0].dtype), (tuple(rows[1].shape[1:]), rows[1].dtype)
