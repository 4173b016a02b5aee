"""The same rounds over a network, with Flower: a strategy for its server, and apps for clients and sites.

It needs ``flwr``, which wants other versions of some libraries than the rest of the toolkit: give it an
environment of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, final

import numpy as np
from flwr.app import (
    ArrayRecord,
    ConfigRecord,
    Context,
    Message,
    MessageType,
    MetricRecord,
    RecordDict,
)
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import Strategy

from discreet.deep.federated.averaging import ClientTraining, train_client
from discreet.deep.federated.rounds import Parties, Rounds
from discreet.deep.federated.server import Federation
from discreet.deep.federated.sites import Site
from discreet.deep.plans import TrainingPlan
from discreet.ledger.chain import new_token
from discreet.rational import as_integer

__all__ = ["FlowerStrategy", "client_app", "site_app"]

#: From what Flower knows of a node to the node's own data.
Load = Callable[[Context], Any]


@final
class FlowerStrategy(Strategy):
    """A strategy for Flower's ``ServerApp`` that makes the rounds of a federation.

    Parameters
    ----------
    federation : FederatedAveraging or FederatedSGD
        Its model is trained in place, here at the server.
    parties : PrivateClients or PrivateSites
        With the ledger and public numbers, and None for the clients or sites, which are Flower's nodes.
    wait_for : int
        How many nodes must be there before the first round: an arrangement, not a guarantee.

    Privacy
    -------
    That of `federation`, for nodes or for the persons at them. The whole plan is charged before a node is
    asked, and each round is claimed in the ledger before it is sent. Answers of nodes that weren't asked,
    second answers, errors and answers of other forms add nothing and aren't told of. The server, and
    Flower's SuperLink, see answers as they are and must be trusted; a node stands for one client only if
    nodes are authenticated. No metric is asked for. Proof page: ``docs/proofs/federated.md``.
    """

    def __init__(self, federation: Federation, parties: Parties, *, wait_for: int = 1) -> None:
        self._federation, self._parties = federation, parties
        self._wait_for = as_integer(wait_for, "wait_for", minimum=0)
        self._rounds: Rounds | None = None
        self._plan: TrainingPlan | None = None
        self._asked: set[int] = set()

    def start(
        self,
        grid: Any,
        initial_arrays: ArrayRecord | None = None,
        num_rounds: int | None = None,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Any:
        """Charge the whole training, then make all of its rounds.

        Parameters
        ----------
        grid : Grid
        initial_arrays, num_rounds : None
            The federation has its model and its number of rounds.
        timeout : float
            Seconds to wait for the answers of a round; who is late adds nothing.
        train_config, evaluate_config : ConfigRecord, optional
        evaluate_fn : callable, optional
            For public data.
        """
        if initial_arrays is not None or num_rounds is not None:
            raise ValueError("initial_arrays and num_rounds are those of the federation.")
        plan = self._federation.plan(self._parties)
        while len(list(grid.get_node_ids())) < self._wait_for:
            time.sleep(0.5)
        measure, token = self._federation.measure, new_token()
        with self._parties.prepaid(plan, measure, token=token) as rounds:
            self._plan, self._rounds = plan, rounds
            self._federation.plan_, self._federation.entry_ = plan, rounds.entry
            return super().start(
                grid,
                self._arrays(),
                plan.steps,
                timeout,
                train_config,
                evaluate_config,
                evaluate_fn,
            )

    def summary(self) -> None:
        """Nothing: what is told of a training is in the ledger."""

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Any
    ) -> Iterable[Message]:
        """Claim a round, and address those who are asked in it."""
        if self._rounds is None:
            raise ValueError("start the strategy with start(grid): a round must be paid for.")
        self._rounds.claim(1)
        asked = self._federation.choose(self._rounds, sorted(grid.get_node_ids()))
        self._asked = set(asked)
        content = {"arrays": arrays, "config": config}
        return [Message(RecordDict(content), node, MessageType.TRAIN) for node in asked]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord, None]:
        """Add up what came, add noise, and move the model; no metric."""
        assert self._plan is not None
        self._federation.finish_round(self._parties, self._plan, map(self._read, replies))
        return self._arrays(), None

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Any
    ) -> Iterable[Message]:
        """Nobody is asked for a metric: it would have to be paid for."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> None:
        """Nothing is left of what nobody asked for."""

    def _arrays(self) -> ArrayRecord:
        return ArrayRecord(torch_state_dict=self._federation.model.state_dict())

    def _read(self, reply: Message) -> Any:
        """What one node sent, once; None for anything else."""
        try:
            node = reply.metadata.src_node_id
            if node not in self._asked or reply.has_error():
                return None
            self._asked.discard(node)
            [record] = reply.content.array_records.values()
            return self._federation.read(record.to_numpy_ndarrays())
        except Exception:  # what is wrong with an answer is not told
            return None


def client_app(model: Any, training: ClientTraining, load: Load) -> ClientApp:
    """A Flower app for a client of `FederatedAveraging`.

    Parameters
    ----------
    model : torch.nn.Module
        Of the server's form; its weights come with each round.
    training : callable
        As in `FederatedAveraging`.
    load : callable
        From the node's context to the client's data.
    """

    def answer(message: Message, context: Context) -> list[Any]:
        return train_client(model, lambda own, _: training(own, load(context)), None) or []

    return _app(model, answer)


def site_app(
    model: Any, loss: Callable[[Any, Any], Any], load: Load, *, rounds: int, **settings: Any
) -> ClientApp:
    """A Flower app for a site of `FederatedSGD`.

    Parameters
    ----------
    model : torch.nn.Module
        Of the server's form; its weights come with each round.
    loss : callable
    load : callable
        From the node's context to the site's (inputs, targets).
    rounds : int
        How often the site answers in a run, at most.
    **settings
        Those of `Site`: sampling_rate, max_grad_norm, rule, block, as the server has them.
    """

    def answer(message: Message, context: Context) -> list[Any]:
        made = context.state.config_records.setdefault("discreet", ConfigRecord({"made": 0}))
        if int(made["made"]) >= rounds:
            return []
        made["made"] = int(made["made"]) + 1
        inputs, targets = load(context)
        return [Site(inputs, targets, model, loss, rounds=1, **settings).contribute()]

    return _app(model, answer)


def _app(model: Any, answer: Callable[[Message, Context], list[Any]]) -> ClientApp:
    app = ClientApp()

    def train(message: Message, context: Context) -> Message:
        try:
            model.load_state_dict(message.content["arrays"].to_torch_state_dict())
            arrays = [np.ascontiguousarray(each) for each in answer(message, context)]
        except Exception:  # an error is a fact about this node: it adds nothing
            arrays = []
        content = RecordDict({"answer": ArrayRecord(numpy_ndarrays=arrays)})
        return Message(content, reply_to=message)

    app.train()(train)
    return app
