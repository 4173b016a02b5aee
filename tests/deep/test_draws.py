"""What a network, an augmentation or a data set draws at random is one row's own, and nobody's to replay."""

import random
import sys
import threading

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from test_dpsgd import LOSS, ledger, network, public, table, trainer
from torch import nn

import discreet as dp
from discreet.deep import PrivateTensors
from discreet.deep.augmenting import augment_rows
from discreet.deep.clipping import Differentiator
from discreet.deep.draws import check_draws_apart
from discreet.deep.probe import blocks_are_independent, find_path, random_rows
from discreet.deep.quiet import keep_quiet
from discreet.deep.steps import BatchSum
from discreet.deep.tensors import Block

ROWS = random_rows([((4,), torch.float32)], ((), torch.long), nn.Linear(4, 3))


class Drawing(nn.Module):
    """Changes what is between two layers."""

    def __init__(self, change):
        super().__init__()
        self.first, self.last, self.change = nn.Linear(4, 8), nn.Linear(8, 3), change

    def forward(self, x):
        return self.last(self.change(torch.tanh(self.first(x))))


def by_pairs(x):
    masks = F.dropout(torch.ones((len(x) + 1) // 2, 8))
    return x * masks.repeat_interleave(2, 0)[: len(x)]


def seeded(x):
    torch.manual_seed(0)
    return F.dropout(x)


def against_one_another(x):
    masks = F.dropout(torch.ones((len(x) + 1) // 2, 8))
    return x * torch.cat([masks, 2 - masks])[: len(x)]


SHARED = {
    "a rare mask": lambda x: x * F.dropout(torch.ones(1), 0.01),
    "a rare mask among others": lambda x: F.dropout(x) * F.dropout(torch.ones(1), 0.01),
    "masks that make up for one another": against_one_another,
    "numpy's coin": lambda x: x * float(np.random.default_rng().random() < 2) * np.random.random(),
    "one mask": lambda x: x * F.dropout(torch.ones(8)),
    "one number": lambda x: x * F.dropout(torch.ones(1)),
    "a mask for two": by_pairs,
    "a part": lambda x: F.dropout(x) + F.dropout(torch.ones(1)),
    "Python's coin": lambda x: x * float(random.random() > 0.5),
    "the same draws in each call": seeded,
}
OWN = {
    "nothing": lambda x: x,
    "dropout": F.dropout,
    "rare dropout": lambda x: F.dropout(x, 0.003),
    "masks of rows": lambda x: x * F.dropout(torch.ones(len(x), 1)),
}


def check(model):
    path = find_path(model, LOSS, ROWS, 16)
    check_draws_apart(model, LOSS, path, ROWS)
    return path


@pytest.mark.parametrize("change", SHARED.values(), ids=SHARED)
def test_draws_that_rows_share_are_refused(change):
    with pytest.raises(
        ValueError, match=r"model: (rows of a block share|its gradients can't|it, or the loss)"
    ):
        check(Drawing(change))


@pytest.mark.parametrize("change", OWN.values(), ids=OWN)
def test_draws_of_each_rows_own_are_taken(change):
    for _ in range(4):
        check(Drawing(change))


class StartsAtZero(nn.Module):
    """A branch with one coin for the batch, behind weights that are zero until a step is made."""

    def __init__(self):
        super().__init__()
        self.first, self.branch, self.last = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 3)
        for layer in (self.branch, self.last):
            nn.init.zeros_(layer.weight)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        return self.last(x + self.branch(x) * F.dropout(torch.ones(1), 0.5, self.training))


def test_a_mask_behind_weights_of_zero_is_seen():
    with pytest.raises(ValueError, match="share what it"):
        check(StartsAtZero())


def weigh_one_class(outputs, targets):
    """A coin for all rows of a class."""
    coin = F.dropout(torch.ones(1))
    return LOSS(outputs, targets) * torch.where(targets == 1, coin, torch.ones(1))


def test_a_coin_of_the_loss_for_all_rows_of_a_class_is_seen():
    for _ in range(5):
        path = find_path(network(), LOSS, ROWS, 16)
        with pytest.raises(ValueError, match="share what it"):
            check_draws_apart(network(), weigh_one_class, path, ROWS)


def test_a_training_with_one_mask_for_a_block_is_refused_before_it_is_charged():
    x, y = table(40)
    paid = ledger()
    with pytest.raises(ValueError, match="share what it"):
        trainer(Drawing(SHARED["one mask"])).fit(PrivateTensors(x, y, ledger=paid))
    assert len(paid.entries()) == 1  # how it was opened, and no charge


def test_a_block_of_one_person_shares_draws_with_nobody():
    x, y = table(40)
    plan = trainer(Drawing(SHARED["one mask"]), block=1).plan(PrivateTensors(x, y, ledger=ledger()))
    assert plan.assumption == ""


class DroppedWeights(nn.Module):
    """Drops numbers of the weights themselves."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 3)

    def forward(self, x):
        weights = F.dropout(self.inner.weight, 0.5, self.training)
        return F.linear(x, weights, self.inner.bias)


def test_weights_of_which_numbers_are_dropped_learn_each_row_with_weights_of_its_own():
    model = DroppedWeights()
    before = model.inner.weight.detach().clone()
    assert check(model) == "vmap"
    x, y = table(40)
    public(model, x, y)
    assert not torch.equal(before, model.inner.weight.detach())


# --- augmentation ---


def flip(x):
    """One coin for all rows that it is given, as transforms of images toss it for a batch."""
    return x.flip(-1) if torch.rand(()) < 0.5 else x


def test_a_coin_of_an_augmentation_is_tossed_for_each_row():
    x = torch.arange(2.0).repeat(400, 1)
    (changed,), _ = augment_rows(flip, (x,), np.ones(400, bool))
    flipped = (changed != x).all(dim=1)
    assert 140 < int(flipped.sum()) < 260
    assert 140 < int((flipped[1:] != flipped[:-1]).sum()) < 260


def test_places_where_nobody_is_are_not_augmented():
    asked = []

    def note(x):
        asked.append(len(x))
        return x + 1

    x = torch.zeros(6, 2)
    (changed,), left = augment_rows(note, (x,), np.array([True, False, True]))
    assert left.tolist() == [True, False, True]
    assert asked == [1, 1, 1, 1]
    assert changed[:, 0].tolist() == [1, 1, 0, 0, 1, 1]


def fail(x):
    raise ValueError("a row")


@pytest.mark.parametrize("odd", [lambda x: x[:, :1], lambda x: x.double(), lambda x: x[:0], fail])
def test_a_row_that_comes_out_otherwise_takes_its_own_person_out_alone(odd):
    """By its shape or type it could change how the rows beside it are put together."""

    def change(x):
        return odd(x) if float(x[0, 0]) == 7 else x + 1

    x = torch.zeros(6, 2)
    x[3] = 7
    (changed,), left = augment_rows(change, (x,), np.ones(3, bool))
    assert left.tolist() == [True, False, True]
    assert changed[:, 0].tolist() == [1, 1, 0, 0, 1, 1]


class Falling(nn.Module):
    """Raises for a tenth of the draws of rows that begin with 1, and always for one that begins with 7."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(1, 2)

    def forward(self, x):
        dropped = F.dropout(torch.ones(len(x)), 0.1) == 0
        if (dropped & (x[:, 0] == 1)).any() or (x[:, 0] == 7).any():
            raise ValueError("a draw")
        return self.inner(torch.ones(len(x), 1))  # everybody adds the same


def test_how_often_others_take_part_does_not_hang_on_who_raises():
    """A second chance with new draws would be one that only some companies give."""
    batch = BatchSum(Differentiator(Falling(), LOSS, "tape"), 1.0, "flat", "exact")
    present, targets = np.ones(8, bool), torch.zeros(8, dtype=torch.long)

    def add_up(x):
        return batch.total([Block((x,), targets, present.astype(float), present)])[-1]

    one = add_up(torch.full((8, 4), 5.0)) / 8
    counts = {}
    for first in (5.0, 7.0):
        x = torch.ones(8, 4)
        x[0, 0] = first
        counts[first] = np.mean([add_up(x) / one for _ in range(500)])
    # 6.3 others either way, with a standard error of 0.05 of the difference; 6.64 with a second chance
    assert abs(counts[5.0] - 1 - counts[7.0]) < 0.2


def move(rows, augment=None):
    """What a step without noise adds up, of a network that drops half of its numbers."""
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    data = PrivateTensors(rows, unit=dp.PUBLIC, example=(torch.zeros(4), 0), public_size=40)
    options = {"sampling_rate": 1, "steps": 1, "block": 40, "augment": augment}
    trainer(model, epsilon=float("inf"), **options).fit(data)
    return torch.cat([each.detach().flatten() for each in model.parameters()])


class Seeding(torch.utils.data.Dataset):
    """Seeds the process's generator for each row, so that a row looks the same in each epoch."""

    def __len__(self):
        return 40

    def __getitem__(self, place):
        torch.manual_seed(place)
        return torch.randn(4), place % 2


def test_what_a_data_set_seeds_decides_no_mask():
    """The last row that was read would decide the masks of all rows."""
    assert not torch.equal(move(Seeding()), move(Seeding()))


def test_what_an_augmentation_seeds_decides_no_mask_and_no_draw_of_the_next_row():
    def seed(x):
        torch.manual_seed(0)
        return x

    assert not torch.equal(move(Seeding(), seed), move(Seeding(), seed))

    def seed_some(x):
        if float(x[0, 0]) > 0:
            torch.manual_seed(0)
        return x + torch.rand(())

    x = torch.tensor([[1.0], [0.0]])
    found = [augment_rows(seed_some, (x,), np.ones(2, bool))[0][0] for _ in range(2)]
    assert found[0][0] == found[1][0]
    assert found[0][1] != found[1][1]


class Remembering:
    """An augmentation that adds the row it saw last."""

    last = 0.0

    def __call__(self, x):
        mixed, self.last = x + self.last, x[-1:].clone()
        return mixed


def test_an_augmentation_that_keeps_rows_is_refused():
    x, y = table(40)
    with pytest.raises(ValueError, match=r"^augment"):
        trainer(network(), augment=Remembering()).plan(PrivateTensors(x, y, ledger=ledger()))


# --- what is tried ---


class AtSomeWeights(nn.Module):
    """Lets rows move one another's last bits where one of its weights is above 0."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 3)
        nn.init.zeros_(self.inner.bias)

    def forward(self, x):
        others = x.nan_to_num().clamp(-1, 1).mean(dim=0)
        return self.inner(x + 1e-6 * others if self.inner.bias[0] > 0 else x)


def test_blocks_that_depend_on_others_at_half_of_the_weights_are_found():
    model = AtSomeWeights()
    passed = [blocks_are_independent(model, LOSS, "tape", ROWS, 8, 1) for _ in range(20)]
    assert sum(passed) <= 5  # of single tries about ten pass; of five in a row one in 32


def test_silence_lasts_until_the_last_thread_has_left(capsys):
    inside, leave = threading.Event(), threading.Event()

    def stay():
        with keep_quiet():
            inside.set()
            leave.wait(10)
            sys.stdout.write("a row, of the thread that came first")

    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait(10)
    with keep_quiet():
        sys.stdout.write("a row, of the thread that came second")
    leave.set()
    thread.join()
    sys.stdout.write("afterwards")
    assert capsys.readouterr().out == "afterwards"
