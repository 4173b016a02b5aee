"""Networks that can't be trained privately are refused before a row is read, with the fix named."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from deep_networks import NETWORKS, UNKNOWN, squared
from torch import nn

from discreet.deep.probe import blocks_are_independent, find_path, random_rows


def path_of(model, inputs):
    rows = random_rows([(tuple(inputs.shape[1:]), inputs.dtype)], ((), torch.float32), model)
    return find_path(model, squared, rows, 8)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even:UserWarning")
@pytest.mark.parametrize("name", NETWORKS)
def test_known_layers_go_by_the_tape_and_chains_have_a_plan_of_their_own(name):
    build, inputs = NETWORKS[name]
    images = "channels-last" if inputs().dim() == 4 else "tape"
    assert path_of(build(), inputs()) == ("chain" if name == "linear" else images)


class Viewing(nn.Module):
    """What a layer gives is viewed as one row of numbers, which only the usual layout allows."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Conv2d(2, 3, 3)

    def forward(self, x):
        return self.inner(x).view(len(x), -1)


def test_a_network_that_needs_the_usual_layout_of_images_gets_it():
    assert path_of(Viewing(), torch.randn(2, 2, 5, 5)) == "tape"
    assert (
        path_of(nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten()), torch.randn(2, 2, 5, 5))
        == "channels-last"
    )


@pytest.mark.parametrize("name", UNKNOWN)
def test_other_networks_go_by_vmap(name):
    build, inputs = UNKNOWN[name]
    assert path_of(build(), inputs()) == "vmap"


class WrongBatchFirst(nn.Module):
    """Rows come first, but the layer takes places first."""

    def __init__(self):
        super().__init__()
        self.inner = nn.LSTM(4, 3)

    def forward(self, x):
        return self.inner(x)[0]


class Centred(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 3)

    def forward(self, x):
        return self.inner(x - x.mean(dim=0))


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 3)
        self.register_buffer("largest", torch.zeros(4))

    def forward(self, x):
        self.largest.copy_(torch.maximum(self.largest, x.detach().abs().amax(dim=0)))
        return self.inner(x)


class Packed(nn.Module):
    """Sequences of lengths that rows decide."""

    def __init__(self):
        super().__init__()
        self.inner = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x):
        lengths = torch.full((len(x),), x.shape[1])
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(self.inner(packed)[0], batch_first=True)[0]


@pytest.mark.parametrize(
    ("model", "shape", "fix"),
    [
        (nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), (4,), "nn.GroupNorm or nn.LayerNorm"),
        (nn.Sequential(nn.Conv2d(4, 3, 3), nn.BatchNorm2d(3)), (4, 5, 5), "nn.GroupNorm"),
        (nn.InstanceNorm1d(4, affine=True, track_running_stats=True), (4, 5), "track_running_stats=False"),
        (nn.Embedding(7, 3, max_norm=1.0), (4,), "max_norm=None"),
        (nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), (4,), "buffer"),
        (Counting(), (4,), "the buffer largest changes"),
        (Centred(), (4,), "depends on other rows"),
        (WrongBatchFirst(), (5, 4), "batch_first=True"),
        (Packed(), (5, 4), "row by row"),
        (nn.Linear(4, 3).requires_grad_(False), (4,), "requires_grad=True"),
    ],
)  # fmt: skip
def test_a_network_that_would_leak_is_refused(model, shape, fix):
    kind = torch.long if isinstance(model, nn.Embedding) else torch.float32
    rows = random_rows([(shape, kind)], ((), torch.float32), model)
    with pytest.raises(ValueError, match=fix):
        find_path(model, squared, rows, 8)


def test_a_loss_over_the_whole_batch_is_refused():
    rows = random_rows([((4,), torch.float32)], ((), torch.long), nn.Linear(4, 3))
    with pytest.raises(ValueError, match="reduction='none'"):
        find_path(nn.Linear(4, 3), F.cross_entropy, rows, 8)


def test_dropout_is_no_obstacle():
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    assert path_of(model, torch.randn(2, 4)) == "tape"


@pytest.mark.parametrize("name", ["linear", "conv2d", "transformer", "lstm"])
def test_a_persons_bits_do_not_depend_on_the_others_of_a_block(name):
    build, inputs = NETWORKS[name]
    model = build()
    rows = random_rows([(tuple(inputs().shape[1:]), torch.float32)], ((), torch.float32), model)
    assert blocks_are_independent(model, squared, "tape", rows, 8, 2)


def test_a_person_whose_bits_depend_on_others_is_noticed():
    rows = random_rows([((4,), torch.float32)], ((), torch.float32), nn.Linear(4, 3))
    assert not blocks_are_independent(Centred(), squared, "tape", rows, 8, 1)


class Uneven(nn.Module):
    """What stands at one place is rounded differently, as kernels do by where a row begins in memory."""

    def __init__(self, place):
        super().__init__()
        self.place, self.inner = place, nn.Linear(4, 3)

    def forward(self, x):
        factors = torch.ones(len(x), 1)
        factors[self.place] += 2.0**-20
        return self.inner(x * factors)


@pytest.mark.parametrize("place", [0, 1, 3, 6, 7])
def test_a_person_whose_bits_depend_on_the_place_is_noticed(place):
    rows = random_rows([((4,), torch.float32)], ((), torch.float32), nn.Linear(4, 3))
    assert not blocks_are_independent(Uneven(place), squared, "tape", rows, 8, 1)
