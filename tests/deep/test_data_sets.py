"""What a map-style data set draws while rows are read follows from no public seed, and decides no mask."""

import sys

import numpy as np
import pytest
import torch
from test_dpsgd import LOSS, network, trainer

import discreet as dp
from discreet.deep import PrivateTensors
from discreet.deep.sources import open_source
from discreet.noise.generators import find_generators

MODULE = np.random.default_rng(0)


class Own(torch.utils.data.Dataset):
    """Rows of which the sign is drawn when they are read."""

    def __init__(self):
        self.generator = np.random.default_rng(0)

    def __len__(self):
        return 40

    def draw(self):
        return self.generator

    def __getitem__(self, place):
        sign = 1.0 if self.draw().random() < 0.5 else -1.0
        return torch.full((4,), sign), 0


class OfTheClass(Own):
    shared = np.random.default_rng(0)

    def draw(self):
        return self.shared


class OfTheModule(Own):
    def draw(self):
        return MODULE


@pytest.mark.parametrize("kind", [Own, OfTheClass, OfTheModule])
def test_what_a_data_set_draws_follows_from_no_public_seed(kind):
    """Draws go by the order in which rows are read: who knows them sees others move up."""

    def train():
        rows, model = kind(), network()
        rows.draw().bit_generator.state = np.random.default_rng(0).bit_generator.state
        data = PrivateTensors(rows, unit=dp.PUBLIC, example=(torch.zeros(4), 0), public_size=40)
        trainer(model, epsilon=float("inf"), sampling_rate=1, steps=1).fit(data)
        return torch.cat([each.detach().flatten() for each in model.parameters()])

    assert not all(torch.equal(train(), train()) for _ in range(5))


class Holder:
    rng = np.random.default_rng(0)


class OfAnotherClass(Own):
    def draw(self):
        return Holder.rng


class OfAnotherModule(Own):
    def draw(self):
        return this_module.MODULE


this_module = sys.modules[__name__]


@pytest.mark.parametrize("kind", [Own, OfTheClass, OfTheModule, OfAnotherClass, OfAnotherModule])
def test_a_generator_is_found_wherever_a_data_set_holds_it(kind):
    rows = kind()
    assert any(each is rows.draw() for each in find_generators(rows))


def test_libraries_are_not_searched_for_generators():
    assert len(find_generators(network(), LOSS, np.mean, dp.mean)) == 0


class SeedsForOne(torch.utils.data.Dataset):
    """Seeds for its first row alone, and draws for each."""

    def __len__(self):
        return 2

    def __getitem__(self, place):
        if place == 0:
            torch.manual_seed(0)
        return torch.rand(4), 0


def test_what_one_row_seeds_is_nothing_to_the_next():
    source = open_source(SeedsForOne(), None, (torch.zeros(4), 0))
    (one,), _ = source.take(np.arange(2))
    (other,), _ = source.take(np.arange(2))
    assert torch.equal(one[0], other[0])
    assert not torch.equal(one[1], other[1])
