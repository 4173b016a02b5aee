"""The masks LS, LS+ and pseudo-quantum of Choi & Lee 2019, as published.

A table is transformed by a 3-band wavelet over its rows; noise is put on the approximation band (LS,
pseudo-quantum) or on all bands of each block of rows (LS+); then it is transformed back.

Source: K. Choi, T. Lee, *Differentially private M-band wavelet-based mechanisms in machine learning
environments*, 2019; the filters are its table 2.1.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from discreet.guarantees.draws import GENERATOR, Floats, laplace

__all__ = [
    "FILTERS",
    "details",
    "laplace_sigmoid",
    "laplace_sigmoid_log_density",
    "ls",
    "ls_plus",
    "multipliers",
    "noise_parameter",
    "pseudo_quantum",
    "read_back",
    "wavelet",
]

#: Table 2.1: the low-pass filter α and the two high-pass filters β.
FILTERS = np.array(
    [
        [0.33838609728386, 0.53083618701374, 0.72328627674361,
         0.23896417190576, 0.04651408217589, -0.14593600755399],
        [-0.11737701613483, 0.54433105395181, -0.01870574735313,
         -0.69911956479289, -0.13608276348796, 0.42695403781698],
        [0.40363686892892, -0.62853936105471, 0.46060475252131,
         -0.40363686892892, -0.07856742013185, 0.24650202866523],
    ]
)  # fmt: skip


@cache
def wavelet(rows: int) -> Floats:
    """The orthogonal matrix of one level: first all approximation rows, then both detail bands."""
    if rows % 3 or rows < 6:
        raise ValueError("rows must be a multiple of 3, and at least 6.")
    third = rows // 3
    matrix = np.zeros((rows, rows))
    for band, taps in enumerate(FILTERS):
        for k in range(third):
            matrix[band * third + k, (3 * k + np.arange(6)) % rows] = taps
    return matrix


def details(table: Floats) -> Floats:
    """The detail bands of a table, or of many (trials, rows, columns): two thirds of its information."""
    rows = table.shape[-2]
    return np.asarray(wavelet(rows)[rows // 3 :] @ table)


def noise_parameter(epsilon: float, gamma: float) -> float:
    """ε' = ε/(1 + e^-γ) (Theorem 1)."""
    return epsilon / (1 + math.exp(-gamma))


def multipliers(coefficients: Floats, gamma: float) -> Floats:
    """A*: the coefficients put into [-γ, γ] by their own smallest and largest (step 2)."""
    low, high = coefficients.min(), coefficients.max()
    if low == high:
        return np.zeros_like(coefficients)
    return np.asarray(gamma * (2 * coefficients - high - low) / (high - low))


def laplace_sigmoid(y: Floats, parameter: float, trials: int) -> Floats:
    """Noise N(y): Laplace of scale 1/parameter, its positive side times 1 - S(y), its negative times S(y).

    Source: Definition 3.
    """
    drawn = laplace(1 / parameter, (trials, *np.shape(y)))
    rising = 1 / (1 + np.exp(-y))
    return np.where(drawn >= 0, (1 - rising) * drawn, rising * drawn)


def laplace_sigmoid_log_density(noise: Floats, y: Floats, parameter: float) -> Floats:
    """The log-density of `laplace_sigmoid`: half the mass on each side, each side with its own scale."""
    rising = 1 / (1 + np.exp(-y))
    scale = np.where(noise >= 0, 1 - rising, rising) / parameter
    return np.asarray(-np.log(2 * scale) - np.abs(noise) / scale)


def ls(
    table: Floats, trials: int, *, epsilon: float, gamma: float = 1.0, labels: bool = False
) -> Floats:
    """LS: noise on the approximation band only (section 3.2.1).

    `labels` sets the last column to 0 or 1 at the end, as the authors do with a column of labels.
    """
    transform = wavelet(len(table))
    third = len(table) // 3
    approximation = transform[:third] @ table
    noise = laplace_sigmoid(
        multipliers(approximation, gamma), noise_parameter(epsilon, gamma), trials
    )
    return _labelled(table + transform[:third].T @ noise, labels)


def ls_plus(block: Floats, trials: int, *, epsilon: float, gamma: float = 1.0) -> Floats:
    """LS+ on one block of rows: noise on all its coefficients (section 3.3.2)."""
    transform = wavelet(len(block))
    noise = laplace_sigmoid(
        multipliers(transform @ block, gamma), noise_parameter(epsilon, gamma), trials
    )
    return np.asarray(block + transform.T @ noise)


def pseudo_quantum(
    table: Floats,
    trials: int,
    *,
    epsilon: float,
    intensity: float = 0.1,
    bias: float = 0.0,
    labels: bool = False,
    generator: np.random.Generator = GENERATOR,
) -> Floats:
    """The pseudo-quantum mask: angles of the approximation band with embedded noise (section 3.4.2).

    As printed, the branches overlap where bias > 0; the first that applies is used.
    """
    transform = wavelet(len(table))
    third = len(table) // 3
    approximation = transform[:third] @ table
    low, high = approximation.min(), approximation.max()
    angle = math.pi * (approximation + high - 2 * low) / (6 * (high - low))
    drawn = generator.laplace(scale=2 / epsilon, size=(trials, *approximation.shape))
    least = drawn.min(axis=(1, 2), keepdims=True)
    most = drawn.max(axis=(1, 2), keepdims=True)
    embedded = math.pi * (drawn + most - 2 * least) / (6 * (most - least))
    coin = generator.random(drawn.shape)
    by_cosine = np.arccos(np.cos(angle) + intensity * np.cos(embedded))
    by_sine = np.arcsin(np.sin(angle) + intensity * np.sin(embedded))
    turned = np.where(coin >= (1 - bias) / 2, by_cosine, by_sine)
    back = 6 * turned * (high - low) / math.pi - high + 2 * low
    return _labelled(table + transform[:third].T @ (back - approximation), labels)


def _labelled(tables: Floats, labels: bool) -> Floats:
    if labels:
        tables[..., -1] = np.where(tables[..., -1] >= 0.5, 1.0, 0.0)
    return tables


def read_back(masked: Floats, likely: float = 0.0) -> Floats:
    """A table of zeros and ones from its LS or pseudo-quantum mask, without any key.

    A pair of detail coefficients is a function of six successive rows: a list of the 64 possible pairs
    identifies them. Only six equal rows can't be told apart (both filters sum to 0): there the neighbours
    decide, and finally the value that is `likely`.
    """
    rows, columns = masked.shape
    third = rows // 3
    patterns = np.array([[code >> bit & 1 for bit in range(6)] for code in range(64)], np.float64)
    known = patterns @ FILTERS[1:].T
    starts = 3 * np.arange(third)
    windows = masked[(starts[:, None] + np.arange(6)) % rows]  # the masked rows of each window
    seen = np.einsum("kwc,bw->kcb", windows, FILTERS[1:])
    nearest = np.argmin(((seen[:, :, None, :] - known) ** 2).sum(axis=-1), axis=-1)
    unsure = (nearest == 0) | (nearest == 63)
    bits = patterns[nearest]  # (windows, columns, 6)
    table = np.full((rows, columns), np.nan)
    # a row stands in the first half of one window, the second of the one before
    for half in (0, 3):
        for place in range(3):
            at = (starts + half + place) % rows
            table[at] = np.where(unsure, table[at], bits[:, :, half + place])
    for order in (range(third), range(third - 1, -1, -1)):  # equal rows take over what is known
        for k in order:
            here = (3 * k + np.arange(6)) % rows
            found = np.nanmax(np.vstack([table[here], np.full(columns, -1.0)]), axis=0)
            fill = unsure[k] & (found >= 0)
            table[np.ix_(here, np.flatnonzero(fill))] = found[fill]
    return np.where(np.isnan(table), likely, table)
