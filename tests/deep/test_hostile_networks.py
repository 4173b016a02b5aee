"""Networks, losses and data sets with habits that would carry one person's rows to others, or out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from deep_networks import squared
from test_dpsgd import LOSS, ledger, network, public, table, trainer, weights
from torch import nn

from discreet.deep import PrivateTensors
from discreet.deep.probe import find_path, random_rows


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


class Lazy(Wrapped):
    """Builds a mask once, of which no row is a part."""

    mask = None

    def before(self, x):
        if self.mask is None:
            self.mask = torch.ones(x.shape[1])
        return x * self.mask


class Started(Wrapped):
    """Takes its scale from the first rows it sees."""

    scale = None

    def before(self, x):
        if self.scale is None:
            self.scale = x.detach().std()
        return x / self.scale


def test_a_mask_that_is_built_once_is_in_order_and_a_scale_of_the_first_rows_is_not():
    rows = random_rows([((4,), torch.float32)], ((), torch.long), Lazy())
    assert find_path(Lazy(), LOSS, rows, 8) == "tape"
    assert "attribute scale changes" in refusal(Started())


class Reading(nn.Module):
    """Keeps the words that it saw first."""

    first = None

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 2)

    def forward(self, words):
        if self.first is None:
            self.first = words.double().mean()
        return self.table(words).sum(dim=1)


def test_words_that_are_kept_are_noticed():
    rows = random_rows([((4,), torch.long)], ((), torch.long), Reading())
    with pytest.raises(ValueError, match="attribute first changes"):
        find_path(Reading(), LOSS, rows, 8)


class Writing(Wrapped):
    """Keeps a mean of what it saw in a parameter that isn't trained, as codebooks do."""

    def __init__(self, trained):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(4), requires_grad=trained)

    def before(self, x):
        with torch.no_grad():
            self.mean.lerp_(x.mean(dim=0), 0.1)
        return x


@pytest.mark.parametrize("trained", [False, True])
def test_a_network_that_writes_to_its_parameters_is_refused(trained):
    assert "parameter mean changes" in refusal(Writing(trained))


class LaterWriting(Wrapped):
    def __init__(self):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(4), requires_grad=False)

    def before(self, x):
        if (x > 90).any():
            self.mean.copy_(x.mean(dim=0))
        return x


def test_frozen_parameters_of_the_users_network_do_not_change():
    x, y = table(40)
    model = LaterWriting()
    public(model, x + 100, y)
    assert not model.mean.any()


def test_a_bag_of_words_that_renormalises_is_refused():
    model = nn.EmbeddingBag(7, 2, max_norm=1.0)
    rows = random_rows([((4,), torch.long)], ((), torch.float32), model)
    with pytest.raises(ValueError, match="max_norm=None"):
        find_path(model, squared, rows, 8)


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
