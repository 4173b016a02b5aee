"""The strategy and the apps with Flower's own messages, handed over in one process."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Error, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

import discreet as dp
from discreet.deep import FederatedAveraging, FederatedSGD, PrivateClients, PrivateSites
from discreet.deep.federated.flower import FlowerStrategy, client_app, site_app

sys.path.insert(0, str(Path(__file__).parent / "app"))
from flower_app import task

TaskIdentity.run_id = TaskIdentity.task_id = TaskIdentity.node_id = 7  # as in a process of Flower

CLIENTS = dp.Unit(dp.ADD_REMOVE, id_column="client", max_rows=1)


class HandedOver:
    """A grid whose nodes are apps of this process."""

    def __init__(self, apps, tamper=lambda replies: replies):
        self.apps, self.tamper, self.asked = dict(enumerate(apps, 1)), tamper, []
        self.contexts = {
            node: Context(7, node, {"part": node - 1}, RecordDict(), {}) for node in self.apps
        }

    def get_node_ids(self):
        return list(self.apps)

    def send_and_receive(self, messages, *, timeout=None):
        replies = []
        for message in messages:
            node = message.metadata.dst_node_id
            self.asked.append(node)
            message.metadata._message_id = f"{len(self.asked)}"
            reply = self.apps[node](message, self.contexts[node])
            replies.append(reply)
        return self.tamper(replies) if replies else []


def load(context):
    return task.table(int(context.node_config["part"]))


def clients_app():
    return client_app(task.network(), task.descend, load)


def sites_app(rounds=task.ROUNDS):
    return site_app(task.network(), task.LOSS, load, sampling_rate=1, rounds=rounds, **task.SITES)


def averaging(model, **options):
    settings = {"epsilon": math.inf, "delta": 1e-5, **task.SETTINGS, **options}
    return FederatedAveraging(model, task.descend, **settings)


def simulated(parts):
    model = task.network()
    held = [task.table(part) for part in parts]
    averaging(model).fit(PrivateClients(held, unit=dp.PUBLIC, public_clients=3))
    return model.state_dict()


def run(grid, **options):
    model = task.network()
    parties = PrivateClients(None, unit=dp.PUBLIC, public_clients=3)
    FlowerStrategy(averaging(model, **options), parties, wait_for=3).start(grid)
    return model.state_dict()


def same(one, other):
    return all(torch.equal(value, other[name]) for name, value in one.items())


def test_messages_give_the_weights_of_the_simulation():
    assert same(run(HandedOver([clients_app()] * 3)), simulated(range(3)))


def test_sites_give_the_weights_of_the_simulation():
    found, model = task.network(), task.network()
    settings = {"epsilon": math.inf, "delta": 1e-5, **task.SETTINGS, **task.SITES}
    strategy = FlowerStrategy(
        FederatedSGD(found, task.LOSS, task.plain(found), **settings),
        PrivateSites(None, unit=dp.PUBLIC, public_size=60),
    )
    strategy.start(HandedOver([sites_app()] * 3))
    held = {str(part): task.table(part) for part in range(3)}
    FederatedSGD(model, task.LOSS, task.plain(model), **settings).fit(
        PrivateSites(held, unit=dp.PUBLIC, public_size=60)
    )
    assert same(found.state_dict(), model.state_dict())


def failing(context):
    raise RuntimeError("patient 17 has no label")


def test_a_node_that_fails_adds_nothing_and_its_error_goes_nowhere(caplog):
    broken = client_app(task.network(), task.descend, failing)
    found = run(HandedOver([clients_app(), clients_app(), broken]))
    assert same(found, simulated(range(2)))
    assert "patient 17" not in caplog.text


def answer_with(arrays):
    def tamper(replies):
        record = ArrayRecord(numpy_ndarrays=arrays)
        replies[2].content["answer"] = record
        return replies

    return tamper


def errors(replies):
    return [*replies[:2], Message(Error(3, "patient 17"), reply_to=_question(replies[2]))]


def _question(reply):
    question = Message(RecordDict(), reply.metadata.src_node_id, "train")
    question.metadata._message_id = "q"
    return question


@pytest.mark.parametrize(
    "tamper",
    [
        lambda replies: replies[:2],
        errors,
        answer_with([]),
        answer_with([np.ones(3)]),
        answer_with([np.full((6, 4), np.nan), np.ones(6), np.ones((2, 6)), np.ones(2)]),
        answer_with([np.ones((6, 4), int), np.ones(6), np.ones((2, 6)), np.ones(2)]),
    ],
    ids=["silent", "error", "empty", "shape", "missing", "type"],
)
def test_answers_that_are_none_add_nothing(tamper):
    assert same(run(HandedOver([clients_app()] * 3, tamper)), simulated(range(2)))


def test_a_second_answer_and_one_that_nobody_asked_for_add_nothing():
    found = run(HandedOver([clients_app()] * 3, lambda replies: [*replies, *replies]))
    assert same(found, simulated(range(3)))


def test_a_run_is_charged_before_a_node_is_asked_and_rounds_are_claimed():
    ledger = dp.Ledger(limit=dp.ApproxDP(4, 1e-5), unit=CLIENTS)
    parties = PrivateClients(None, ledger=ledger, public_clients=3)
    grid = HandedOver([clients_app()] * 3)
    settings = {**task.SETTINGS, "epsilon": 4, "delta": 1e-5}
    model = task.network()
    federation = FederatedAveraging(model, task.descend, **settings)
    FlowerStrategy(federation, parties).start(grid)
    assert len(grid.asked) == 3 * task.ROUNDS
    assert ledger.entries()[1:][0].event == federation.plan_.event == federation.entry_.event
    assert len([each for each in ledger.entries() if "begun" in each.note]) == task.ROUNDS
    grid.asked.clear()
    with pytest.raises(dp.BudgetExceeded):
        FlowerStrategy(FederatedAveraging(model, task.descend, **settings), parties).start(grid)
    assert not grid.asked


def test_rounds_that_were_not_paid_for_are_refused():
    parties = PrivateClients(None, unit=dp.PUBLIC, public_clients=3)
    strategy = FlowerStrategy(averaging(task.network()), parties)
    with pytest.raises(ValueError, match="paid for"):
        strategy.configure_train(1, ArrayRecord(), ConfigRecord(), HandedOver([]))
    with pytest.raises(ValueError, match="num_rounds"):
        strategy.start(HandedOver([]), num_rounds=9)


def test_a_site_answers_no_more_often_than_was_agreed():
    grid = HandedOver([sites_app(rounds=1)])
    message = Message(
        RecordDict({"arrays": ArrayRecord(torch_state_dict=task.network().state_dict())}),
        1,
        "train",
    )
    sizes = []
    for _ in range(3):
        message.metadata._message_id = "m"
        reply = grid.apps[1](message, grid.contexts[1])
        sizes.append(len(reply.content["answer"]))
    assert sizes == [1, 0, 0]
