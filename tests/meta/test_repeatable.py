"""A test that passed once passes again: its noise follows from its name."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import discreet as dp
from discreet import noise
from discreet.guarantees import draws
from repeatable import draw_from


def draw() -> list[float]:
    return noise.discrete_laplace(1000, 20).tolist() + draws.laplace(1.0, 5).tolist()


def test_noise_follows_from_the_test(request: pytest.FixtureRequest) -> None:
    drawn = draw()
    draw_from(request.node.nodeid)
    assert draw() == drawn
    draw_from("another test")
    assert draw() != drawn


def test_another_seed_gives_other_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    draw_from("here")
    first = draw()
    monkeypatch.setenv("DISCREET_NOISE_SEED", "2")
    draw_from("here")
    assert draw() != first


def test_releases_of_tests_are_private_as_ever() -> None:
    data = dp.PrivateDataset(
        {"x": np.zeros(3)}, dp.Schema(x=dp.Real(0, 1)), ledger=dp.Ledger(limit=dp.PureDP(1))
    )
    assert "not private" not in str(data.release(dp.Count(), dp.PureDP(1)))


def test_a_child_draws_from_the_operating_system() -> None:
    draw_from("here")
    ahead = draw()
    draw_from("here")
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, json.dumps(draw()).encode())
        os._exit(0)
    os.wait()
    assert json.loads(os.read(reading, 10_000)) != ahead
