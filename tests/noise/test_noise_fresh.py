"""Vectors of noise and seeds of public generators are drawn anew: no part of one tells the next."""

from __future__ import annotations

import random

import numpy as np

from discreet.noise.generators import renew
from discreet.noise.norm_gamma import norm_gamma
from discreet.testing import fixed_noise


def test_lengths_and_directions_of_vectors_are_drawn_anew() -> None:
    with fixed_noise(9):
        first, second = (norm_gamma(2000, 3, 1.0) for _ in range(2))
    lengths = [np.linalg.norm(each, axis=1) for each in (first, second)]
    assert abs(np.corrcoef(*lengths)[0, 1]) < 0.1
    cosines = (first * second).sum(axis=1) / (lengths[0] * lengths[1])
    assert abs(cosines.mean()) < 0.1
    assert np.abs(cosines).mean() < 0.6  # uniform on [-1, 1] in three dimensions


def test_public_generators_begin_anew_in_every_block() -> None:
    own = np.random.default_rng(3)
    seen = []
    for _ in range(4):
        with renew([own]):
            seen.append((random.random(), float(np.random.random()), float(own.random())))
    for drawn in zip(*seen, strict=True):
        assert len(set(drawn)) == 4
