"""Local hashing: each person hashes the value to a few cells, and reports the cell by randomised response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet import noise
from discreet.events import RandomizedResponse as Response
from discreet.mechanisms.local.base import FrequencyMechanism
from discreet.mechanisms.local.domain import Categories, Integers
from discreet.mechanisms.local.probabilities import check_epsilon, outside_mass
from discreet.mechanisms.local.response import respond
from discreet.rational import Number, as_integer

#: The prime of the hash family; above the largest domain, and products of two below it fit into int64.
PRIME = (1 << 31) - 1

#: How many hash values are computed at a time.
_CHUNK = 1 << 20

#: More cells are of no use: the cell then gives the value away, up to the noise.
_MAX_CELLS = 1 << 16


@final
@dataclass(frozen=True, repr=False)
class LocalHashing(FrequencyMechanism):
    """A report is a hash function (a, b), drawn afresh, and a noisy cell of ((a·x + b) mod p) mod cells.

    Parameters
    ----------
    epsilon : number
    k : int or sequence
        The number of values 0 to k - 1, or the list of values.
    cells : int, optional
        By default about e^ε + 1, which has the least variance (Wang, Blocki, Li & Jha 2017).
    unknown : int
        The index that stands for values outside the domain.

    Notes
    -----
    (a·x + b, a·y + b) mod p is uniform over all pairs for x ≠ y, with a and b uniform below the prime p
    (Carter & Wegman 1979), so that two values share a cell with a probability that is
    known exactly; the estimate is unbiased for every k and every number of cells.

    Privacy
    -------
    ε-local DP: the hash function does not depend on the value, and the cell is reported by randomised
    response. Proof page: ``docs/proofs/local.md``.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> survey = mechanisms.LocalHashing(2, 1_000)  # one of a thousand pages
    >>> reports = survey.randomize([17] * 5_000 + [400] * 5_000)
    >>> shares = survey.estimate(reports).values
    >>> round(shares[17].item(), 1), round(shares[400].item(), 1)
    (0.5, 0.5)
    """

    epsilon: Fraction
    domain: Categories
    cells: int
    lie: Fraction

    def __init__(
        self,
        epsilon: Number,
        k: int | Sequence[Any],
        *,
        cells: int | None = None,
        unknown: int = 0,
    ) -> None:
        exact = check_epsilon(epsilon)
        if cells is None:
            cells = min(_MAX_CELLS, max(2, round(exp(min(float(exact), 20.0))) + 1))
        if as_integer(cells, "cells", minimum=2) > _MAX_CELLS:
            raise ValueError(f"cells must be at most {_MAX_CELLS}, got {cells}.")
        object.__setattr__(self, "epsilon", exact)
        object.__setattr__(self, "domain", Categories(k, unknown))
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "lie", outside_mass(exact, 1, cells - 1))

    @property
    def collision(self) -> Fraction:
        """The probability that two different values share a cell: Σ over cells of its share, squared."""
        each, more = divmod(PRIME, self.cells)
        return Fraction(more * (each + 1) ** 2 + (self.cells - more) * each**2, PRIME**2)

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        keep, other = 1 - self.lie, self.lie / (self.cells - 1)
        return keep, self.collision * keep + (1 - self.collision) * other

    def event(self) -> Response:
        return Response(self.epsilon, self.cells)

    def randomize(self, values: Any) -> Integers:
        """For each value a, b and the noisy cell: the last axis has length 3."""
        codes = self.domain.codes(values)
        reports = np.empty((*codes.shape, 3), np.int64)
        reports[..., :2] = noise.uniform_below(PRIME, (*codes.shape, 2))
        cells = self._hash(reports[..., 0], reports[..., 1], codes)
        reports[..., 2] = respond(cells, self.cells, self.lie)
        return reports

    def _hash(self, a: Integers, b: Integers, codes: Integers | int) -> Integers:
        cells: Integers = ((a * codes + b) % PRIME) % self.cells
        return cells

    def supports(self, reports: npt.ArrayLike) -> tuple[Integers, int]:
        rows = self._rows(reports)
        counts = np.zeros(self.k, np.int64)
        height = max(1, min(len(rows), 4096))
        width = max(1, _CHUNK // height)
        for first in range(0, self.k, width):
            codes = np.arange(first, min(first + width, self.k), dtype=np.int64)
            for top in range(0, len(rows), height):
                a, b, cell = (rows[top : top + height, i, None] for i in range(3))
                counts[codes] += np.count_nonzero(self._hash(a, b, codes) == cell, axis=0)
        return counts, len(rows)

    def find_supported(self, reports: npt.ArrayLike, code: int) -> npt.NDArray[np.bool_]:
        """Whether each report supports the value with this index."""
        rows = self._rows(reports)
        found: npt.NDArray[np.bool_] = self._hash(rows[:, 0], rows[:, 1], code) == rows[:, 2]
        return found

    def _rows(self, reports: npt.ArrayLike) -> Integers:
        array = np.asarray(reports)
        if array.dtype.kind not in "iu" or array.ndim < 1 or array.shape[-1] != 3:
            raise ValueError("reports must be rows of three whole numbers: a, b and the cell.")
        rows = array.reshape(-1, 3).astype(np.int64)
        if rows.size and not (rows.min() >= 0 and rows.max() < PRIME):
            raise ValueError("reports must lie between 0 and the prime of the hash functions.")
        return rows

    def __repr__(self) -> str:
        return f"LocalHashing({self.measure!r}, k={self.k}, cells={self.cells})"
