"""Federations through torch: whole clients, persons at sites, and what nobody is told."""

from __future__ import annotations

import logging
import math
import shutil
import signal
import subprocess
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

import discreet as dp
from discreet.audit.registry import Case
from discreet.deep import (
    FederatedAveraging,
    LocalSGD,
    PrivateClients,
)
from discreet.deep.federated import averaging
from discreet.deep.federated.averaging import train_client
from discreet.deep.grid import RADIUS
from discreet.events import Gaussian, Poisson, Repeat

LOSS = nn.CrossEntropyLoss(reduction="none")
CLIENTS = dp.Unit(dp.ADD_REMOVE, id_column="client", max_rows=1)
LOCAL = LocalSGD(LOSS, lr=0.5, batch=8)


def table(rows, seed=1):
    x = torch.randn(rows, 4, generator=torch.Generator().manual_seed(seed))
    return x, (x[:, 0] + x[:, 1] > 0).long()


def parts(clients, rows=8):
    return [table(rows, seed) for seed in range(clients)]


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))


def weights(model):
    return torch.cat([each.detach().flatten().clone() for each in model.parameters()])


def ledger(unit=CLIENTS, limit=(8, 1e-5)):
    return dp.Ledger(limit=dp.ApproxDP(*limit), unit=unit)


def averaging_of(model, training=LOCAL, **options):
    settings = {"epsilon": 8, "delta": 1e-5, "sampling_rate": "0.5", "rounds": 3, **options}
    return FederatedAveraging(model, training, **settings)


def public_round(data, training=LOCAL, public_clients=10, **options):
    """How one round without noise, everybody in it, moves a network."""
    model = network()
    before = weights(model)
    clients = PrivateClients(data, unit=dp.PUBLIC, public_clients=public_clients)
    options = {"epsilon": math.inf, "sampling_rate": 1, "rounds": 1, **options}
    averaging_of(model, training, **options).fit(clients)
    return weights(model) - before


# --- clients ---


def test_clients_learn_together_and_the_ledger_has_one_event():
    paid, data = ledger(), parts(200)
    model = network()
    done = averaging_of(model, rounds=6, max_update_norm=0.5).fit(
        PrivateClients(data, ledger=paid, public_clients=200)
    )
    step = Poisson(Fraction(1, 2), Gaussian(done.plan_.sigma, RADIUS**2))
    assert done.plan_.event == Repeat(step, 6) == paid.entries()[-1].event == done.entry_.event
    assert dp.accounting.satisfies(done.plan_.event, dp.ApproxDP(8, 1e-5))
    x, y = table(2000, seed=10_000)
    assert (model(x).argmax(1) == y).float().mean() > 0.85
    with pytest.raises(dp.BudgetExceeded):
        averaging_of(network()).fit(PrivateClients(data, ledger=paid, public_clients=200))


def plain_step(model, data):
    """A training without chance: one step of gradient descent on all rows."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    LOSS(model(data[0]), data[1]).mean().backward()
    optimizer.step()


def test_a_round_without_noise_is_the_clipped_sum_over_the_expected_number():
    data = parts(5)
    moves = []
    for each in data:
        model = network()
        before = weights(model)
        plain_step(model, each)
        moves.append(weights(model) - before)
    lengths = [move.norm() for move in moves]
    bound = float(sum(lengths) / 5)
    assert min(lengths) < bound < max(lengths)
    expected = sum(move / max(1, move.norm() / bound) for move in moves) / 10
    found = public_round(data, plain_step, max_update_norm=bound)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-7)


class Failing:
    def __getitem__(self, place):
        raise RuntimeError("patient 17 has no label")


BROKEN = [
    Failing(),
    (torch.full((3, 4), math.nan), torch.zeros(3, dtype=torch.long)),
    (torch.full((3, 4), 1e38), torch.ones(3, dtype=torch.long)),
    (torch.ones(3, 4), torch.full((3,), 77)),
    (torch.ones(3, 9), torch.zeros(3, dtype=torch.long)),
    None,
]


@pytest.mark.parametrize("broken", BROKEN, ids=range(len(BROKEN)))
def test_no_client_moves_a_round_by_more_than_the_norm_or_raises(broken, recwarn):
    data = parts(4)
    without = public_round(data, plain_step, max_update_norm=0.1)
    found = public_round([*data[:2], broken, *data[2:]], plain_step, max_update_norm=0.1)
    assert torch.isfinite(found).all()
    assert (found - without).norm() <= 0.1 / 10 * 1.001 + 1e-7
    assert not recwarn.list


@pytest.mark.parametrize("kind", ["shape", "missing", "warning", "print", "log", "exit", "nothing"])
def test_a_training_that_breaks_its_copy_adds_nothing(kind, recwarn, capsys, caplog):
    def breaking(model, data):
        if kind == "shape":
            model[0].weight = nn.Parameter(torch.ones(2, 2))
        elif kind == "missing":
            model[0].weight = None
        elif kind == "warning":
            warnings.warn("client 3 diverges", stacklevel=1)
        elif kind == "print":
            print("client 3 is asked")  # noqa: T201
        elif kind == "log":
            logging.getLogger("training").error("client 3 is asked")
        elif kind == "exit":
            raise SystemExit("client 3 has no rows")

    assert not public_round(parts(2), breaking).any()
    assert not recwarn.list
    assert "client 3" not in "".join(capsys.readouterr())
    assert not caplog.records


def test_errors_are_told_for_made_up_clients_alone():
    federation = averaging_of(network())
    assert federation.rehearse(table(8)) > 0
    with pytest.raises(RuntimeError, match="no label"):
        federation.rehearse(Failing())
    assert train_client(network(), LOCAL, Failing()) is None


@pytest.mark.parametrize("count", [0, 1])
def test_empty_rounds_are_noise_alone(count):
    model = network()
    before = weights(model)
    clients = PrivateClients(parts(count, rows=0), ledger=ledger(), public_clients=100)
    averaging_of(model).fit(clients)
    assert (weights(model) != before).all()


class Counter:
    """A training that would carry something from one client to the next."""

    def __init__(self):
        self.seen = nn.BatchNorm1d(4)

    def __call__(self, model, data):
        self.seen(data[0])
        with torch.no_grad():
            model[0].bias += self.seen.num_batches_tracked


def test_a_client_finds_neither_traces_of_others_nor_their_randomness():
    drawn = []

    def note(model, data):
        drawn.append(torch.rand(3).tolist())

    torch.manual_seed(5)
    state = torch.get_rng_state()
    public_round(parts(3), note)
    torch.manual_seed(5)
    public_round(parts(3), note)
    assert len({tuple(each) for each in drawn}) == 6  # no seed that was set is met again
    torch.manual_seed(5)
    assert torch.equal(torch.get_rng_state(), state)
    one, three = (public_round(parts(n), Counter(), max_update_norm=1e9) for n in (1, 3))
    torch.testing.assert_close(three, 3 * one)


def test_copies_leave_the_model_as_it_was():
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert train_client(model, LOCAL, table(8)) is not None
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


def test_a_frozen_part_is_neither_sent_nor_moved():
    model = network()
    model[0].requires_grad_(False)
    before = model[0].weight.clone()
    clients = PrivateClients(parts(4), ledger=ledger(), public_clients=4)
    averaging_of(model).fit(clients)
    assert torch.equal(model[0].weight, before)


def test_an_optimizer_of_the_server_gets_the_mean_update():
    data, model = parts(4), network()
    plain = public_round(data, plain_step)
    before = weights(model)
    clients = PrivateClients(data, unit=dp.PUBLIC, public_clients=10)
    options = {"epsilon": math.inf, "sampling_rate": 1, "rounds": 1}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
    averaging_of(model, plain_step, optimizer=optimizer, **options).fit(clients)
    torch.testing.assert_close(weights(model) - before, plain / 4, rtol=1e-4, atol=1e-7)


def test_a_round_through_torch_is_attacked_and_keeps_to_its_price():
    """A client with a crafted update, in a round that `finish_round` makes from start to end."""
    model = nn.Linear(1, 1, bias=False)
    federation = averaging_of(model, max_update_norm=1.0, sampling_rate=1, rounds=1)
    clients = PrivateClients(None, ledger=ledger(), public_clients=1)
    plan = federation.plan(clients)
    claim = dp.accounting.cost(plan.event, dp.GaussianDP)
    crafted = [np.full((1, 1), 1e30)]

    def mechanism(there, trials):
        told = np.empty(trials)
        for at in range(trials):
            with torch.no_grad():
                model.weight.zero_()
            federation.finish_round(clients, plan, [crafted] * there)
            told[at] = model.weight.item()
        return told

    found = Case("a round", mechanism, (False, True), claim, 4000, {"rounding": 1e-4}).run(0.99)
    assert not found.is_violated
    assert found.floor > 0.8 * found.claimed


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"max_update_norm": 0}, "max_update_norm"),
        ({"rule": "none"}, "rule"),
        ({"rounds": 0}, "rounds"),
        ({"sampling_rate": 0}, "sampling_rate"),
        ({"sampling_rate": 2}, "sampling_rate"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(options, fix):
    with pytest.raises(ValueError, match=fix):
        averaging_of(network(), **options)


def test_no_noise_is_for_public_clients_and_parameters_must_be_there():
    clients = PrivateClients([], ledger=ledger(), public_clients=3)
    with pytest.raises(ValueError, match="infinite"):
        averaging_of(network(), epsilon=math.inf).fit(clients)
    with pytest.raises(ValueError, match="parameters to train"):
        averaging_of(nn.Tanh(), optimizer=object())
    with pytest.raises(TypeError, match="pickle"):
        averaging_of(network(), LocalSGD(lambda *_: (_ for _ in ()), lr=(_ for _ in ())))


# --- crashes ---


def test_a_crash_loses_its_rounds_and_a_copied_checkpoint_is_refused(tmp_path):
    paid = ledger()
    clients = PrivateClients(parts(30), ledger=paid, public_clients=30)
    path, calls = tmp_path / "rounds.pt", []

    def crashing(model, data):
        calls.append(1)
        if len(calls) > 60:
            raise KeyboardInterrupt
        plain_step(model, data)

    with pytest.raises(KeyboardInterrupt):
        averaging_of(network(), crashing, rounds=10).fit(
            clients, checkpoint=path, checkpoint_every=2
        )
    entries, copied = len(paid.entries()), tmp_path / "copy.pt"
    shutil.copy(path, copied)
    model = network(3)
    made = []
    done = averaging_of(model, lambda *_: made.append(1), rounds=10, sampling_rate=1)
    done.resume(clients, path, checkpoint_every=3)
    spent = [each for each in paid.entries() if each.event == done.plan_.event]
    assert len(spent) == 1
    claims = [e for e in paid.entries()[entries:] if "begun" in e.note]
    assert 1 <= len(claims) <= 2
    with pytest.raises(ValueError, match="taken up before"):
        averaging_of(network()).resume(clients, copied)
    other = PrivateClients(parts(3), ledger=ledger(), public_clients=3)
    with pytest.raises(ValueError, match="no training of this name"):
        averaging_of(network()).resume(other, path)


KILLED = """
import os, signal, sys, torch
import discreet as dp
from torch import nn
from discreet.deep import FederatedAveraging, PrivateClients
unit = dp.Unit(dp.ADD_REMOVE, id_column="client", max_rows=1)
ledger = dp.Ledger(sys.argv[1], limit=dp.ApproxDP(8, 1e-5), unit=unit)
calls = []
def training(model, data):
    calls.append(1)
    if len(calls) > 12:
        os.kill(os.getpid(), signal.SIGKILL)
clients = PrivateClients([None] * 4, ledger=ledger, public_clients=4)
FederatedAveraging(nn.Linear(1, 1), training, epsilon=8, delta=1e-5, sampling_rate=1, rounds=6).fit(
    clients, checkpoint=sys.argv[2], checkpoint_every=2
)
"""


def test_a_killed_server_goes_on_behind_its_last_claim(tmp_path):
    url, path = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "rounds.pt"
    done = subprocess.run([sys.executable, "-c", KILLED, url, str(path)], capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    paid = dp.Ledger(url)
    made = []
    clients = PrivateClients([None] * 4, ledger=paid, public_clients=4)
    federation = averaging_of(nn.Linear(1, 1), lambda *_: made.append(1), sampling_rate=1, rounds=6)
    federation.resume(clients, path, checkpoint_every=2)
    assert len(made) == 2 * 4  # rounds 3 and 4 were claimed when it died, and stay lost


def test_the_default_training_is_plain_descent():
    assert averaging.LocalSGD(LOSS) == LocalSGD(LOSS, 0.1, 1, 32)
    model = network()
    before = LOSS(model(table(80)[0]), table(80)[1]).mean()
    LocalSGD(LOSS, lr=0.5, epochs=5)(model, table(80))
    assert LOSS(model(table(80)[0]), table(80)[1]).mean() < before
