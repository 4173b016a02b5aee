"""Two real processes train one network: the same integers as one, one charge, and noise added once."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import nn

import discreet as dp
from discreet.deep import PrivateTrainer

PROGRAM = """
import math, sys
import torch
import torch.distributed as dist
from torch import nn
import discreet as dp
from discreet.deep import PrivateTensors, PrivateTrainer

rank, world, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
together = world > 1
if together:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world)
LOSS = nn.CrossEntropyLoss(reduction="none")

def trainer(model, **options):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    given = {"delta": 1e-5, "public_size": 300, "block": 64, "distributed": together, **options}
    return PrivateTrainer(model, LOSS, optimizer, **given)

generator = torch.Generator().manual_seed(1)
x = torch.randn(300, 5, generator=generator)
y = (x[:, 0] + x[:, 1] > 0).long()
results = {}

torch.manual_seed(rank)  # the first process's weights count
model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2))
data = PrivateTensors(x[rank::world], y[rank::world], unit=dp.PUBLIC)
trainer(model, epsilon=math.inf, sampling_rate=1, steps=4, max_grad_norm=0.3).fit(data)
results["sums"] = model.state_dict()

wide = nn.Linear(300, 40)
before = [each.detach().clone() for each in wide.parameters()]
ledger = dp.Ledger(f"sqlite:///{folder}/ledger{world}.db", limit=dp.ApproxDP(4, 1e-5))
nobody = PrivateTensors(torch.zeros(0, 300), torch.zeros(0, dtype=torch.long), ledger=ledger)
done = trainer(wide, epsilon=4, sampling_rate=0.5, steps=1, public_size=10).fit(nobody)
if rank == 0:
    results["start"] = before
    results["expected"] = 0.5 * done.plan_.noise_multiplier / 5
results["noised"] = [each.detach() for each in wide.parameters()]

try:
    trainer(wide, epsilon=4, sampling_rate=0.5, steps=1, public_size=10).fit(nobody)
except Exception as error:
    results["refused"] = type(error).__name__
if together:
    try:
        trainer(wide, epsilon=4, sampling_rate=0.5, steps=1 + rank, public_size=10).fit(nobody)
    except Exception as error:
        results["differ"] = str(error)
torch.save(results, f"{folder}/{world}-{rank}")
if together:
    dist.destroy_process_group()  # else a thread of it may outlive the interpreter, which aborts
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("processes"))
    found = {}
    for world in (1, 2):
        started = [
            subprocess.Popen([sys.executable, "-c", PROGRAM, str(rank), str(world), folder])
            for rank in range(world)
        ]
        try:
            assert [process.wait(timeout=240) for process in started] == [0] * world
        finally:
            for process in started:
                process.kill()
        for rank in range(world):
            found[world, rank] = torch.load(f"{folder}/{world}-{rank}")
    found["entries"] = dp.Ledger(
        f"sqlite:///{folder}/ledger2.db", limit=dp.ApproxDP(4, 1e-5)
    ).entries()
    return found


def flat(tensors):
    return torch.cat([each.flatten() for each in tensors])


def test_two_processes_give_the_bits_of_one(results):
    one = results[1, 0]["sums"]
    for rank in (0, 1):
        for name, value in results[2, rank]["sums"].items():
            assert torch.equal(value, one[name])


def test_noise_is_added_once_and_all_processes_get_the_same(results):
    first, second = results[2, 0], results[2, 1]
    assert torch.equal(flat(first["noised"]), flat(second["noised"]))
    moved = flat(first["noised"]) - flat(first["start"])
    assert float(moved.std()) / first["expected"] == pytest.approx(
        1, abs=0.03
    )  # twice would be 1.41
    alone = flat(results[1, 0]["noised"]) - flat(results[1, 0]["start"])
    assert float(alone.std()) / float(moved.std()) == pytest.approx(1, abs=0.04)


def test_a_training_of_two_processes_is_charged_once(results):
    events = [entry.event for entry in results["entries"] if entry.event is not None]
    assert sum(bool(list(dp.events.iter_leaves(event))) for event in events) == 1


def test_all_processes_stop_where_one_is_refused_or_has_other_settings(results):
    assert results[2, 0]["refused"] == "BudgetExceeded"
    assert results[2, 1]["refused"] == "RuntimeError"
    for rank in (0, 1):
        assert "the same settings" in results[2, rank]["differ"]


def test_processes_that_have_not_met_are_told_how():
    model = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="init_process_group"):
        PrivateTrainer(
            model, nn.CrossEntropyLoss(reduction="none"), torch.optim.SGD(model.parameters(), lr=1),
            epsilon=1, delta=1e-6, sampling_rate=0.5, steps=1, distributed=True,
        )  # fmt: skip
