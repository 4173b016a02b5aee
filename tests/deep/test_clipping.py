"""Every person's gradient is what autograd gives for that person alone, for every layer and every path."""

from __future__ import annotations

import pytest
import torch
from deep_networks import NETWORKS, ROWS, UNKNOWN, WIDTH, squared, words
from torch import nn

from discreet.deep.clipping import clip_gradients, per_person_gradients
from discreet.deep.tape import Unknown

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even:UserWarning")


def build(makers):
    torch.manual_seed(0)
    model, inputs = makers[0]().double(), makers[1]()
    inputs = inputs.double() if inputs.is_floating_point() else inputs
    return model, inputs, torch.rand(ROWS).double()


def assert_equal(one, other):
    assert one.keys() == other.keys()
    for name in one:
        torch.testing.assert_close(one[name], other[name], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_tape_gives_each_person_their_own_gradient(name):
    model, inputs, targets = build(NETWORKS[name])
    taped = per_person_gradients(model, squared, inputs, targets)
    slow = per_person_gradients(model, squared, inputs, targets, path="single")
    assert_equal(taped, slow)
    assert any(each.abs().max() > 1e-3 for each in slow.values())


IMAGES = {
    "a few columns": (lambda: nn.Conv2d(1, 3, 3, padding=1), (1, 6, 5)),
    "many channels": (lambda: nn.Conv2d(12, 3, (2, 3), stride=(2, 1)), (12, 6, 5)),
    "spread": (lambda: nn.Conv2d(12, 3, 3, stride=2, dilation=2, padding=2), (12, 7, 8)),
    "larger steps than kernel": (lambda: nn.Conv2d(12, 3, 2, stride=3), (12, 8, 9)),
    "no neighbours": (lambda: nn.Conv2d(40, 3, 1), (40, 4, 3)),
    "pooled": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 12, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 4, 2), nn.Flatten()
        ),
        (1, 9, 8),
    ),
    "volumes": (lambda: nn.Conv3d(12, 3, (2, 3, 2), stride=(1, 2, 1)), (12, 4, 5, 3)),
    "signals": (lambda: nn.Conv1d(12, 3, 3, stride=2, padding=1), (12, 8)),
}


@pytest.mark.parametrize("path", ["tape", "channels-last"])
@pytest.mark.parametrize("name", [*IMAGES, "conv2d", "conv2d, circular", "group norm"])
def test_images_in_both_layouts_give_each_person_their_own_gradient(name, path):
    made = {
        key: (maker, lambda s=shape: torch.randn(ROWS, *s))
        for key, (maker, shape) in IMAGES.items()
    }
    model, inputs, targets = build({**NETWORKS, **made}[name])
    if path == "channels-last" and inputs.dim() != 4:
        with pytest.raises(Unknown, match="image"):
            per_person_gradients(model, squared, inputs, targets, path=path)
        return
    found = per_person_gradients(model, squared, inputs, targets, path=path)
    assert_equal(found, per_person_gradients(model, squared, inputs, targets, path="single"))
    clipped = clip_gradients(model, squared, inputs, targets, 0.5, path=path, rows=2)
    assert_equal(
        clipped, clip_gradients(model, squared, inputs, targets, 0.5, path="single", rows=2)
    )


@pytest.mark.parametrize("name", [*UNKNOWN, "linear", "conv2d", "attention", "tied"])
def test_vmap_gives_each_person_their_own_gradient(name):
    model, inputs, targets = build({**NETWORKS, **UNKNOWN}[name])
    mapped = per_person_gradients(model, squared, inputs, targets, path="vmap")
    assert_equal(mapped, per_person_gradients(model, squared, inputs, targets, path="single"))


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_use_that_the_tape_does_not_know_is_noticed(name):
    model, inputs, targets = build(UNKNOWN[name])
    with pytest.raises(Unknown):
        per_person_gradients(model, squared, inputs, targets)


@pytest.mark.parametrize("rule", ["flat", "per-layer", "automatic"])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_clipped_sum_is_the_sum_of_clipped_gradients_of_persons(name, rows, rule):
    model, inputs, targets = build(NETWORKS[name])
    slow = per_person_gradients(model, squared, inputs, targets, path="single")
    persons = {key: each.reshape(-1, rows, *each.shape[1:]).sum(1) for key, each in slow.items()}
    norms = {key: each.flatten(1).norm(dim=1) for key, each in persons.items()}
    whole = torch.stack(list(norms.values())).norm(dim=0)
    bound = float(whole.median())
    expected = {}
    for key, each in persons.items():
        if rule == "flat":
            factor = (bound / whole).clamp(max=1)
        elif rule == "automatic":
            factor = bound / (whole + 0.01 * bound)
        else:
            factor = (bound / len(norms) ** 0.5 / norms[key]).clamp(max=1)
        expected[key] = (each * factor.reshape(-1, *[1] * (each.dim() - 1))).sum(0)
    assert_equal(
        clip_gradients(model, squared, inputs, targets, bound, rule=rule, rows=rows), expected
    )


def test_nothing_is_left_on_the_network():
    model, inputs, targets = build(NETWORKS["transformer"])
    before = {key: set(vars(module)) for key, module in model.named_modules()}
    clip_gradients(model, squared, inputs, targets, 1.0)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert {key: set(vars(module)) for key, module in model.named_modules()} == before


def test_a_loss_that_is_not_given_by_row_is_refused():
    model, inputs, _ = build(NETWORKS["linear"])
    with pytest.raises(ValueError, match="reduction='none'"):
        clip_gradients(
            model, nn.CrossEntropyLoss(), inputs, torch.zeros(ROWS, dtype=torch.long), 1.0
        )


def test_an_embedding_that_renormalises_is_refused():
    with pytest.raises(ValueError, match="max_norm=None"):
        clip_gradients(nn.Embedding(7, 3, max_norm=1.0), squared, words(), torch.rand(ROWS), 1.0)


def test_an_input_that_is_changed_after_its_use_is_noticed():
    class Changed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(WIDTH, WIDTH)

        def forward(self, x):
            x = x * 1
            y = self.inner(x)
            x.add_(1)
            return y

    with pytest.raises((Unknown, RuntimeError), match=r"in place|inplace"):
        clip_gradients(Changed(), squared, torch.randn(ROWS, WIDTH), torch.rand(ROWS), 1.0)
