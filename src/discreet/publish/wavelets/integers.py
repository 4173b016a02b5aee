"""The transform of integers, exactly: taps over a power of two, and how far one row can move coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.publish.wavelets.banks import FilterBank
from discreet.publish.wavelets.transform import forward, inverse, padded_length
from discreet.rational import as_integer

__all__ = ["DEFAULT_BITS", "IntegerTransform"]

Integers = npt.NDArray[np.int64]

#: Taps are multiples of 2^-30.
DEFAULT_BITS = 30
#: Up to this length the matrix of a block is held densely.
_DENSE = 128


@final
@dataclass(frozen=True)
class IntegerTransform:
    """One length and number of levels of the transform, with entries rounded to multiples of 2^-bits.

    The matrix of all levels is rounded as a whole: cascading rounded levels would multiply their powers of
    two and overflow. It is sparse beyond short blocks, never dense.

    Parameters
    ----------
    bank : FilterBank
    length : int
        A multiple of Mˡᵉᵛᵉˡˢ.
    levels : int
    bits : int
        Entries are integers over 2^bits. At most 40.
    weights : tuple of float, optional
        A public factor for each band, in the order of `forward` (approximation, then the details from the
        coarsest level to the first): coefficients come out multiplied by it. At most 1.

    Privacy
    -------
    `apply` is exact: it equals the product of integer matrices, or raises for bounds, given in public, with
    which it could not be. Whatever is said about how far a row can move coefficients is computed from this
    very matrix. Proof page: ``docs/proofs/masks.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.publish.wavelets import HAAR, IntegerTransform
    >>> transform = IntegerTransform(HAAR, 4, levels=2)
    >>> found = transform.apply(np.full(4, 3), largest=3)  # a constant has no details
    >>> (found / transform.one).round(3) + 0.0
    array([6., 0., 0., 0.])
    """

    bank: FilterBank
    length: int
    levels: int = 1
    bits: int = DEFAULT_BITS
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        as_integer(self.length, "length", minimum=1)
        as_integer(self.bits, "bits", minimum=1)
        if self.bits > 40:
            raise ValueError("bits must be at most 40: the sums must fit 63 bits.")
        if self.length != padded_length(self.length, self.bank, self.levels):
            raise ValueError(
                f"length must be a multiple of {self.bank.bands**self.levels}, got {self.length}."
            )

        count = 1 + self.levels * (self.bank.bands - 1)
        if self.weights and (
            len(self.weights) != count or not all(0 < w <= 1 for w in self.weights)
        ):
            raise ValueError(
                f"weights must be {count} numbers above 0 and at most 1, one per band."
            )

    @property
    def one(self) -> int:
        """The integer that stands for 1."""
        return 1 << self.bits

    @cached_property
    def matrix(self) -> Any:
        """The matrix as integers, a SciPy sparse array: coefficients are rows, in the order of `forward`."""
        from scipy.sparse import csr_array

        rows, columns, entries = [], [], []
        for start, level, band, weight in self._bands():
            step = self.bank.bands**level
            size = self.length // step
            filters = _fold(self.bank.cascade(level)[band], self.length)
            taps = np.rint(np.ldexp(weight * filters, self.bits)).astype(np.int64)
            places = np.flatnonzero(taps)
            k = np.arange(size)[:, None]
            columns.append(((step * k + places) % self.length).ravel())
            rows.append(np.repeat(start + k, len(places)))
            entries.append(np.tile(taps[places], size))
        index = (np.concatenate(rows), np.concatenate(columns))
        return csr_array((np.concatenate(entries), index), shape=(self.length, self.length))

    def _bands(self) -> Iterator[tuple[int, int, int, float]]:
        """Where each band starts, its level, its filter and its weight, in the order of `forward`."""
        weights = iter(self.weights or (1.0,) * (1 + self.levels * (self.bank.bands - 1)))
        for level in range(self.levels, 0, -1):
            size = self.length // self.bank.bands**level
            for band in range(0 if level == self.levels else 1, self.bank.bands):
                yield band * size, level, band, next(weights)

    @cached_property
    def factors(self) -> npt.NDArray[np.float64]:
        """What one coefficient is multiplied by: its band's weight times 2^bits."""
        found = np.empty(self.length)
        for start, level, _, weight in self._bands():
            found[start : start + self.length // self.bank.bands**level] = weight * self.one
        return found

    def ranges(self) -> tuple[float, ...]:
        """Σ|taps| of each band's filter: how wide its coefficients range for values of width 1."""
        return tuple(
            float(np.abs(_fold(self.bank.cascade(level)[band], self.length)).sum())
            for _, level, band, _ in self._bands()
        )

    def most_changed(self) -> int:
        """The most coefficients that depend on one input."""
        return int((self.matrix != 0).sum(axis=0).max())

    @cached_property
    def dense(self) -> Integers:
        """The matrix of a short block."""
        if self.length > _DENSE:
            raise ValueError(f"only blocks of at most {_DENSE} rows have a dense matrix.")
        return np.asarray(self.matrix.toarray(), np.int64)

    def column_sums(self, rows: slice = slice(None)) -> Integers:
        """Σ_k |W_ki| for each input i, over some of the coefficients: exact integers over 2^bits."""
        return np.asarray(abs(self.matrix)[rows].sum(axis=0), np.int64).ravel()

    def spread(self, rows: slice = slice(None)) -> int:
        """K = max_i Σ_k |W_ki|, over 2^bits: how far one input moves the coefficients in all, per unit."""
        return int(self.column_sums(rows).max())

    def energy(self, rows: slice = slice(None)) -> int:
        """max_i Σ_k W_ki², over 2^(2·bits); near 1, since the transform is orthogonal up to rounding."""
        part = self.matrix[rows].tocsc()
        return max(
            sum(int(entry) ** 2 for entry in part.data[part.indptr[i] : part.indptr[i + 1]])
            for i in range(min(self.length, self.bank.bands**self.levels))
        )

    def energy_of_two(self, rows: slice = slice(None)) -> int:
        """The most that two inputs, each by one unit, move the coefficients in squares, over 2^(2·bits).

        max over i ≠ j of Σ_k W_ki² + Σ_k W_kj² + 2·|Σ_k W_ki·W_kj|; at least twice `energy`, which
        is what two inputs of different blocks do.
        """
        part = self.matrix[rows]
        by_row, by_column = part.tocsr(), part.tocsc()

        def entries(of: Any, at: int) -> list[tuple[int, int]]:
            inside = slice(of.indptr[at], of.indptr[at + 1])
            return list(zip(of.indices[inside].tolist(), of.data[inside].tolist(), strict=True))

        period = min(self.length, self.bank.bands**self.levels)
        own = [sum(entry**2 for _, entry in entries(by_column, i)) for i in range(period)]
        most = 2 * max(own)
        for i in range(period):
            products: dict[int, int] = {}
            for k, first in entries(by_column, i):
                for j, second in entries(by_row, k):
                    products[j] = products.get(j, 0) + first * second
            products.pop(i, None)
            both = (own[i] + own[j % period] + 2 * abs(one) for j, one in products.items())
            most = max(most, *both, 0)
        return most

    @cached_property
    def _row_sum(self) -> int:
        return int(abs(self.matrix).sum(axis=1).max())

    def reach(self, largest: int) -> int:
        """The largest absolute coefficient of values of at most `largest` in absolute value."""
        return self._row_sum * as_integer(largest, "largest", minimum=0)

    def apply(self, values: Integers, largest: int) -> Integers:
        """The coefficients of integers along the last axis, over 2^bits.

        Parameters
        ----------
        values : int64 array of shape (..., length)
        largest : int
            A public bound on the absolute values; larger ones are cut off at it.
        """
        reach = self.reach(largest)
        if reach >= 2**62:
            raise ValueError(
                f"values up to {largest} with {self.bits} bits overflow 64-bit integers: use fewer bits."
            )
        given = np.asarray(values)
        if given.ndim == 0 or given.shape[-1] != self.length or given.dtype.kind not in "iu":
            raise ValueError(f"values must be integers, {self.length} along their last axis.")
        is_short = self.length <= _DENSE and reach < 2**53  # all partial sums are exact in float64
        kind: Any = np.float64 if is_short else np.int64
        flat = given.astype(kind, order="C").reshape(-1, self.length)
        np.clip(flat, -largest, largest, out=flat)
        if is_short:
            found: Any = (flat @ self._floats.T).astype(np.int64)
        elif self.length <= _DENSE:
            found = flat @ self.dense.T
        else:
            found = (self.matrix @ flat.T).T
        return np.asarray(found.reshape(given.shape), np.int64)

    @cached_property
    def _floats(self) -> npt.NDArray[np.float64]:
        return self.dense.astype(np.float64)

    @cached_property
    def _inverse(self) -> npt.NDArray[np.float64]:
        return forward(np.eye(self.length), self.bank, self.levels) / self.factors[:, None]

    def invert(self, coefficients: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Values, in their own unit, from coefficients over 2^bits along the last axis, in float64."""
        given = np.asarray(coefficients, np.float64)
        if self.length > _DENSE:
            return inverse(given / self.factors, self.bank, self.levels, axis=-1)
        return np.asarray((given.reshape(-1, self.length) @ self._inverse).reshape(given.shape))


def _fold(taps: npt.NDArray[np.float64], length: int) -> npt.NDArray[np.float64]:
    """A filter wrapped around a period that may be shorter than it is."""
    if len(taps) <= length:
        return taps
    padded = np.pad(taps, (0, -len(taps) % length))
    return np.asarray(padded.reshape(-1, length).sum(axis=0))
