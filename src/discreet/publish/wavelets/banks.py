"""Orthonormal filter banks: which ones there are, and the identities that each must satisfy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.rational import as_integer

__all__ = [
    "DAUBECHIES_4",
    "FOUR_BAND",
    "FOUR_BAND_REGULAR",
    "HAAR",
    "THREE_BAND",
    "FilterBank",
    "haar",
]

Floats = npt.NDArray[np.float64]

#: How far the taps of a bank may be from the identities that they must satisfy.
TOLERANCE = 1e-9


@final
@dataclass(frozen=True)
class FilterBank:
    """M filters of an orthonormal M-band wavelet: the low-pass α first, then the high-pass β⁽¹⁾ to β⁽ᴹ⁻¹⁾.

    Parameters
    ----------
    taps : sequence of M sequences of equal length N
        N is padded with zeros to a multiple of M.
    regularity : int
        How many moments of every high-pass filter vanish: Σ iʲ·β_i = 0 for j below it. At least 1.
    name : str

    Raises
    ------
    ValueError
        If the taps are further than 1e-9 from one of the identities (1) to (4) of Choi & Lee 2019, section
        2.1 (norms 1; sums √M and 0; orthogonal filters; vanishing moments), or if a filter isn't
        orthogonal to all filters shifted by multiples of M, which (3) alone does not say.

    Examples
    --------
    >>> FilterBank([[0.6, 0.8], [0.8, -0.6]])
    Traceback (most recent call last):
    ValueError: taps: the low-pass filter must sum to √2 = 1.414214, not to 1.400000.
    """

    taps: tuple[tuple[float, ...], ...]
    regularity: int = 1
    name: str = "bank"

    def __init__(
        self, taps: Iterable[Iterable[float]], regularity: int = 1, name: str = "bank"
    ) -> None:
        object.__setattr__(self, "taps", _read_taps(taps))
        object.__setattr__(self, "regularity", as_integer(regularity, "regularity", minimum=1))
        object.__setattr__(self, "name", str(name))
        _check(self)

    @property
    def bands(self) -> int:
        """M, the number of filters."""
        return len(self.taps)

    @property
    def length(self) -> int:
        """N, the number of taps of each filter: a multiple of M."""
        return len(self.taps[0])

    @cached_property
    def polyphase(self) -> Floats:
        """The taps as matrices of shape (N/M, M, M): entry [q, b, r] is tap Mq + r of filter b."""
        shape = (self.bands, self.length // self.bands, self.bands)
        found = np.array(self.taps).reshape(shape).transpose(1, 0, 2).copy()
        found.setflags(write=False)
        return found

    def cascade(self, level: int) -> Floats:
        """The filters of one level as filters of the signal itself, of shape (M, length).

        Coefficient k of band b at this level is Σ_t cascade[b, t]·x[Mˡᵉᵛᵉˡ·k + t].
        """
        found = np.array(self.taps)
        low = found[0]
        for done in range(1, as_integer(level, "level", minimum=1)):
            step = self.bands**done
            found = np.zeros((self.bands, (self.length - 1) * step + len(low)))
            for place, taps in enumerate(np.array(self.taps).T):
                found[:, place * step : place * step + len(low)] += taps[:, None] * low
            low = found[0]
        return found

    def __repr__(self) -> str:
        return f"FilterBank({self.name!r}, bands={self.bands}, length={self.length})"


def _read_taps(taps: Iterable[Iterable[float]]) -> tuple[tuple[float, ...], ...]:
    try:
        given: Any = np.array([list(row) for row in taps], np.float64)
    except (TypeError, ValueError):
        raise TypeError("taps must be M filters of equally many numbers.") from None
    if given.ndim != 2 or given.shape[0] < 2 or given.shape[1] < given.shape[0]:
        raise ValueError("taps must be M ≥ 2 filters of at least M numbers each.")
    if not np.isfinite(given).all():
        raise ValueError("taps must be finite numbers.")
    lacking = -given.shape[1] % given.shape[0]
    padded = np.pad(given, ((0, 0), (0, lacking)))
    return tuple(tuple(float(tap) for tap in row) for row in padded)


def _check(bank: FilterBank) -> None:
    """Refuse taps that miss an identity."""
    taps, count = np.array(bank.taps), bank.bands
    if np.abs((taps**2).sum(axis=1) - 1).max() > TOLERANCE:
        raise ValueError("taps: every filter must have the norm 1.")  # identity (1)
    sums = taps.sum(axis=1)
    if abs(sums[0] - count**0.5) > TOLERANCE:  # identity (2)
        raise ValueError(
            f"taps: the low-pass filter must sum to √{count} = {count**0.5:.6f}, not to {sums[0]:.6f}."
        )
    if np.abs(taps @ taps.T - np.eye(count)).max() > TOLERANCE:  # identity (3)
        raise ValueError("taps: the filters must be orthogonal to each other.")
    for shift in range(count, bank.length, count):
        if np.abs(taps[:, shift:] @ taps[:, :-shift].T).max() > TOLERANCE:
            raise ValueError(
                f"taps: the filters must be orthogonal to all filters shifted by {shift}."
            )
    places = np.arange(bank.length) / bank.length
    for power in range(bank.regularity):  # identities (2) and (4)
        if np.abs(taps[1:] @ places**power).max() > TOLERANCE:
            raise ValueError(
                f"taps: Σ i^{power}·β_i must be 0 for every high-pass filter of a bank with "
                f"regularity={bank.regularity}."
            )


def haar(bands: int) -> FilterBank:
    """The bank of means over M neighbours and M - 1 orthonormal contrasts (those of the cosine transform).

    Examples
    --------
    >>> from discreet.publish.wavelets import haar
    >>> bank = haar(3)
    >>> bank.bands, bank.length
    (3, 3)
    """
    count = as_integer(bands, "bands", minimum=2)
    places = (2 * np.arange(count) + 1) * np.pi / (2 * count)
    rows = np.cos(np.outer(np.arange(count), places)) * (2 / count) ** 0.5
    rows[0] = count**-0.5
    return FilterBank(rows, name=f"haar-{count}")


def _packet(bank: FilterBank, name: str) -> FilterBank:
    """The 4-band bank of two full levels of a 2-band one."""
    low, high = np.array(bank.taps)
    wide = np.zeros((2, 2 * bank.length - 1))
    wide[:, ::2] = np.array(bank.taps)
    rows = [np.convolve(first, second) for first in (low, high) for second in wide]
    return FilterBank(rows, bank.regularity, name)


HAAR = FilterBank([[0.5**0.5, 0.5**0.5], [0.5**0.5, -(0.5**0.5)]], name="haar")
#: The extremal-phase wavelet with two vanishing moments (Daubechies 1988), four taps.
DAUBECHIES_4 = FilterBank(
    [
        [(1 + 3**0.5) / 32**0.5, (3 + 3**0.5) / 32**0.5, (3 - 3**0.5) / 32**0.5, (1 - 3**0.5) / 32**0.5],
        [(1 - 3**0.5) / 32**0.5, (3**0.5 - 3) / 32**0.5, (3 + 3**0.5) / 32**0.5, -(1 + 3**0.5) / 32**0.5],
    ],
    regularity=2,
    name="daubechies-4",
)  # fmt: skip
#: The 2-regular 3-band bank of Choi & Lee 2019, table 2.1.
THREE_BAND = FilterBank(
    [
        [0.33838609728386, 0.53083618701374, 0.72328627674361,
         0.23896417190576, 0.04651408217589, -0.14593600755399],
        [-0.11737701613483, 0.54433105395181, -0.01870574735313,
         -0.69911956479289, -0.13608276348796, 0.42695403781698],
        [0.40363686892892, -0.62853936105471, 0.46060475252131,
         -0.40363686892892, -0.07856742013185, 0.24650202866523],
    ],
    regularity=2,
    name="three-band",
)  # fmt: skip
#: The Hadamard matrix: means over four neighbours and three contrasts of equal size.
FOUR_BAND = FilterBank(
    [[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, -0.5, -0.5], [0.5, -0.5, -0.5, 0.5], [0.5, -0.5, 0.5, -0.5]],
    name="four-band",
)
#: Two full levels of `DAUBECHIES_4`.
FOUR_BAND_REGULAR = _packet(DAUBECHIES_4, "four-band-regular")
