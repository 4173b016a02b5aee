"""What a training says while it works on odd rows, and networks that look odd and are in order."""

from __future__ import annotations

import logging
import math
import sys
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from deep_networks import squared
from test_dpsgd import LOSS, network, public, table, trainer, weights
from test_hostile_networks import Wrapped, assert_same_training, refusal
from torch import nn

import discreet as dp
from discreet.deep import PrivateTensors
from discreet.deep.clipping import Differentiator
from discreet.deep.grid import RADIUS
from discreet.deep.probe import blocks_are_independent, find_path, random_rows
from discreet.deep.steps import BatchSum
from discreet.deep.tensors import Block

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


class Cast(Wrapped):
    """Works in half precision inside."""

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.inner(x).float()


def test_a_network_that_casts_inside_goes_by_the_tape():
    rows = random_rows([((4,), torch.float32)], ((), torch.long), Cast())
    assert find_path(Cast(), LOSS, rows, 8) == "tape"


class Hidden(nn.Module):
    """A layer in a checkpoint of the old kind, which hides its parameters from the graph."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        x = x.clone().requires_grad_()
        return self.second(torch.utils.checkpoint.checkpoint(self.first, x, use_reentrant=True))


def test_a_layer_that_no_gradient_reaches_is_refused():
    assert "use_reentrant=False" in refusal(Hidden())


def test_layers_without_shapes_are_refused():
    model = nn.LazyLinear(2)
    rows = random_rows([((4,), torch.float32)], ((), torch.long), model)
    with pytest.raises(ValueError, match="made-up rows"):
        find_path(model, LOSS, rows, 8)


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
    for name, each in one.named_parameters():  # one is a chain, the other goes by the tape
        torch.testing.assert_close(each, kept[name], rtol=0, atol=1e-6)
