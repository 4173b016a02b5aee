"""Training through the door: charged first, exact on the grid, and taken up once after a crash."""

from __future__ import annotations

import math
import shutil
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import discreet as dp
from discreet.deep import PrivateTensors, PrivateTrainer
from discreet.deep.grid import RADIUS
from discreet.deep.plans import PoissonSampler, TrainingPlan, calibrate_noise
from discreet.events import Gaussian, Poisson, Repeat

LOSS = nn.CrossEntropyLoss(reduction="none")
PERSONS = dp.Unit(dp.ADD_REMOVE, id_column="person", max_rows=3)


def table(rows=300):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(rows, 4, generator=generator)
    return x, (x[:, 0] + x[:, 1] > 0).long()


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def trainer(model, **options):
    settings = {"epsilon": 4, "delta": 1e-5, "sampling_rate": 0.2, "steps": 30, "public_size": 300}
    settings.update(options)
    if settings.get("batch"):
        settings.pop("sampling_rate")
    return PrivateTrainer(model, LOSS, torch.optim.SGD(model.parameters(), lr=0.5), **settings)


def ledger(epsilon=4, delta=1e-5, **options):
    return dp.Ledger(limit=dp.ApproxDP(epsilon, delta), **options)


def public(model, x, y, **options):
    """A training without noise on public rows, everybody in each batch."""
    settings = {"epsilon": math.inf, "sampling_rate": 1, "steps": 1, "delta": 1e-5}
    persons = options.pop("persons", None)
    unit = dp.PUBLIC if persons is None else dp.Unit(dp.PUBLIC, id_column="person", max_rows=3)
    data = PrivateTensors(x, y, unit=unit, persons=persons, public_size=300)
    return trainer(model, **settings, **options).fit(data)


def move(before, after):
    return torch.cat([(b - a).flatten() for a, b in zip(before, weights(after), strict=True)])


def weights(model):
    return [each.detach().clone() for each in model.parameters()]


def test_a_training_learns_and_charges_what_it_says():
    x, y = table(3000)
    paid = ledger()
    model = network()
    done = trainer(model, steps=150, public_size=3000).fit(PrivateTensors(x, y, ledger=paid))
    assert done.entry_ in paid.entries()
    step = Poisson(Fraction(1, 5), Gaussian(done.plan_.sigma, RADIUS**2))
    assert done.plan_.event == Repeat(step, 150) == paid.entries()[-1].event
    assert dp.accounting.satisfies(done.plan_.event, dp.ApproxDP(4, 1e-5))
    assert (model(x).argmax(1) == y).float().mean() > 0.85
    with pytest.raises(dp.BudgetExceeded):
        trainer(network()).fit(PrivateTensors(x, y, ledger=paid))


@pytest.mark.parametrize("arithmetic", ["exact", "fast"])
@pytest.mark.parametrize("rule", ["flat", "per-layer", "automatic"])
def test_a_step_without_noise_is_the_clipped_gradient_over_the_expected_batch(arithmetic, rule):
    x, y = table(70)
    model = network()
    from discreet.deep import clip_gradients

    expected = clip_gradients(model, LOSS, x, y, 0.3, rule=rule)
    before = weights(model)
    public(model, x, y, max_grad_norm=0.3, rule=rule, arithmetic=arithmetic)
    flat = torch.cat([each.flatten() for each in expected.values()])
    torch.testing.assert_close(move(before, model), -0.5 * flat / 300, rtol=1e-3, atol=2e-7)


def test_a_step_of_persons_clips_the_sum_of_their_rows():
    x, y = table(9)
    model = network()
    from discreet.deep import clip_gradients

    expected = clip_gradients(model, LOSS, x, y, 0.3, rows=3)
    before = weights(model)
    public(model, x, y, max_grad_norm=0.3, persons=np.repeat(["b", "a", "c"], 3))
    flat = torch.cat([each.flatten() for each in expected.values()])
    torch.testing.assert_close(move(before, model), -0.5 * flat / 300, rtol=1e-3, atol=2e-7)


@pytest.mark.parametrize("path", ["exact", "fast"])
def test_no_person_moves_a_step_by_more_than_the_norm(path):
    x, y = table(40)
    for value in (1e25, -1e38, math.inf, math.nan, 0.0):
        for count in (1, 3):
            moves = []
            for rows in (x, torch.cat([x, torch.full((count, 4), value)])):
                model = network()
                before = weights(model)
                ids = np.concatenate([np.arange(40), np.full(count, 99)])[: len(rows)]
                labels = torch.cat([y, torch.ones(count, dtype=torch.long)])[: len(rows)]
                public(model, rows, labels, max_grad_norm=0.3, persons=ids, arithmetic=path)
                moves.append(move(before, model))
            assert (moves[0] - moves[1]).norm() <= 0.5 * 0.3 / 300 * 1.001 + 1e-7
            assert torch.isfinite(moves[1]).all()


def test_a_class_out_of_range_is_as_if_the_person_were_not_there():
    x, y = table(40)
    plain, odd = network(), network()
    public(plain, x[:39], y[:39])
    y = y.clone()
    y[39] = 77
    public(odd, x, y)
    for a, b in zip(plain.parameters(), odd.parameters(), strict=True):
        assert torch.equal(a, b)


def test_an_empty_table_trains_on_noise_alone():
    x, y = table(0)
    model = network()
    before = weights(model)
    trainer(model, steps=2).fit(PrivateTensors(x, y, ledger=ledger()))
    assert move(before, model).abs().min() > 0


def test_the_noise_of_a_step_has_the_scale_that_is_charged():
    _, y = table(0)
    model = nn.Linear(400, 50)
    before = weights(model)
    data = PrivateTensors(torch.zeros(0, 400), y, ledger=ledger())
    done = trainer(model, steps=1, sampling_rate=0.5, public_size=10, max_grad_norm=2.0).fit(data)
    moved = move(before, model)
    expected = 0.5 * 2.0 * done.plan_.noise_multiplier / 5
    assert float(moved.std()) / expected == pytest.approx(1, abs=0.02)


def test_batches_are_drawn_by_independent_coins():
    sampler = PoissonSampler(Fraction(1, 10))
    sizes = np.array([len(sampler.draw(1000)) for _ in range(2000)])
    assert sizes.mean() == pytest.approx(100, abs=1.5)
    assert sizes.var() == pytest.approx(90, rel=0.15)  # a fixed batch would have none


def test_persons_are_drawn_whole():
    ids = np.repeat(np.arange(50), 3)
    data = PrivateTensors(
        torch.from_numpy(ids).float()[:, None], torch.zeros(150), ledger=ledger(unit=PERSONS), persons=ids
    )  # fmt: skip
    plan = TrainingPlan(PoissonSampler(Fraction(1, 3)), 40, 40 * RADIUS)
    with data.prepaid(plan, dp.ApproxDP(4, 1e-5)) as door:
        door.claim(40)
        for _ in range(40):
            for block in door.draw(8):
                found = block.inputs[0][:, 0].reshape(8, 3)
                assert (found == found[:, :1]).all()
        with pytest.raises(ValueError, match="no step is claimed"):
            next(door.draw(8))


@pytest.mark.parametrize(
    "ids", [["a", None, "b", "a", None], [7.0, math.nan, 3.0, 7.0, math.nan], [7, 3, 3, 7, 3]]
)
def test_rows_belong_to_whom_they_name_and_rows_without_an_id_to_nobody(ids):
    rows = torch.arange(5.0)[:, None]
    unit = dp.Unit(dp.PUBLIC, id_column="person", max_rows=2)
    data = PrivateTensors(rows, torch.zeros(5), unit=unit, persons=np.array(ids))
    plan = TrainingPlan(PoissonSampler(1), 1, 0)
    with data.prepaid(plan, None) as door:
        door.claim(1)
        [block] = door.draw(4)
    values = block.inputs[0][:, 0].reshape(4, 2)
    weights = block.weights.reshape(4, 2)
    found = {
        tuple(v[w > 0].tolist()) for v, w in zip(values, torch.from_numpy(weights), strict=True)
    }
    assert found - {()} == ({(0.0, 3.0), (2.0,)} if ids[1] != 3 else {(0.0, 3.0), (1.0, 2.0)})


def test_augmented_gradients_are_averaged_before_they_are_clipped():
    x, y = table(20)
    plain, augmented = network(), network()
    public(plain, x, y, max_grad_norm=0.3)
    public(augmented, x, y, max_grad_norm=0.3, augment=lambda rows: rows.clone(), augmentations=4)
    for a, b in zip(plain.parameters(), augmented.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-8)


def test_the_average_of_weights_follows_them():
    x, y = table()
    model = network()
    done = trainer(model, steps=3, average=0.5).fit(PrivateTensors(x, y, ledger=ledger()))
    assert done.average_.keys() == dict(model.named_parameters()).keys()
    assert any((done.average_[k] != v).any() for k, v in model.named_parameters())


def test_fast_sums_need_a_ledger_that_takes_what_is_assumed():
    x, y = table()
    with pytest.raises(ValueError, match="accept_assumed=True"):
        trainer(network(), arithmetic="fast").fit(PrivateTensors(x, y, ledger=ledger()))
    paid = ledger(accept_assumed=True)
    trainer(network(), arithmetic="fast", steps=2).fit(PrivateTensors(x, y, ledger=paid))
    assert len(paid.entries()) >= 1


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"unit": dp.REPLACE_ONE}, "dp.ADD_REMOVE"),
        ({"unit": PERSONS}, "belong together"),
    ],
)
def test_units_that_training_can_not_protect_are_refused(options, fix):
    x, y = table()
    with pytest.raises(ValueError, match=fix):
        PrivateTensors(x, y, ledger=ledger(unit=options["unit"]))


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"public_size": None, "batch": 30}, "public_size must be given"),
        ({"steps": None}, "give steps, or epochs"),
        ({"max_grad_norm": 0.0}, "max_grad_norm"),
        ({"epsilon": math.inf}, "only with unit=dp.PUBLIC"),
        ({"rule": "none"}, "rule must be"),
        ({"augmentations": 2}, "augment"),
    ],
)
def test_settings_that_can_not_be_meant_are_refused(options, fix):
    x, y = table()
    with pytest.raises(ValueError, match=fix):
        trainer(network(), **options).fit(PrivateTensors(x, y, ledger=ledger()))


def test_a_door_shows_nothing_of_its_rows():
    many, few = (PrivateTensors(*table(n), ledger=ledger()) for n in (300, 2))
    assert repr(many) == repr(few)
    assert not hasattr(many, "__len__")
    with pytest.raises(TypeError, match="copy"):
        many.__reduce__()


def test_a_map_style_data_set_is_read_like_its_tensors():
    x, y = table(30)
    rows = [(x[i], y[i]) for i in range(30)]
    one, other = network(), network()
    public(one, x, y)
    data = PrivateTensors(rows, unit=dp.PUBLIC, example=(torch.zeros(4), 0), public_size=300)
    trainer(other, epsilon=math.inf, sampling_rate=1, steps=1).fit(data)
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)


def test_more_noise_is_never_less_than_the_accountant_wants():
    for chance, steps, epsilon in ((Fraction(1, 10), 50, 1), (Fraction(1), 10, 2)):
        sampler = PoissonSampler(chance)
        sigma = calibrate_noise(sampler, steps, dp.ApproxDP(epsilon, 1e-6))
        assert dp.accounting.satisfies(
            TrainingPlan(sampler, steps, sigma).event, dp.ApproxDP(epsilon, 1e-6)
        )
        less = TrainingPlan(sampler, steps, int(sigma * 0.998)).event
        assert not dp.accounting.satisfies(less, dp.ApproxDP(epsilon, 1e-6))


def test_a_seed_that_anyone_knows_does_not_decide_what_is_dropped():
    x, y = table(40)
    moved = []
    for _ in range(2):
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        model.load_state_dict(
            nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 2)).state_dict()
        )
        torch.manual_seed(5)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.fill_(0.1).add_(
                    torch.linspace(0, 1, parameter.numel()).reshape(parameter.shape)
                )
        before = weights(model)
        torch.manual_seed(5)
        public(model, x, y)
        moved.append(move(before, model))
        state = torch.random.get_rng_state()
        torch.manual_seed(5)
        assert torch.equal(state, torch.random.get_rng_state())  # put back as it was
    assert not torch.equal(*moved)


# --- after a crash ---


def test_a_training_is_taken_up_behind_what_the_ledger_knows(tmp_path):
    x, y = table()
    path, copy = tmp_path / "training", tmp_path / "copy"
    data = PrivateTensors(x, y, ledger=ledger())
    stopped = trainer(network())

    def stop(*_):
        if stopped.plan_ is not None and path.exists():
            shutil.copy(path, copy)
            raise KeyboardInterrupt

    stopped._optimizer.register_step_post_hook(stop)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(data, checkpoint=path, checkpoint_every=10)
    steps = []
    again = trainer(network(7))
    again._optimizer.register_step_post_hook(lambda *_: steps.append(1))
    again.resume(data, path, checkpoint_every=10)
    assert len(steps) == 10  # ten were made, ten were lost
    with pytest.raises(ValueError, match="taken up before"):
        trainer(network(8)).resume(data, copy)
    done = trainer(network(9))
    before = weights(network(9))
    done.resume(data, path)  # nothing is left of the plan
    assert done.plan_.steps == 30
    assert len(before) == 4


PROGRAM = """
import sys, torch, os
sys.path.insert(0, {tests!r})
import discreet as dp
from test_dpsgd import table, network, trainer
from discreet.deep import PrivateTensors
x, y = table()
model = network()
data = PrivateTensors(x, y, ledger=dp.Ledger({url!r}, limit=dp.ApproxDP(4, 1e-5)))
one = trainer(model, steps=40)
count = 0
def note(*_):
    global count
    count += 1
    print("step", flush=True)
one._optimizer.register_step_post_hook(note)
if {resume}:
    one.resume(data, {path!r}, checkpoint_every=5)
else:
    one.fit(data, checkpoint={path!r}, checkpoint_every=5)
print("over", flush=True)
"""


@pytest.mark.long
def test_no_step_is_made_twice_for_one_charge_though_it_is_killed(tmp_path):
    path, url = str(tmp_path / "training"), f"sqlite:///{tmp_path}/ledger.db"
    tests = str(Path(__file__).parent)
    made = 0
    for attempt in range(3):
        program = PROGRAM.format(tests=tests, url=url, path=path, resume=attempt > 0)
        command = [sys.executable, "-c", program]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            mine = 0
            for line in process.stdout:
                mine += line.startswith("step")
                if attempt < 2 and mine == 8:
                    process.send_signal(signal.SIGKILL)
            made += mine
        assert mine >= 8
    assert process.returncode == 0
    assert 24 <= made <= 40
    entries = dp.Ledger(url, limit=dp.ApproxDP(4, 1e-5)).entries()
    assert sum(bool(entry.event == entries[0].event) for entry in entries) == 1
