"""Canaries in real trainings: persons who choose their gradients, and an optimizer that keeps sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from test_dpsgd import ledger
from torch import nn

from discreet.audit import audit_in_one_run
from discreet.deep import PrivateTensors, PrivateTrainer, dpsgd
from discreet.guarantees.deep.attacks_canaries import score_of
from discreet.measures import ApproxDP

CANARIES, STEPS, EXPECTED = 300, 6, 75


class Keeping(torch.optim.SGD):
    """Keeps every gradient that it gets."""

    def __init__(self, parameters):
        super().__init__(parameters, lr=1e-3)
        self.seen = []

    def step(self, closure=None):
        [group] = self.param_groups
        self.seen.append(torch.cat([each.grad.flatten() for each in group["params"]]).numpy())
        return super().step(closure)


class Raw(nn.Module):
    """A product with a parameter, which only vmap differentiates."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(CANARIES))

    def forward(self, x):
        return (x * self.weight).sum(dim=1, keepdim=True)


class Words(nn.Module):
    """Each canary has a word of its own."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(CANARIES, 1)

    def forward(self, x):
        return self.table(x)[:, 0]


class Places(nn.Module):
    """The same weight at three places of a sequence, so that norms come from Gram matrices."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(CANARIES, 1, bias=False)

    def forward(self, x):
        return self.inner(x[:, None, :].expand(-1, 3, -1)).sum(dim=1)


class Product(nn.Module):
    """A linear layer in a module of its own, which is no chain."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(CANARIES, 1, bias=False)

    def forward(self, x):
        return self.inner(x)


NETWORKS = {
    "chain": (lambda: nn.Linear(CANARIES, 1, bias=False), "chain"),
    "product": (Product, "tape"),
    "places": (Places, "tape"),
    "rows": (Words, "tape"),
    "raw": (Raw, "vmap"),
}


def steep(outputs, targets):
    """A loss as steep as a canary can make it."""
    return 1e6 * outputs[:, 0]


def attacked(name, epsilon, guesses):
    """One training with canaries by coins, each with a coordinate of its own; all noised sums are seen."""
    build, path = NETWORKS[name]

    def run(included):
        model = build()
        optimizer = Keeping(model.parameters())
        who = torch.from_numpy(np.flatnonzero(included))
        x = who if name == "rows" else torch.eye(CANARIES)[who]
        x = x[:, None] if name == "rows" else x
        trainer = PrivateTrainer(
            model, steep, optimizer, epsilon=epsilon, delta=1e-5, sampling_rate=0.25, steps=STEPS,
            public_size=CANARIES,
        )  # fmt: skip
        trainer.fit(PrivateTensors(x, torch.zeros(len(x)), ledger=ledger()))
        assert trainer._path == path
        return score_of(trainer.plan_)(np.stack(optimizer.seen, axis=1) * EXPECTED)

    return audit_in_one_run(run, CANARIES, guesses=[guesses], delta=1e-5, confidence=0.999)


@pytest.mark.parametrize("name", NETWORKS)
def test_canaries_of_a_training_stay_below_its_claim(name):
    found = attacked(name, 4, (60, 60))
    assert not found.refutes(ApproxDP(4, 1e-5))
    assert (
        found.best.correct > 60
    )  # they are seen, though: by chance half of the guesses would be right


@pytest.mark.parametrize("name", ["product", "raw"])
def test_canaries_that_are_not_clipped_are_noticed(name, monkeypatch):
    sums = dpsgd.BatchSum.total
    monkeypatch.setattr(dpsgd.BatchSum, "total", lambda self, blocks: 50 * sums(self, blocks))
    assert attacked(name, 2, (90, 0)).refutes(ApproxDP(2, 1e-5))


def test_a_tenth_of_the_noise_is_noticed(monkeypatch):
    drawn = dpsgd.TrainingPlan.draw_noise
    monkeypatch.setattr(
        dpsgd.TrainingPlan, "draw_noise", lambda self, size: drawn(self, size) // 10
    )
    # with other noise one training of eight shows too little: a guess or two are wrong by the sampling
    assert any(attacked("product", 2, (90, 0)).refutes(ApproxDP(2, 1e-5)) for _ in range(3))


def test_a_sum_has_the_noise_of_its_plan():
    """What the attacker is sure of: without canaries nothing but noise is in the sums."""
    model = nn.Linear(CANARIES, 1, bias=False)
    optimizer = Keeping(model.parameters())
    trainer = PrivateTrainer(
        model, steep, optimizer, epsilon=4, delta=1e-5, sampling_rate=0.25, steps=STEPS,
        public_size=CANARIES,
    )  # fmt: skip
    trainer.fit(PrivateTensors(torch.zeros(0, CANARIES), torch.zeros(0), ledger=ledger()))
    told = np.stack(optimizer.seen) * EXPECTED / trainer.plan_.noise_multiplier
    assert abs(told.std() - 1) < 5 / math.sqrt(2 * told.size)
