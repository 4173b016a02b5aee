"""Denoising (section 3.2.2) and masked QR codes (section 4.6): what reads masks back, and what doesn't."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from harness import seed_of
from study import EPSILONS, STUDY

import discreet as dp
from discreet import testing
from discreet.audit.denoise import read_back_pairs, smallest_difference
from discreet.publish.imaging import ImageMask, draw_code, parts, scan_code
from discreet.publish.masks import LS, PseudoQuantum
from discreet.publish.wavelets import THREE_BAND

__all__ = ["BANKS", "CODES", "INTENSITIES", "TEXT", "UNIT_EPSILONS", "draw_table"]

Floats = npt.NDArray[np.float64]

INTENSITIES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0)
UNIT_EPSILONS = (1, 2, 4, 8, 16, 32)
#: Ten times as many factors as the authors say that they try.
FINE = tuple(step / 100 for step in range(-100, 101))
TEXT = "https://example.org/discreet"
#: Pixels of a module, and what is protected.
CODES = ((1, "pixel"), (3, "pixel"), (3, "module"), (8, "pixel"), (8, "module"))
BANKS: dict[str, Any] = {"plain": None, "3-band": THREE_BAND}


def draw_table(share: float = 0.05) -> Floats:
    """2187 rows of nine zeros and ones."""
    return (np.random.default_rng(2187).random((2187, 9)) < share).astype(np.float64)


@STUDY.experiment(EPSILONS, repeats=20)
def denoise(epsilon: float, *, seed: int) -> dict[str, float]:
    """H with the true signs of the noise, with guessed ones, and without any; and cells read back."""
    table, draw = draw_table(), np.random.default_rng(seed_of(epsilon, seed))
    masks, trace = LS(epsilon).draw(table, 1, unit=dp.PUBLIC, random_state=draw)
    guessed = draw.choice([-1.0, 1.0], trace[0, 0].shape)
    # LS divides ε by 1 + e^-γ; so this draws Laplace noise of scale 1/ε
    plain, signs = LS(epsilon * (1 + math.exp(-1))).draw(
        table, 1, unit=dp.PUBLIC, random_state=draw
    )
    return {
        "true signs": smallest_difference(table, masks[0], trace[0, 0]),
        "guessed signs": smallest_difference(table, masks[0], guessed),
        "as masked": float(np.abs(masks[0] - table).mean()),
        "true signs, scale 1/ε": smallest_difference(table, plain[0], signs[0, 0]),
        "the same, factors by 0.01": smallest_difference(table, plain[0], signs[0, 0], FINE),
        "cells read back": float((read_back_pairs(masks[0]) == table).mean()),
    }


@STUDY.experiment(INTENSITIES, repeats=20, needs=("segno", "zxingcpp"))
def codes(intensity: float, *, seed: int) -> dict[str, float]:
    """Whether a pseudo-quantum mask of a QR code is scanned, by its parts and after reading back."""
    image = draw_code(TEXT, multiple=3)
    masked = PseudoQuantum(1, intensity).apply(image, unit=dp.PUBLIC, random_state=seed)
    back = read_back_pairs(masked, likely=1.0)  # the quiet zone is white
    shown = {**parts(masked), "read back": back}
    found = {name: float(scan_code(part) == TEXT) for name, part in shown.items()}
    return {**found, "pixels read back": float((back == image).mean())}


@STUDY.experiment(CODES, BANKS, UNIT_EPSILONS, repeats=10, needs=("segno", "zxingcpp"))
def units(code: tuple[int, str], bank: str, epsilon: int, *, seed: int) -> dict[str, float]:
    """Whether a repaired mask of a QR code is scanned, by what is protected."""
    pixels, words = code
    image = draw_code(TEXT, pixels=pixels, multiple=3)
    protects = (1, 1) if words == "pixel" else (pixels, pixels)
    mask = ImageMask(image.shape, epsilon=epsilon, protects=protects, bank=BANKS[bank])
    with testing.fixed_noise(seed_of(code, bank, epsilon, seed)):
        masked = mask.randomize(image)
    return {"scanned": float(scan_code(masked, pixels=pixels) == TEXT)}
