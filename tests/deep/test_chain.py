"""Chains of linear layers have a plan of their own: the same gradients, the same bits at every place."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from discreet.deep.blocks import choose_size, count_bytes, fit_size
from discreet.deep.chain import Chain
from discreet.deep.clipping import Differentiator, per_person_gradients
from discreet.deep.grid import RADIUS
from discreet.deep.loop import FEW_DRAWS, _NoiseAhead
from discreet.deep.plans import PoissonSampler, TrainingPlan
from discreet.deep.probe import blocks_are_independent, find_path, random_rows
from discreet.deep.steps import BatchSum
from discreet.deep.tensors import Block

LOSS = nn.CrossEntropyLoss(reduction="none")


def sequence(*layers):
    torch.manual_seed(0)
    return nn.Sequential(*layers)


CHAINS = {
    "tanh": lambda: sequence(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)),
    "relu": lambda: sequence(nn.Linear(5, 9), nn.ReLU(), nn.Linear(9, 3)),
    "sigmoid first": lambda: sequence(nn.Sigmoid(), nn.Linear(5, 6), nn.Sigmoid(), nn.Linear(6, 3)),
    "no bias": lambda: sequence(nn.Linear(5, 6, bias=False), nn.Tanh(), nn.Linear(6, 3)),
    "nested": lambda: sequence(nn.Sequential(nn.Flatten(), nn.Linear(5, 4)), nn.Tanh(), nn.Linear(4, 3)),
    "one layer": lambda: nn.Linear(5, 3),
    "activation last": lambda: sequence(nn.Linear(5, 3), nn.Tanh()),
}  # fmt: skip


def rows(count=12):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(count, 5, generator=generator), torch.arange(count) % 3


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_gives_each_person_their_own_gradient(name):
    model = CHAINS[name]().double()
    x, y = rows()
    for each in (1, 3):
        found = per_person_gradients(model, LOSS, x.double(), y, path="chain", rows=each)
        slow = per_person_gradients(model, LOSS, x.double(), y, path="single", rows=each)
        assert found.keys() == slow.keys()
        for key in slow:
            torch.testing.assert_close(found[key], slow[key], rtol=1e-9, atol=1e-11)
            assert slow[key].abs().max() > 1e-4


@pytest.mark.parametrize("rule", ["flat", "automatic", "per-layer"])
@pytest.mark.parametrize("name", CHAINS)
def test_its_integers_are_those_of_the_tape_up_to_rounding(name, rule):
    torch.manual_seed(0)
    x, y = rows()
    present = np.arange(12) < 10
    block = Block((x,), y, present.astype(float), present)
    model = CHAINS[name]()
    sums = [
        BatchSum(Differentiator(model, LOSS, path), 0.3, rule, "exact").total([block])
        for path in ("chain", "tape")
    ]
    assert np.abs(sums[0] - sums[1]).max() < 1e-4 * RADIUS
    assert np.abs(sums[1]).max() > 0.1 * RADIUS


@pytest.mark.parametrize("width", [5, 6, 7, 9, 15, 23])
@pytest.mark.parametrize("each", [1, 3])
def test_a_persons_bits_are_the_same_at_every_place_for_widths_of_all_kinds(width, each):
    model = sequence(nn.Linear(width, 10), nn.Tanh(), nn.Linear(10, 6), nn.ReLU(), nn.Linear(6, 3))
    made = random_rows([((width,), torch.float32)], ((), torch.int64), model)
    assert find_path(model, LOSS, made, 8) == "chain"
    assert blocks_are_independent(model, LOSS, "chain", made, 96, each)


class Odd(nn.Sequential):
    def forward(self, x):
        return 2 * super().forward(x)


def hooked():
    model = CHAINS["tanh"]()
    model[0].register_forward_hook(lambda module, given, found: 2 * found)
    return model


def frozen():
    model = CHAINS["tanh"]()
    model[0].bias.requires_grad_(False)
    return model


def shared():
    layer = nn.Linear(5, 5)
    return nn.Sequential(layer, nn.Tanh(), layer, nn.Linear(5, 3))


@pytest.mark.parametrize(
    "build",
    [
        hooked,
        frozen,
        shared,
        lambda: Odd(nn.Linear(5, 3)),
        lambda: sequence(nn.Linear(5, 3), nn.Dropout()),
        lambda: sequence(nn.Linear(5, 3), nn.GELU()),
        lambda: sequence(nn.Flatten(2), nn.Linear(5, 3)),
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(5, 3)),
        lambda: sequence(nn.Tanh()),
    ],
)
def test_what_does_more_than_a_chain_is_not_taken_for_one(build):
    assert Chain.find(build()) is None


def test_a_network_that_is_given_sequences_is_not_taken_for_a_chain():
    model = nn.Linear(4, 3)
    made = random_rows([((6, 4), torch.float32)], ((), torch.float32), model)
    assert find_path(model, lambda out, aim: out.flatten(1).sum(1) * aim, made, 8) == "tape"


def test_blocks_of_a_chain_hold_a_batch_and_blocks_fit_into_memory():
    assert choose_size(CHAINS["tanh"](), 256) == 288
    assert choose_size(CHAINS["tanh"](), 10**6) == 1024
    model = sequence(nn.Conv2d(1, 8, 3), nn.Tanh(), nn.Flatten(), nn.Linear(8 * 36, 10))
    made = random_rows([((1, 8, 8), torch.float32)], ((), torch.int64), model)
    one = count_bytes(model, LOSS, "tape", made, 1)
    assert 4 * (64 + 2 * 8 * 36) < one < 100_000
    assert count_bytes(model, LOSS, "tape", made, 2) > 1.5 * one
    few, many = (fit_size(model, LOSS, "tape", made, 1, 2**size) for size in (23, 25))
    assert 1 <= few < many
    with pytest.raises(ValueError, match="memory: a block of one person"):
        fit_size(model, LOSS, "tape", made, 1, 2**22)


def test_noise_that_is_drawn_for_several_steps_is_given_out_once():
    plan = TrainingPlan(PoissonSampler(1), 100, RADIUS)
    with _NoiseAhead(plan) as noise:
        drawn = np.stack([noise.next(900) for _ in range(3 * FEW_DRAWS // 900)])
    assert len(np.unique(drawn)) == drawn.size
    assert abs(np.corrcoef(drawn[:-1].ravel(), drawn[1:].ravel())[0, 1]) < 0.02
    assert drawn.std() / RADIUS == pytest.approx(1, abs=0.03)
