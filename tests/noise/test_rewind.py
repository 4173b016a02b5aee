"""Generators that are set back draw the same again, and are as before afterwards."""

from __future__ import annotations

import random

import numpy as np

from discreet.noise.generators import find_generators, rewind


def test_rewound_generators_draw_the_same_again_and_are_as_before_afterwards():
    own, legacy, pure = np.random.default_rng(1), np.random.RandomState(2), random.Random(3)
    holder = {"a": [own], "b": (legacy, pure)}

    def draw():
        shared = random.random(), np.random.standard_normal()
        return (*shared, own.random(), legacy.standard_normal(), pure.random())

    with rewind(find_generators(holder)) as back:
        first = draw()
        assert draw() != first
        back()
        assert draw() == first
    assert draw() == first


def test_generators_are_as_before_when_a_try_raises():
    own = np.random.default_rng(1)
    try:
        with rewind([own]):
            own.random()
            raise KeyError
    except KeyError:
        pass
    assert own.random() == np.random.default_rng(1).random()
