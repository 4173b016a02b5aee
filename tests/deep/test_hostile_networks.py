"""Networks, losses and data sets with habits that would carry one person's rows to others, or out."""

from __future__ import annotations

import logging
import math
import sys
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from deep_networks import squared
from test_dpsgd import LOSS, ledger, network, public, table, trainer, weights
from torch import nn

import discreet as dp
from discreet.deep import PrivateTensors
from discreet.deep.clipping import Differentiator
from discreet.deep.grid import RADIUS
from discreet.deep.probe import blocks_are_independent, find_path, random_rows
from discreet.deep.steps import BatchSum
from discreet.deep.tensors import Block


class Wrapped(nn.Module):
    """A small network with something before it."""

    def __init__(self):
        super().__init__()
        self.inner = network()

    def forward(self, x):
        return self.inner(self.before(x))

    def before(self, x):
        return x


def assert_same_training(model, x, y, odd_x, odd_y):
    """A training with rows of which the last makes its person drop out, and one without that person."""
    one, other = model(), model()
    public(one, x[:-1], y[:-1])
    public(other, odd_x, odd_y)
    for a, b in zip(weights(one), weights(other), strict=True):
        assert torch.equal(a, b)


# --- what one person does to others ---


class Shifting(Wrapped):
    """Changes its input in place."""

    def before(self, x):
        return x.sub_(0.5).mul_(2.0)


def test_an_input_changed_in_place_is_the_same_for_others_when_a_person_raises():
    x, y = table(40)
    odd = y.clone()
    odd[-1] = 77
    assert_same_training(Shifting, x, y, x, odd)


def test_a_network_that_changes_its_input_leaves_the_rows_as_they_are():
    x, y = table(40)
    before = x.clone()
    public(Shifting(), x, y)
    assert torch.equal(x, before)


def refusal(model, loss=LOSS, kind=torch.long, shape=(4,)):
    rows = random_rows([(shape, torch.float32)], ((), kind), model)
    with pytest.raises(ValueError, match=r"^(model|loss|augment)") as found:
        find_path(model, loss, rows, 16)
    return str(found.value)


class NeedsSomething(Wrapped):
    def before(self, x):
        if (x == 0).all(dim=1).any():
            raise ValueError("a row of zeros")
        return x


def test_a_network_that_raises_for_zeros_is_refused_since_zeros_fill_blocks():
    assert "zeros" in refusal(NeedsSomething())


def balanced(outputs, targets):
    """Weighs each row by how rare its class is in the batch."""
    counts = torch.bincount(targets.clamp(0, 9), minlength=10)
    return F.cross_entropy(outputs, targets, reduction="none") / counts[targets.clamp(0, 9)]


def test_a_loss_that_looks_at_targets_of_others_is_refused():
    assert "depends on other rows" in refusal(network(), balanced)


class Guarded(Wrapped):
    """A guard that many training loops have, over the whole batch."""

    def forward(self, x):
        out = self.inner(x)
        return out if torch.isfinite(out).all() else torch.zeros_like(out)


class Capped(Wrapped):
    def before(self, x):
        return x / x.abs().max().clamp(min=1e3) * 1e3


@pytest.mark.parametrize("model", [Guarded, Capped])
def test_a_guard_over_the_whole_batch_is_refused(model):
    assert "depends on other rows" in refusal(model())


class Gated(nn.Module):
    """Mixes rows behind a layer that starts at zero."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 2)
        nn.init.zeros_(self.gate.weight)

    def forward(self, x):
        return self.gate(torch.tanh(x - 1e-3 * x.mean(dim=0)))


def test_mixing_behind_weights_of_zero_is_refused():
    assert "depends on other rows" in refusal(Gated())


def mix_up(x):
    """Zhang et al. 2018: each row is averaged with another."""
    return 0.7 * x + 0.3 * x[torch.randperm(len(x))]


def jitter(x):
    return x + 0.1 * torch.randn_like(x)


def test_an_augmentation_that_mixes_rows_is_refused_and_one_of_single_rows_is_not():
    x, y = table(40)
    data = PrivateTensors(x, y, ledger=ledger())
    with pytest.raises(ValueError, match=r"augment: .* other rows"):
        trainer(network(), augment=mix_up, augmentations=2).plan(data)
    assert trainer(network(), augment=jitter, augmentations=2).plan(data).assumption == ""


def numpy_mix_up(x):
    return 0.7 * x + 0.3 * x[torch.from_numpy(np.random.permutation(len(x)))]


def test_an_augmentation_with_numpys_generator_is_tried_as_well():
    x, y = table(40)
    data = PrivateTensors(x, y, ledger=ledger())
    with pytest.raises(ValueError, match=r"augment: .* other rows"):
        trainer(network(), augment=numpy_mix_up).plan(data)

    def jump(rows):
        return rows + torch.from_numpy(np.random.standard_normal(rows.shape)).float()

    trainer(network(), augment=jump).plan(data)


# --- what is kept of rows ---


class Remembering(Wrapped):
    """Keeps its last activations in an attribute, as many attention layers do for plots."""

    def before(self, x):
        self.last = x.detach().clone()
        return x


class Counting(Wrapped):
    calls = 0

    def before(self, x):
        self.calls += 1
        return x


class Collecting(Wrapped):
    def __init__(self):
        super().__init__()
        self.seen = []

    def before(self, x):
        self.seen.append(float(x.mean()))
        return x


@pytest.mark.parametrize("model", [Remembering, Counting, Collecting])
def test_a_network_that_keeps_what_it_saw_is_refused(model):
    assert "changes" in refusal(model())


class Later(Wrapped):
    """Keeps rows that probes don't have."""

    last = None

    def before(self, x):
        if (x > 90).any():
            self.last = x.detach().clone()
        return x


def test_nothing_but_parameters_of_the_users_network_changes():
    x, y = table(40)
    model = Later()
    public(model, x + 100, y)
    assert model.last is None


class Observing(nn.Module):
    """A loss that keeps the largest value it saw."""

    def __init__(self):
        super().__init__()
        self.register_buffer("largest", torch.zeros(()))

    def forward(self, outputs, targets):
        losses = F.cross_entropy(outputs, targets, reduction="none")
        self.largest = torch.maximum(self.largest, losses.detach().max())
        return losses


class Recorder:
    """An object with a method that is a loss, and a list of what it saw."""

    def __init__(self):
        self.seen = []

    def loss(self, outputs, targets):
        losses = F.cross_entropy(outputs, targets, reduction="none")
        self.seen.append(losses.detach())
        return losses


@pytest.mark.parametrize("loss", [Observing(), Recorder().loss])
def test_a_loss_that_keeps_what_it_saw_is_refused(loss):
    assert "changes" in refusal(network(), loss)


def test_a_network_with_hooks_is_refused():
    seen = []
    model = network()
    handle = model[0].register_forward_hook(lambda module, inputs, output: seen.append(output))
    assert "hook" in refusal(model)
    handle.remove()
    model[0].register_full_backward_hook(lambda module, *gradients: seen.append(gradients))
    assert "hook" in refusal(model)


# --- what gets out while it runs ---


class Talking(Wrapped):
    def before(self, x):
        if (x > 90).any():
            warnings.warn(f"a value of {x.max():g}", stacklevel=1)
            logging.getLogger("network").error("a value of %g", x.max())
            sys.stdout.write(f"a value of {x.max()}")
        return x


def test_nothing_that_a_network_says_about_rows_gets_out(capsys, caplog):
    x, y = table(40)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        public(Talking(), x + 100, y)
    assert not told
    assert capsys.readouterr().out == ""
    assert not caplog.records


def test_torchs_search_for_anomalies_tells_nothing():
    x, y = table(40)
    odd = x.clone()
    odd[-1] = math.nan
    one, other = network(), network()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with torch.autograd.set_detect_anomaly(True, check_nan=True):
            public(one, x[:-1], y[:-1])
            before = [str(each.message) for each in told]
            public(other, odd, y)
    assert [str(each.message) for each in told][len(before) :] == before
    for a, b in zip(weights(one), weights(other), strict=True):
        assert torch.equal(a, b)


class Leaving(Wrapped):
    def before(self, x):
        if (x > 90).any():
            raise SystemExit("a patient over 90")
        return x


def test_a_row_can_not_end_the_training():
    x, y = table(40)
    odd = x.clone()
    odd[-1] = 99
    assert_same_training(Leaving, x, y, odd, y)


class Odd:
    """A map-style data set with a row of the right shape that can't be copied."""

    def __init__(self, x, y, strange):
        self.x, self.y, self.strange = x, y, strange

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        return self.strange() if at == 3 else (self.x[at], self.y[at])


STRANGE = {
    "input without memory": lambda: (torch.zeros(4, device="meta"), 1),
    "target without memory": lambda: (
        torch.ones(4),
        torch.zeros((), dtype=torch.long, device="meta"),
    ),
    "ragged": lambda: (torch.nested.nested_tensor([torch.zeros(2), torch.zeros(2)]), 1),
}


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_rows_that_can_not_be_copied_count_as_zeros(strange):
    x, y = table(30)
    one, other = network(), network()
    rows = Odd(x.clone(), y.clone(), STRANGE[strange])
    x[3], y[3] = 0, 0
    public(one, x, y)
    data = PrivateTensors(rows, unit=dp.PUBLIC, example=(torch.zeros(4), 0), public_size=300)
    trainer(other, epsilon=math.inf, sampling_rate=1, steps=1).fit(data)
    for a, b in zip(weights(one), weights(other), strict=True):
        assert torch.equal(a, b)


def test_rows_with_a_missing_date_as_id_belong_to_nobody():
    ids = np.array(["2020-01-01", "NaT", "2020-01-02", "NaT"], "datetime64[D]")
    unit = dp.Unit(dp.PUBLIC, id_column="person", max_rows=2)
    data = PrivateTensors(torch.zeros(4, 1), torch.zeros(4), unit=unit, persons=ids)
    assert sorted(data._places.ravel().tolist()) == [-1, -1, 0, 2]


# --- numbers ---


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision_is_clipped_on_the_grid_and_refused_where_sums_are_floats(kind):
    x, y = table(40)
    model = network().to(kind)
    data = PrivateTensors(x.to(kind), y, unit=dp.PUBLIC, public_size=300)
    trainer(model, epsilon=math.inf, sampling_rate=1, steps=1).fit(data)
    assert all(torch.isfinite(each).all() for each in model.parameters())
    with pytest.raises(ValueError, match="arithmetic"):
        trainer(model, arithmetic="fast")


def test_sums_in_floats_are_refused_where_squares_would_vanish():
    """A gradient of 1e-20 has a square of zero in float32, so that nothing would be clipped."""
    model = nn.Linear(4, 2, bias=False)
    engine = Differentiator(model, lambda out, targets: out.sum(dim=1) * targets)
    block = Block(
        (torch.ones(2, 4),), torch.full((2,), 1e-25), np.array([1.0, 0]), np.arange(2) < 1
    )
    total = BatchSum(engine, 1e-30, "flat", "fast").total([block])
    assert np.linalg.norm(total.astype(float)) > 1e3 * RADIUS
    with pytest.raises(ValueError, match="arithmetic must be 'exact'"):
        trainer(network(), arithmetic="fast", max_grad_norm=1e-12)
    total = BatchSum(engine, 1e-30, "flat", "exact").total([block])
    assert np.linalg.norm(total.astype(float)) <= RADIUS


# --- networks that are in order ---


class Functional(Wrapped):
    def before(self, x):
        return F.dropout(x, 0.5, self.training)


class First(nn.Module):
    """The first of what a layer gives."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)[0]


@pytest.mark.parametrize(
    ("build", "shape"),
    [
        (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.1, batch_first=True), (5, 4)),
        (lambda: First(nn.LSTM(4, 3, num_layers=2, dropout=0.3, batch_first=True)), (5, 4)),
        (Functional, (4,)),
    ],
)
def test_dropout_inside_of_layers_is_no_obstacle(build, shape):
    model = build()
    rows = random_rows([(shape, torch.float32)], ((), torch.float32), model)
    assert find_path(model, squared, rows, 8) == "tape"
    assert blocks_are_independent(model, squared, "tape", rows, 8, 1)


def test_an_optimizer_gets_noised_gradients_and_nothing_is_left_on_parameters():
    x, y = table(40)
    model = network()
    for each in model.parameters():
        each.grad = torch.full_like(each, 1e9)
    public(model, x, y)
    assert all(each.grad is None for each in model.parameters())
    assert all(each.abs().max() < 10 for each in model.parameters())


def test_an_empty_parameter_is_no_obstacle():
    x, y = table(40)
    one, other = network(), network()
    other.nothing = nn.Parameter(torch.zeros(0, 3))
    public(one, x, y)
    public(other, x, y)
    kept = dict(other.named_parameters())
    assert all(torch.equal(each, kept[name]) for name, each in one.named_parameters())
