"""A table behind the door trains a network: its schema makes the inputs, and its persons are drawn whole."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

import discreet as dp
from discreet.deep import MLPClassifier, MLPRegressor, PrivateTable, PrivateTensors, PrivateTrainer
from discreet.deep import tables as module

LOSS = nn.CrossEntropyLoss(reduction="none")
SCHEMA = dp.Schema(a=dp.Real(-1, 1), b=dp.Categorical("x", "y", "z"), y=dp.Categorical("no", "yes"))
PERSONS = dp.Unit(dp.ADD_REMOVE, id_column="person", max_rows=3)
PUBLIC = dp.Unit(dp.PUBLIC, id_column="person", max_rows=3)


def table(rows=600):
    draw = np.random.default_rng(0)
    a, b = draw.uniform(-1, 1, rows), draw.choice(["x", "y"], rows)
    y = np.where(a + 0.5 * (b == "x") > 0.2, "yes", "no")
    return {"a": a, "b": b, "y": y}


def network(width=5):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(width, 8), nn.Tanh(), nn.Linear(8, 2))


def trainer(model, **options):
    settings = {"epsilon": 4, "delta": 1e-5, "sampling_rate": 0.2, "steps": 60, "public_size": 600}
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    return PrivateTrainer(model, LOSS, optimizer, **{**settings, **options})


def public(model, data, **options):
    """One step without noise, everybody in the batch."""
    settings = {"epsilon": math.inf, "sampling_rate": 1, "steps": 1, "max_grad_norm": 0.3}
    return trainer(model, **{**settings, **options}).fit(data)


def flat(model):
    return torch.cat([each.detach().flatten() for each in model.parameters()])


def test_a_data_set_trains_a_network_and_pays_for_it():
    rows = table(2000)
    paid = dp.Ledger(limit=dp.ApproxDP(4, 1e-5))
    data = dp.PrivateDataset(rows, SCHEMA, ledger=paid)
    model = network()
    done = trainer(model, public_size=2000).fit(data)
    assert paid.entries()[-1].event == done.plan_.event == trainer(network()).plan(data).event
    x = PrivateTable(data).inputs({name: rows[name] for name in ("a", "b")})
    guess = np.array(PrivateTable(data).classes)[model(x).argmax(dim=1).numpy()]
    assert (guess == rows["y"]).mean() > 0.85
    with pytest.raises(dp.BudgetExceeded):
        trainer(network()).fit(data)


def test_a_table_is_the_tensors_that_its_schema_makes():
    rows = table(70)
    rows["y"][3] = "neither"  # a row without a declared class is left out
    data = PrivateTable(dp.PrivateDataset(rows, SCHEMA, unit=dp.PUBLIC))
    assert data.width == 5
    x = data.inputs({name: rows[name] for name in ("a", "b")})
    assert torch.equal(x[:, 2:].sum(dim=1), torch.ones(70))
    assert x[:, 0].numpy() == pytest.approx(rows["a"], abs=1e-5)
    kept = np.isin(rows["y"], ["no", "yes"])
    assert kept.sum() == 69
    aims = torch.from_numpy((rows["y"] == "yes").astype(np.int64))
    one, other = network(), network()
    public(one, data)
    public(other, PrivateTensors(x[kept], aims[kept], unit=dp.PUBLIC))
    assert torch.equal(flat(one), flat(other))


def test_another_column_can_be_the_target():
    data = dp.PrivateDataset(table(50), SCHEMA, unit=dp.PUBLIC)
    chosen = PrivateTable(data, target="a")
    assert chosen.width == 5
    assert chosen.classes == ()
    model = nn.Linear(5, 1)
    done = PrivateTrainer(
        model, lambda out, aim: (out[:, 0] - aim) ** 2, torch.optim.SGD(model.parameters(), lr=0.1),
        epsilon=math.inf, delta=1e-5, sampling_rate=1, steps=2, public_size=50,
    ).fit(chosen)  # fmt: skip
    assert done.plan_.steps == 2
    with pytest.raises(ValueError, match="no column 'c'"):
        PrivateTable(data, target="c")


def test_persons_of_a_table_are_those_of_tensors():
    rows = table(60)
    ids = np.repeat(np.arange(20), 3)
    whole = PrivateTable(dp.PrivateDataset({**rows, "person": ids}, SCHEMA, unit=PUBLIC))
    x = whole.inputs({name: rows[name] for name in ("a", "b")})
    aims = torch.from_numpy((rows["y"] == "yes").astype(np.int64))
    one, other = network(), network()
    public(one, whole)
    public(other, PrivateTensors(x, aims, unit=PUBLIC, persons=ids))
    torch.testing.assert_close(flat(one), flat(other), rtol=1e-5, atol=1e-7)
    assert not torch.equal(flat(one), flat(network()))


def longest_move(model_of=network):
    """How far one person with many like rows moves a step, as a share of what is charged for."""
    rows, like = table(40), {"a": np.full(9, 0.9), "b": np.full(9, "z"), "y": np.full(9, "yes")}
    more = {name: np.concatenate([rows[name], like[name]]) for name in rows}
    moved = []
    for given, ids in ((rows, np.arange(40)), (more, np.append(np.arange(40), np.full(9, 99)))):
        model = model_of()
        public(model, dp.PrivateDataset({**given, "person": ids}, SCHEMA, unit=PUBLIC))
        moved.append(flat(model))
    return float((moved[1] - moved[0]).norm()) / (0.3 / 600)


def test_a_person_with_many_rows_moves_a_step_by_the_norm_at_most():
    assert 0.9 < longest_move() <= 1.001


def test_rows_that_are_clipped_each_and_charged_as_a_person_are_caught(monkeypatch):
    right = module.open_paid
    monkeypatch.setattr(
        module,
        "open_paid",
        lambda inputs, targets, plan, persons, each: right(inputs, targets, plan),
    )
    assert longest_move() > 2.5  # three rows, each as long as the person may be


def test_rows_of_one_person_are_drawn_together():
    ids = np.repeat(np.arange(30), 3)
    data = {"a": np.linspace(-1, 1, 30)[ids], "b": np.full(90, "x"), "y": np.full(90, "yes")}
    ledger = dp.Ledger(limit=dp.ApproxDP(4, 1e-5), unit=PERSONS)
    source = PrivateTable(dp.PrivateDataset({**data, "person": ids}, SCHEMA, ledger=ledger))
    plan = trainer(network(), sampling_rate=0.3, steps=20).plan(source)
    seen = []

    def look(rows):
        for _ in range(20):
            for block in rows.draw(8):
                found = block.inputs[0][:, 0].reshape(8, 3)
                assert (found == found[:, :1]).all()
                seen.append(int(block.present.sum()))

    with source.prepaid(plan, dp.ApproxDP(4, 1e-5)) as door:
        door.carry_out(20, look)
        with pytest.raises(ValueError, match="not the plan that was paid for"):
            door.carry_out(1, look)
    assert 0.2 < sum(seen) / (20 * 30) < 0.4


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
def test_estimators_protect_persons_with_several_rows(kind):
    rows = table(900)
    schema = SCHEMA
    if kind is MLPRegressor:
        rows["y"] = rows["a"] / 2
        schema = dp.Schema(a=dp.Real(-1, 1), b=dp.Categorical("x", "y"), y=dp.Real(-1, 1))
    ledger = dp.Ledger(limit=dp.ApproxDP(4, 1e-5), unit=PERSONS)
    given = {**rows, "person": np.arange(900) // 3}
    data = dp.PrivateDataset(given, schema, ledger=ledger)
    model = kind(epsilon=4, delta=1e-5, steps=40, expected_rows=300, hidden=(8,)).fit(data)
    found = model.predict({name: rows[name] for name in ("a", "b")})
    if kind is MLPClassifier:
        assert (found == rows["y"]).mean() > 0.8
    else:
        assert np.corrcoef(found, rows["y"])[0, 1] > 0.7
    assert ledger.entries()[-1].event == model.plan(data).event


def test_a_training_on_a_table_is_taken_up_after_a_crash(tmp_path):
    data = dp.PrivateDataset(table(), SCHEMA, ledger=dp.Ledger(limit=dp.ApproxDP(4, 1e-5)))
    path = tmp_path / "training"
    stopped = trainer(network())
    stopped._optimizer.register_step_post_hook(lambda *_: path.exists() and 1 / 0)
    with pytest.raises(ZeroDivisionError):
        stopped.fit(data, checkpoint=path, checkpoint_every=20)
    steps = []
    again = trainer(network())
    again._optimizer.register_step_post_hook(lambda *_: steps.append(1))
    again.resume(data, path, checkpoint_every=20)
    assert len(steps) == 20  # twenty were made, twenty were lost


def test_what_can_not_be_trained_on_is_refused():
    limit = dp.ApproxDP(1, 1e-6)
    one = dp.PrivateDataset(table(20), SCHEMA, ledger=dp.Ledger(limit=limit, unit=dp.REPLACE_ONE))
    with pytest.raises(ValueError, match="ADD_REMOVE"):
        trainer(network()).fit(one)
    with pytest.raises(TypeError, match="PrivateTable"):
        trainer(network()).fit(table(20))
    many, few = (
        PrivateTable(dp.PrivateDataset(table(n), SCHEMA, ledger=dp.Ledger(limit=limit)))
        for n in (20, 0)
    )
    assert repr(many) == repr(few)
