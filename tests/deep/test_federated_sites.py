"""Persons at several sites, and local reports of gradients, through torch."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import torch
from test_federated import CLIENTS, LOSS, ledger, network, table, weights
from torch import nn

import discreet as dp
from discreet.deep import (
    FederatedSGD,
    LocalGaussian,
    PrivateSites,
    PrivateTensors,
    PrivateTrainer,
    Site,
    split_by_label,
)
from discreet.deep.federated.sites import DEFAULT_BLOCK
from discreet.deep.grid import RADIUS
from discreet.events import Gaussian, Poisson, Repeat

# --- persons at sites ---


def sites_of(table_of, paid=None, **options):
    x, y = table_of
    held = {"north": (x[:30], y[:30]), "south": (x[30:37], y[30:37]), "west": (x[37:], y[37:])}
    return PrivateSites(held, ledger=paid, public_size=100, **options)


def sgd_of(model, **options):
    settings = {"epsilon": 8, "delta": 1e-5, "sampling_rate": "0.5", "rounds": 5, **options}
    return FederatedSGD(model, LOSS, torch.optim.SGD(model.parameters(), lr=0.5), **settings)


def test_a_round_over_sites_is_the_round_over_all_rows_in_one_place():
    data = table(70)
    options = {"epsilon": math.inf, "sampling_rate": 1, "max_grad_norm": 0.3}
    apart, pooled = network(), network()
    sgd_of(apart, rounds=3, **options).fit(sites_of(data, unit=dp.PUBLIC))
    trainer = PrivateTrainer(
        pooled,
        LOSS,
        torch.optim.SGD(pooled.parameters(), lr=0.5),
        delta=1e-5,
        steps=3,
        public_size=100,
        block=DEFAULT_BLOCK,  # kernels may round otherwise in blocks of another size
        **options,
    )
    trainer.fit(PrivateTensors(*data, unit=dp.PUBLIC))
    assert torch.equal(weights(apart), weights(pooled))  # integers: to the last bit


def test_persons_at_sites_are_charged_and_learned_from():
    paid = ledger(dp.Unit(dp.ADD_REMOVE))
    x, y = table(800)
    places = split_by_label(y.numpy(), 4, concentration=0.3)
    sites = {str(at): (x[rows], y[rows]) for at, rows in enumerate(places)}
    model = network()
    done = sgd_of(model, rounds=40).fit(PrivateSites(sites, ledger=paid, public_size=800))
    step = Poisson(Fraction(1, 2), Gaussian(done.plan_.sigma, RADIUS**2))
    assert done.plan_.event == Repeat(step, 40) == paid.entries()[-1].event
    assert (model(x).argmax(1) == y).float().mean() > 0.85


def test_a_site_answers_as_often_as_was_said_and_is_copied_to_nobody():
    site = Site(*table(20), network(), LOSS, sampling_rate=1, rounds=2)
    one, other = site.contribute(), site.contribute()
    assert one.any()
    assert np.array_equal(one, other)
    with pytest.raises(ValueError, match="nothing more"):
        site.contribute()
    with pytest.raises(TypeError, match="copied"):
        site.__reduce__()


def test_no_person_at_a_site_moves_its_sum_by_more_than_the_radius():
    x, y = table(20)

    def total(rows, labels):
        return Site(
            rows, labels, network(), LOSS, sampling_rate=1, rounds=1, max_grad_norm=0.2
        ).contribute()

    without = total(x, y)
    for value, label in ((1e25, 0), (math.nan, 1), (2.0, 77)):
        person = torch.full((1, 4), value)
        found = total(torch.cat([x, person]), torch.cat([y, torch.tensor([label])]))
        moved = [int(a) - int(b) for a, b in zip(found, without, strict=True)]
        assert sum(each**2 for each in moved) <= RADIUS**2


def test_sites_draw_their_persons_anew_in_each_round():
    site = Site(*table(200), network(), LOSS, sampling_rate="0.1", rounds=50)
    sums = {tuple(site.contribute()) for _ in range(50)}
    assert len(sums) == 50


def test_sites_without_rows_and_no_site_at_all_train_on_noise():
    for held in ({}, {"empty": table(0)}):
        model = network()
        before = weights(model)
        unit = dp.Unit(dp.ADD_REMOVE)
        sgd_of(model).fit(PrivateSites(held, ledger=ledger(unit), public_size=10))
        assert (weights(model) != before).all()


def test_what_sites_cannot_protect_is_refused_before_the_charge():
    paid = ledger(dp.Unit(dp.ADD_REMOVE))
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2))
    with pytest.raises(ValueError, match="GroupNorm"):
        sgd_of(model).fit(sites_of(table(70), paid))
    assert not [each for each in paid.entries() if "federated" in each.note]
    with pytest.raises(ValueError, match="persons"):
        sites_of(table(70), ledger(CLIENTS))
    with pytest.raises(ValueError, match="equally many"):
        PrivateSites({"a": (table(3)[0], table(4)[1])}, unit=dp.PUBLIC, public_size=9)
    with pytest.raises(ValueError, match="rule"):
        sgd_of(network(), rule="none")
    assert "north, south, west" in repr(sites_of(table(70), unit=dp.PUBLIC))


def test_kernels_that_mix_persons_of_a_block_are_refused(monkeypatch):
    from discreet.deep.federated import sites

    monkeypatch.setattr(sites, "blocks_are_independent", lambda *_: False)
    with pytest.raises(ValueError, match="block=1"):
        Site(*table(20), network(), LOSS, sampling_rate=1, rounds=1)
    Site(*table(20), network(), LOSS, sampling_rate=1, rounds=1, block=1).contribute()


class Telling(nn.Module):
    """Says something about large rows, as networks with checks of their own do."""

    def forward(self, x):
        if bool((x.abs() > 50).any()):
            warnings.warn("patient 17 is odd", stacklevel=1)
            print("patient 17 is odd")  # noqa: T201
        return x


def test_a_site_keeps_to_itself_what_its_network_says_of_rows(recwarn, capsys):
    inputs, targets = table(9)
    inputs[4] = 60.0
    site = Site(
        inputs,
        targets,
        nn.Sequential(Telling(), *network()),
        LOSS,
        sampling_rate=1,
        rounds=1,
        block=1,
    )
    capsys.readouterr()
    recwarn.clear()
    assert site.contribute().any()
    assert not recwarn.list
    assert not "".join(capsys.readouterr())


# --- local ---


def test_local_reports_of_gradients_train_a_network():
    x, y = table(4000)
    model = nn.Linear(4, 2)
    shapes = [each.numel() for each in model.parameters()]
    mechanism = LocalGaussian(6, 1e-5, size=sum(shapes), bound=1.0)
    for start in range(0, 4000, 500):  # each client reports once
        told = []
        for row in range(start, start + 500):
            model.zero_grad()
            LOSS(model(x[row : row + 1]), y[row : row + 1]).sum().backward()
            told.append(torch.cat([p.grad.flatten() for p in model.parameters()]).numpy())
        mean = torch.from_numpy(mechanism.estimate(mechanism.randomize(told))).float()
        with torch.no_grad():
            for each, move in zip(model.parameters(), mean.split(shapes), strict=True):
                each -= 1.0 * move.reshape(each.shape)
    assert (model(x).argmax(1) == y).float().mean() > 0.75
