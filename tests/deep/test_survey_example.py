"""The step of back-propagation that Fan & Tian 2024 work out by hand (appendix B.2), by private training."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from torch import nn

import discreet as dp
from discreet.deep import PrivateTensors, PrivateTrainer

PRINTED = json.loads(
    (Path(__file__).parents[2] / "papers" / "dpml_survey" / "published.json").read_text("utf-8")
)["worked examples"]


def half_squares(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return (outputs.squeeze(1) - targets) ** 2 / 2


def test_a_step_without_noise_gives_the_printed_weights() -> None:
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False))
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[0.10, 0.20], [0.05, 0.15]]))
        model[1].weight.copy_(torch.tensor([[0.08, 0.12]]))
    row = torch.tensor([[1.0, 2.0]])
    assert model(row).item() == pytest.approx(0.082)
    trainer = PrivateTrainer(
        model,
        half_squares,
        torch.optim.SGD(model.parameters(), lr=0.05),
        epsilon=math.inf,
        delta=1e-5,
        sampling_rate=1,
        steps=1,
        public_size=1,
        max_grad_norm=10,
    )
    trainer.fit(PrivateTensors(row, torch.tensor([1.0]), unit=dp.PUBLIC))
    found = torch.cat([each.detach().flatten() for each in model.parameters()]).tolist()
    assert found == pytest.approx(PRINTED["weights after a step"], abs=6e-4)
    assert model(row).item() == pytest.approx(PRINTED["prediction after it"], abs=6e-4)
