"""The transform of integers, exactly: taps over a power of two, and how far one row can move coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.publish.wavelets.banks import FilterBank
from discreet.publish.wavelets.transform import padded_length
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

    Privacy
    -------
    `apply` is exact: it equals the product of integer matrices, or raises for bounds, given in public, with
    which it could not be. Whatever is said about how far a row can move coefficients is computed from this
    very matrix. Proof page: ``docs/proofs/wavelet_masks.md``.
    """

    bank: FilterBank
    length: int
    levels: int = 1
    bits: int = DEFAULT_BITS

    def __post_init__(self) -> None:
        as_integer(self.length, "length", minimum=1)
        as_integer(self.bits, "bits", minimum=1)
        if self.bits > 40:
            raise ValueError("bits must be at most 40: the sums must fit 63 bits.")
        if self.length != padded_length(self.length, self.bank, self.levels):
            raise ValueError(
                f"length must be a multiple of {self.bank.bands**self.levels}, got {self.length}."
            )

    @property
    def one(self) -> int:
        """The integer that stands for 1."""
        return 1 << self.bits

    @cached_property
    def matrix(self) -> Any:
        """The matrix as integers, a SciPy sparse array: coefficients are rows, in the order of `forward`."""
        from scipy.sparse import csr_array

        rows, columns, entries, start = [], [], [], self.length
        for level in range(1, self.levels + 1):
            step = self.bank.bands**level
            size = self.length // step
            last = level == self.levels
            filters = _fold(self.bank.cascade(level), self.length)
            start = size * self.bank.bands
            for band in range(0 if last else 1, self.bank.bands):
                taps = np.rint(np.ldexp(filters[band], self.bits)).astype(np.int64)
                places = np.flatnonzero(taps)
                k = np.arange(size)[:, None]
                columns.append(((step * k + places) % self.length).ravel())
                rows.append(
                    np.broadcast_to(
                        start - size * (self.bank.bands - band) + k, (size, len(places))
                    )
                    .copy()
                    .ravel()
                )
                entries.append(np.tile(taps[places], size))
        index = (np.concatenate(rows), np.concatenate(columns))
        return csr_array((np.concatenate(entries), index), shape=(self.length, self.length))

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

    @cached_property
    def _row_sum(self) -> int:
        return int(abs(self.matrix).sum(axis=1).max())

    def reach(self, largest: int) -> int:
        """The largest absolute coefficient of values of at most `largest` in absolute value."""
        return self._row_sum * as_integer(largest, "largest", minimum=0)

    def apply(self, blocks: Integers, largest: int) -> Integers:
        """The coefficients of blocks of integers of shape (blocks, length, columns), over 2^bits.

        Parameters
        ----------
        blocks : int64 array
        largest : int
            A public bound on the absolute values; larger ones are cut off at it.
        """
        reach = self.reach(largest)
        if reach >= 2**62:
            raise ValueError(
                f"values up to {largest} with {self.bits} bits overflow 64-bit integers: use fewer bits."
            )
        values = np.clip(np.asarray(blocks, np.int64), -largest, largest)
        if values.ndim != 3 or values.shape[1] != self.length:
            raise ValueError(f"blocks must have the shape (blocks, {self.length}, columns).")
        if self.length <= _DENSE:
            if (
                reach < 2**53
            ):  # sums of float64 are exact as long as all partial sums are below 2^53
                exact = self.dense.astype(np.float64) @ values.astype(np.float64)
                return np.asarray(exact.astype(np.int64))
            return np.asarray(self.dense @ values)
        found = np.empty_like(values)
        for place, block in enumerate(values):
            found[place] = self.matrix @ block
        return found

    def invert(self, coefficients: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Wᵀ of coefficients over 2^bits, in float64 and in the unit of the values.

        W is orthogonal up to rounding: without noise, values return up to about 2^-bits of the largest.
        """
        scaled = np.asarray(coefficients, np.float64) / self.one**2
        if self.length <= _DENSE:
            return np.asarray(self.dense.T.astype(np.float64) @ scaled)
        return np.stack([self.matrix.T @ block for block in scaled])


def _fold(filters: npt.NDArray[np.float64], length: int) -> npt.NDArray[np.float64]:
    """Filters wrapped around a period that may be shorter than they are."""
    if filters.shape[1] <= length:
        return filters
    lacking = -filters.shape[1] % length
    padded = np.pad(filters, ((0, 0), (0, lacking)))
    return np.asarray(padded.reshape(len(filters), -1, length).sum(axis=1))
