"""Sections 3.4.1 and 3.4.3: branches by random qubits, and the noise that is extracted again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from harness import Study, markdown, seed_of
from masks import Floats, draw_table
from study import STUDY

import discreet as dp
from discreet.audit.denoise import read_back_pairs
from discreet.publish.masks import PseudoQuantum
from discreet.publish.wavelets import THREE_BAND, forward, inverse

__all__ = ["EMBEDDINGS", "embed_by_qubits", "extract_noise"]

INTENSITY = 0.1
EMBEDDINGS = ("pseudo-quantum", "random qubits")


def turn(values: Floats, low: float, high: float) -> Floats:
    """Values as angles in [π/6, π/3] (step 2)."""
    return math.pi / 6 * (1 + (values - low) / (high - low))


def embed_by_qubits(table: Floats, epsilon: float, draw: np.random.Generator) -> tuple[Floats, Any]:
    """Mask a table, with a random qubit for each coefficient that says which branch it takes.

    Returns
    -------
    masked : array
    signs : array
        1 where the Laplace noise is positive or 0, else -1.
    """
    coefficients = forward(table, THREE_BAND)
    true = coefficients[: len(table) // 3]
    low, high = float(true.min()), float(true.max())
    drawn = draw.laplace(0, 2 / epsilon, true.shape)
    angle, noise = turn(true, low, high), turn(drawn, float(drawn.min()), float(drawn.max()))
    first, second = (draw.normal(size=(2, 2, *true.shape)) ** 2).sum(axis=1)  # squared amplitudes
    by_cosine = np.arccos(np.cos(angle) + INTENSITY * np.cos(noise))
    by_sine = np.arcsin(np.sin(angle) + INTENSITY * np.sin(noise))
    turned = np.where(first >= second, by_cosine, by_sine)
    coefficients[: len(true)] = 6 * turned * (high - low) / math.pi - high + 2 * low
    return inverse(coefficients, THREE_BAND), np.where(drawn >= 0, 1, -1)


def extract_noise(masked: Floats, original: Floats) -> tuple[Floats, Any]:
    """The angles of the noise by the formula of section 3.4.3, and which were embedded by the cosine.

    No coin is guessed: embedding by the cosine makes an angle smaller, by the sine larger.
    """
    size = len(original) // 3
    true, seen = (forward(rows, THREE_BAND)[:size] for rows in (original, masked))
    low, high = float(true.min()), float(true.max())
    angle, turned = turn(true, low, high), turn(seen, low, high)
    cosine = turned < angle
    moved = np.where(cosine, np.cos(turned) - np.cos(angle), np.sin(turned) - np.sin(angle))
    share = np.clip(moved / INTENSITY, -1, 1)
    return np.where(cosine, np.arccos(share), np.arcsin(share)), cosine


@STUDY.experiment(EMBEDDINGS, (0.5, 8.0), repeats=20)
def extraction(embedding: str, epsilon: float, *, seed: int) -> dict[str, float]:
    """The table read back from its mask, and with it the noise: is it what was drawn?"""
    table, draw = draw_table(), np.random.default_rng(seed_of(embedding, epsilon, seed))
    if embedding == EMBEDDINGS[0]:
        masks, trace = PseudoQuantum(epsilon, INTENSITY).draw(
            table, 1, unit=dp.PUBLIC, random_state=draw
        )
        masked, signs = masks[0], trace[0, 0]
    else:
        masked, signs = embed_by_qubits(table, epsilon, draw)
    back = read_back_pairs(masked)
    noise, cosine = extract_noise(masked, back)
    inside = (noise > math.pi / 6 - 1e-6) & (noise < math.pi / 3 + 1e-6)
    positive = signs > 0  # the angle grows with the noise: all positive ones are above all others
    sorted_right = noise[positive].min() > noise[~positive].max()
    return {
        "cells read back": float((back == table).mean()),
        "by the cosine": float(cosine.mean()),
        "between π/6 and π/3": float(inside.mean()),
        "in the order of what was drawn": float(sorted_right),
    }


@STUDY.table("extraction")
def extracted(study: Study) -> str:
    rows = []
    for embedding in EMBEDDINGS:
        for epsilon in (0.5, 8.0):
            found = study.get("extraction", embedding, epsilon)
            cells = (
                f"{100 * value.mean:.2f} ± {100 * value.error:.2f} %" for value in found.values()
            )
            rows.append([f"{embedding}, ε = {epsilon:g}", *cells])
    found = study.get("extraction", EMBEDDINGS[0], 0.5)
    return f"{markdown(['noise extracted', *found], rows)}\n\n{found['by the cosine'].count} repetitions."
