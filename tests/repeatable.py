"""Noise of tests that follows from where a test is."""

from __future__ import annotations

import hashlib
import os

import numpy as np

from discreet.guarantees import draws
from discreet.guarantees.bugs import broken_noise
from discreet.noise import entropy

__all__ = ["draw_from"]


def draw_from(place: str) -> None:
    """Let noise, of textbooks too, follow from where a test is: what passed once passes again.

    Releases aren't marked as fixed, threads and processes of a test draw as ever, and
    DISCREET_NOISE_SEED gives all tests other noise: bars that hold by luck don't hold then.
    """
    label = f"tests:{os.environ.get('DISCREET_NOISE_SEED', '')}:{place}"
    keys = hashlib.sha512(label.encode()).digest()
    for textbook in (draws.GENERATOR, broken_noise.STREAM):
        textbook.bit_generator.state = np.random.default_rng([*keys]).bit_generator.state
    entropy._own.stream = entropy.Stream((keys[:32], keys[32:]), reproducible=False)
