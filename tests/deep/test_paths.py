"""Each path from a network to a step is attacked by a person who chooses the gradient."""

from __future__ import annotations

import math
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


BATCHES = {
    "chain": (lambda: nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 3)), (8,)),
    "tape": (lambda: nn.Sequential(nn.Linear(8, 4), nn.LayerNorm(4), nn.Linear(4, 3)), (8,)),
    "channels-last": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 16, 8, 2, padding=3), nn.Tanh(), nn.Flatten(), nn.Linear(256, 3)
        ),
        (1, 8, 8),
    ),
}


def odd_persons(shape, classes, count):
    """Rows of many kinds: missing, infinite and huge numbers, zeros, and classes that don't exist."""
    torch.manual_seed(5)
    x, y = torch.randn(count, *shape), torch.randint(0, classes, (count,))
    for place, value in enumerate((float("nan"), float("inf"), 3e38, -1e20, 0.0, -0.0, 1e-42)):
        x[2 * place + 1] = value
    y[4], y[count - 2] = classes, -7
    return x, y


def batch_of(x, y, size):
    """Blocks of so many places, the last of which is filled with zeros."""
    for start in range(0, len(y), size):
        part = slice(start, start + size)
        present = np.arange(size) < len(y[part])
        places = torch.zeros(size, *x.shape[1:]), torch.zeros(size, dtype=y.dtype)
        for place, values in zip(places, (x[part], y[part]), strict=True):
            place[: len(values)] = values
        yield Block((places[0],), places[1], present.astype(float), present)


@pytest.mark.parametrize("path", BATCHES)
def test_who_leaves_a_batch_takes_their_own_integers_along_and_no_others(path):
    build, shape = BATCHES[path]
    size = 16
    torch.manual_seed(6)
    cross_entropy = nn.CrossEntropyLoss(reduction="none")
    summed = BatchSum(Differentiator(build(), cross_entropy, path), 0.5, "flat", "exact")
    x, y = odd_persons(shape, 3, 2 * size + 1)

    def total(kept):
        return summed.total(batch_of(x[kept], y[kept], size))

    everybody = torch.arange(len(y))
    whole = total(everybody)
    longest = 0
    for person in (0, 1, 4, 5, size - 1, size, 2 * size):
        alone = total(everybody[person : person + 1])
        assert np.array_equal(whole - total(everybody[everybody != person]), alone)
        length = math.isqrt(sum(int(v) ** 2 for v in alone))
        assert length < RADIUS
        longest = max(longest, length)
    assert longest > 0.99 * RADIUS
