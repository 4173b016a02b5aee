"""A training stops by a score that may be told; its bar tells steps and time alone."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import nn

import discreet as dp
from discreet import progress
from discreet.deep import PrivateTensors, PrivateTrainer
from discreet.events import Repeat


def table(rows):
    x = torch.randn(rows, 4, generator=torch.Generator().manual_seed(1))
    return x, (x[:, 0] + x[:, 1] > 0).long()


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def trainer(model):
    return PrivateTrainer(
        model, nn.CrossEntropyLoss(reduction="none"), torch.optim.SGD(model.parameters(), lr=0.5),
        epsilon=4, delta=1e-5, sampling_rate=0.2, steps=30, public_size=60,
    )  # fmt: skip


def ledger():
    return dp.Ledger(limit=dp.ApproxDP(4, 1e-5))


def weights(model):
    return [each.detach().clone() for each in model.parameters()]


def test_a_training_stops_where_its_score_no_longer_rises_and_keeps_the_best_weights():
    x, y = table(60)
    model, seen = network(), []
    scores = iter([0.1, 0.7, 0.3, 0.2, 0.9])

    def validate(given):
        assert not given.training
        seen.append(weights(given))
        return next(scores)

    paid = ledger()
    done = trainer(model).fit(
        PrivateTensors(x, y, ledger=paid), validate=validate, validate_every=5, patience=2
    )
    assert done.scores_ == [(5, 0.1), (10, 0.7), (15, 0.3), (20, 0.2)]
    for kept, best in zip(weights(model), seen[1], strict=True):
        assert torch.equal(kept, best)
    assert paid.entries()[-1].event == Repeat(done.plan_.step, 30)  # what isn't made stays paid for


def test_a_score_of_private_rows_is_a_release_that_the_ledger_is_charged_for():
    x, y = table(400)
    paid = dp.Ledger(limit=dp.ApproxDP(6, 1e-5))
    schema = dp.Schema(right=dp.Categorical("no", "yes"))

    def validate(model):
        right = np.where((model(x[300:]).argmax(dim=1) == y[300:]).numpy(), "yes", "no")
        held_out = dp.PrivateDataset({"right": right}, schema, ledger=paid)
        return float(held_out.release(dp.Count(where="right == 'yes'"), dp.PureDP(1)).value)

    data = PrivateTensors(x[:300], y[:300], ledger=paid)
    done = trainer(network()).fit(data, validate=validate, validate_every=15)
    assert [step for step, _ in done.scores_] == [15, 30]
    assert paid.spent().epsilon == 6  # 4 for the training, 1 for each score
    with pytest.raises(dp.BudgetExceeded):
        validate(network())


def test_a_score_is_for_one_process_without_checkpoint(tmp_path):
    x, y = table(60)
    data = PrivateTensors(x, y, ledger=ledger())
    with pytest.raises(ValueError, match="validate: give it without checkpoint"):
        trainer(network()).fit(data, validate=lambda model: 0.0, checkpoint=tmp_path / "training")


def test_the_bar_of_a_training_tells_steps_and_time_and_nothing_of_rows(monkeypatch, capsys):
    monkeypatch.setenv(progress.SWITCH, "1")
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PACE", 0.001)
    x, y = table(60)
    trainer(network()).fit(PrivateTensors(x, y, ledger=ledger()))
    shown = capsys.readouterr().err
    lines = [line for line in shown.replace("\n", "\r").split("\r") if line.strip()]
    pattern = r"training \[[#-]{30}\] +\d+% +\d+ s(, about \d+ s left)?"
    assert all(re.fullmatch(pattern, line) for line in lines)
