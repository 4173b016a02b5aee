"""Unit vectors from the Bingham distribution, by rejection: no Markov chain whose convergence would matter.

It works in floating point: its distribution is the stated one in real arithmetic only. What rests on it
is *assumed*, not proved, and the ledger is told so. Proof page: ``docs/proofs/decomposition.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from discreet.noise import entropy
from discreet.noise.arrays import Floats, Words

__all__ = ["BinghamDistribution", "bingham"]

#: How many numbers are proposed at a time, so that many columns don't take much memory.
_PROPOSED_NUMBERS = 1 << 16


def _uniforms(words: Words) -> Floats:
    """Uniform numbers strictly between 0 and 1: the middles of 2^52 cells, each a float64."""
    return np.asarray(((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52)


@final
@dataclass(frozen=True)
class BinghamDistribution:
    """The density ∝ exp(-Σ λᵢxᵢ²) on the unit sphere, in coordinates along eigenvectors.

    Parameters
    ----------
    gaps : array of shape (q,)
        λ >= 0, the smallest of them 0: how much each direction falls short of the best.

    Notes
    -----
    Proposals are normalised y ~ N(0, Ω⁻¹) with Ω = I + 2Λ/b: the angular central Gaussian distribution
    with density ∝ (x'Ωx)^(-q/2). For b <= q, exp(-t)·(1 + 2t/b)^(q/2) is at most
    exp(-(q-b)/2)·(q/b)^(q/2), reached at t = (q-b)/2 (Kent, Ganeiber & Mardia 2018, section 3). The b
    with Σ 1/(b + 2λᵢ) = 1 accepts most often.
    """

    gaps: Floats

    @property
    def b(self) -> float:
        """The root of Σ 1/(b + 2λᵢ) = 1 in [1, q]. Any b there is sound; this one is fastest."""
        q, gaps = len(self.gaps), self.gaps

        def excess(b: float) -> float:
            return float((1.0 / (b + 2.0 * gaps)).sum()) - 1.0

        if excess(1.0) <= 0.0 or q == 1:
            return 1.0
        return float(q) if excess(q) >= 0.0 else float(brentq(excess, 1.0, q))

    def draws(self, count: int) -> Floats:
        """Independent vectors, of shape (count, q)."""
        q, b = len(self.gaps), self.b
        precision = 1.0 + 2.0 * self.gaps / b
        spread = 1.0 / np.sqrt(precision)
        stream = entropy.current()
        batch = max(1, min(max(64, 2 * count), _PROPOSED_NUMBERS // (q + 1)))
        found, missing = [], count
        while missing > 0:
            chances = _uniforms(stream.words(batch * (q + 1))).reshape(batch, q + 1)
            y = ndtri(chances[:, :q]) * spread
            x = y / np.sqrt((y * y).sum(axis=1, keepdims=True))
            taken = x[np.log(chances[:, q]) <= self.log_acceptance(x * x, b)][:missing]
            found.append(taken)
            missing -= len(taken)
        return np.concatenate([np.empty((0, q)), *found])

    def log_acceptance(self, squares: Floats, b: float) -> Floats:
        """The logarithm of the chance that proposals are accepted, from their squared coordinates."""
        q = len(self.gaps)
        bound = (b - q) / 2.0 + q / 2.0 * math.log(q / b)
        short = squares @ self.gaps
        return np.asarray(q / 2.0 * np.log1p(2.0 * short / b) - short - bound)


def bingham(matrix: Floats, count: int | None = None) -> Floats:
    """Draw unit vectors x with density ∝ exp(x'Mx) on the sphere, for a symmetric matrix M.

    Parameters
    ----------
    matrix : array of shape (q, q)
        Finite and symmetric; only its lower triangle is read. Adding a multiple of the identity changes
        nothing, so any size of eigenvalues will do.
    count : int, optional
        How many independent vectors; one, as a flat array, by default.

    Returns
    -------
    array of shape (q,) or (count, q)
        Of norm 1 up to rounding. Both signs are equally likely.

    Privacy
    -------
    Exact in real arithmetic, not in floating point; see the module. No finite matrix makes it raise. The
    number of proposals is geometric with a mean that depends on the matrix, between 1 and about 1.17·√q:
    running time isn't protected.
    """
    values, vectors = np.linalg.eigh(matrix)
    distribution = BinghamDistribution(np.maximum(values[-1] - values, 0.0))
    found = distribution.draws(1 if count is None else count) @ vectors.T
    return np.asarray(found[0] if count is None else found)
