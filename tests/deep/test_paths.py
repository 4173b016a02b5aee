"""Each path from a network to a step is attacked by a person who chooses the gradient."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

from discreet import accounting
from discreet.audit import audit
from discreet.deep.clipping import Differentiator
from discreet.deep.grid import RADIUS
from discreet.deep.plans import PoissonSampler, TrainingPlan
from discreet.deep.steps import BatchSum
from discreet.deep.tensors import Block
from discreet.measures import GaussianDP

PLAN = TrainingPlan(PoissonSampler(Fraction(1)), 1, RADIUS // 2)


class Sequences(nn.Module):
    """Long sequences and few weights: norms are full; short ones and many weights: from Gram matrices."""

    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(3, width, bias=False)

    def forward(self, x):
        return self.inner(x).flatten(1)


NETWORKS = {
    "product": (nn.Linear(3, 2), (3,)),
    "ghost": (Sequences(40), (2, 3)),
    "direct": (Sequences(2), (9, 3)),
    "convolution": (nn.Conv1d(3, 2, 2), (3, 4)),
    "image": (nn.Conv2d(12, 2, 2), (12, 4, 3)),
}


def loss(outputs, targets):
    """As steep as the person's target wants."""
    return outputs.flatten(1).sum(dim=1) * targets


def total(name, path, arithmetic, there, factor=1.0):
    torch.manual_seed(3)
    model, shape = NETWORKS[name]
    x = torch.randn(4, *shape)
    targets = torch.full((4,), 1e8)
    present = np.array([there, False, False, False])
    block = Block((x,), targets, present.astype(float), present)
    engine = Differentiator(model, loss, path)
    return factor * BatchSum(engine, 1.0, "flat", arithmetic).total([block])


def attacked(name, path, arithmetic, factor=1.0):
    sums = {there: total(name, path, arithmetic, there, factor) for there in (False, True)}
    direction = sums[True] / np.linalg.norm(sums[True].astype(float))

    def mechanism(there, trials):
        values = np.tile(sums[there].astype(np.int64), (trials, 1))
        return PLAN.add_noise(values.ravel()).reshape(values.shape) / float(RADIUS)

    claim = accounting.cost(PLAN.event, GaussianDP)
    return audit(
        mechanism, (False, True), claim, trials=4000, confidence=0.99,
        score=lambda told: told @ direction, rounding=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize("arithmetic", ["exact", "fast"])
@pytest.mark.parametrize("path", ["tape", "vmap", "single"])
@pytest.mark.parametrize("name", NETWORKS)
def test_no_path_tells_more_than_its_event(name, path, arithmetic):
    found = attacked(name, path, arithmetic)
    assert not found.is_violated
    assert found.floor > 0.6 * found.claimed


def test_channels_last_tell_no_more_than_their_event():
    found = attacked("image", "channels-last", "exact")
    assert not found.is_violated
    assert found.floor > 0.6 * found.claimed
    assert attacked("image", "channels-last", "exact", factor=2.0).is_violated
    length = np.linalg.norm(total("image", "channels-last", "exact", True).astype(float))
    assert 0.999 * RADIUS < length <= RADIUS


def test_a_chain_tells_no_more_than_its_event():
    found = attacked("product", "chain", "exact")
    assert not found.is_violated
    assert found.floor > 0.6 * found.claimed
    assert attacked("product", "chain", "exact", factor=2.0).is_violated
    length = np.linalg.norm(total("product", "chain", "exact", True).astype(float))
    assert 0.999 * RADIUS < length <= RADIUS


@pytest.mark.parametrize("name", NETWORKS)
def test_a_norm_that_is_half_forgotten_is_caught(name):
    assert attacked(name, "tape", "exact", factor=2.0).is_violated


@pytest.mark.parametrize("path", ["tape", "vmap"])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_clipped_person_is_as_long_as_the_radius_and_no_longer(name, path):
    length = np.linalg.norm(total(name, path, "exact", True).astype(float))
    assert 0.999 * RADIUS < length <= RADIUS
