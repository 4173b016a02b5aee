"""Reading a table back from its mask: the denoising that a paper tried, and one that works.

Choi & Lee 2019 mask a table by noise on the approximation band of a wavelet transform (LS, pseudo-quantum).
They try to undo it with the signs of the noise (section 3.2.2), find a mean error H, and conclude that the
table can't be regained. But the detail bands come out as they went in. Where cells have few possible values,
these bands give the table, cell by cell: `read_back_pairs` for two values, `read_back` for more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from discreet.publish.wavelets import THREE_BAND, FilterBank, bands, forward, inverse

__all__ = ["ReadBack", "denoise_by_signs", "read_back", "read_back_pairs", "smallest_difference"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: The factors that Choi & Lee try, from -1 to 1 (section 3.2.2).
DEFAULT_FACTORS = tuple(step / 10 for step in range(-10, 11))
#: The most groups of successive values that are told apart: 128 values in a bank of three bands.
MAX_STATES = 2**21
#: The most explanations of a column that are kept at once.
MAX_PATHS = 2**16


@dataclass(frozen=True)
class ReadBack:
    """A table as it was read back from its mask.

    Attributes
    ----------
    table : array
        Of the mask's shape, with possible values only.
    explanations : array of int
        For each column, how many columns of possible values have the mask's detail bands. 1: it is known
        for certain. More: they differ by a constant, and the one whose mean is nearest to the mask's was
        taken. 0: the bands have noise, and each cell is the possible value nearest to its mask.
    """

    table: Floats
    explanations: Integers

    def share_recovered(self, original: Any) -> float:
        """The share of cells that are those of the original table."""
        return float((self.table == np.asarray(original, np.float64)).mean())


def denoise_by_signs(
    masked: Any, signs: Any, factor: float, *, bank: FilterBank = THREE_BAND
) -> Floats:
    """Subtract `factor` times the signs of the noise from the approximation band of a mask.

    Parameters
    ----------
    masked : array of shape (rows, columns)
    signs : array of shape (rows / bands, columns)
        1 and -1: those of the true noise, which the mask kept, or an adversary's guess.
    factor : number
    bank : FilterBank

    Source: Choi & Lee 2019, section 3.2.2.
    """
    coefficients = forward(_as_table(masked, bank), bank)
    given = np.asarray(signs, np.float64)
    band = bands(coefficients, bank).approximation
    if given.shape != band.shape:
        raise ValueError("signs must have the shape of the mask's approximation band.")
    band -= factor * given
    return np.asarray(inverse(coefficients, bank))


def smallest_difference(
    original: Any,
    masked: Any,
    signs: Any,
    factors: Sequence[float] = DEFAULT_FACTORS,
    *,
    bank: FilterBank = THREE_BAND,
) -> float:
    """The smallest mean absolute difference to the original table over all `factors`.

    Its mean over many masks is the H of Choi & Lee 2019, section 3.2.2.
    """
    left = _as_table(masked, bank) - np.asarray(original, np.float64)
    step = denoise_by_signs(np.zeros(left.shape), signs, -1.0, bank=bank)
    return float(min(np.abs(left - factor * step).mean() for factor in factors))


def read_back_pairs(
    masked: Any,
    values: tuple[float, float] = (0.0, 1.0),
    *,
    likely: float | None = None,
    bank: FilterBank = THREE_BAND,
) -> Floats:
    """Read back a table of two values by looking up each window of rows in a list of all possible ones.

    With three bands of six taps a pair of detail coefficients is a function of six successive rows, and 62
    of the 64 possible windows have pairs of their own. Six equal rows give 0 either way: there neighbouring
    windows decide; in a column that is constant, the value that is `likely`.

    Parameters
    ----------
    masked : array of shape (rows, columns)
        A mask with exact detail bands; of complex ones the real part is read. Where the bands have noise,
        the nearest window is taken: the result is then a guess.
    values : pair of numbers
    likely : number, optional
        By default the one nearest to the mean of the masked column.
    bank : FilterBank
    """
    low, high = (float(value) for value in values)
    if not low < high:
        raise ValueError("values must be two numbers, the smaller one first.")
    unit = (_as_table(masked, bank) - low) / (high - low)
    rows, columns = unit.shape
    taps = bank.length
    if 2**taps > MAX_STATES:
        raise ValueError("bank has too many taps: windows of at most 21 rows are looked up.")
    codes = np.arange(2**taps)
    patterns = ((codes[:, None] >> np.arange(taps)) & 1).astype(np.float64)
    _, nearest = cKDTree(patterns @ np.array(bank.taps[1:]).T).query(_details(unit, bank))
    unsure = (nearest == 0) | (nearest == len(codes) - 1)
    found = np.full((rows, columns), np.nan)
    starts = bank.bands * np.arange(rows // bank.bands)
    for tap in range(taps - 1, -1, -1):  # what a window's first rows say comes last, and stays
        at = (starts + tap) % rows
        found[at] = np.where(unsure, found[at], patterns[nearest][:, :, tap])
    _fill_equal_windows(found, unsure, bank)
    guess = (unit.mean(axis=0) >= 0.5) if likely is None else (likely - low) / (high - low)
    return low + np.where(np.isnan(found), guess, found) * (high - low)


def _fill_equal_windows(found: Floats, unsure: npt.NDArray[Any], bank: FilterBank) -> None:
    """Give windows of equal rows the value that a neighbouring window knows, forwards and backwards."""
    rows = len(found)
    windows = range(len(unsure))
    for order in (windows, reversed(windows)):
        for k in order:
            here = (bank.bands * k + np.arange(bank.length)) % rows
            known = np.where(np.isnan(found[here]), -1.0, found[here]).max(axis=0)
            fill = np.flatnonzero(unsure[k] & (known >= 0))
            found[np.ix_(here, fill)] = known[fill]


def read_back(
    masked: Any,
    values: Sequence[Any],
    *,
    tolerance: float = 1e-6,
    bank: FilterBank = THREE_BAND,
) -> ReadBack:
    """Read back a table whose cells have few possible values from a mask with exact detail bands.

    Viterbi's algorithm over groups of successive rows (k³ states for k values and three bands): the detail
    coefficients of a window tell which group can follow which.

    Parameters
    ----------
    masked : array of shape (rows, columns)
        As for `read_back_pairs`.
    values : sequence of numbers, or one such sequence for each column
        The possible values, in any order; public knowledge, such as the codes of a questionnaire.
    tolerance : number
        How far a coefficient may be from an exact one, in units of the smallest distance of two values.
        Larger where a mask was rounded before it was published.
    bank : FilterBank
        With at most two taps for each band.
    """
    table = _as_table(masked, bank)
    columns = table.shape[1]
    if bank.length > 2 * bank.bands:
        raise ValueError("bank must have at most two taps for each band.")
    details = _details(table, bank)
    found, explanations = np.empty_like(table), np.zeros(columns, np.int64)
    groups: dict[tuple[float, ...], _Groups] = {}
    for column, own in enumerate(_values_of(values, columns)):
        if own not in groups:
            groups[own] = _Groups(np.array(own), bank, tolerance)
        paths = groups[own].explain(details[:, column])
        explanations[column] = len(paths)
        if len(paths):
            nearest = np.abs(paths.mean(axis=1) - table[:, column].mean()).argmin()
            found[:, column] = paths[nearest]
        else:
            choice = np.abs(table[:, column, None] - np.array(own)).argmin(axis=1)
            found[:, column] = np.array(own)[choice]
    return ReadBack(found, explanations)


class _Groups:
    """All groups of successive values, as many as there are bands, and what can follow what."""

    def __init__(self, values: Floats, bank: FilterBank, tolerance: float) -> None:
        bands = bank.bands
        if len(values) ** bands > MAX_STATES:
            raise ValueError(
                f"values: at most {int(MAX_STATES ** (1 / bands) + 1e-9)} are told apart; give fewer."
            )
        places = np.indices((len(values),) * bands).reshape(bands, -1).T
        self._states = values[places]
        both = np.zeros((bands - 1, 2 * bands))
        both[:, : bank.length] = bank.taps[1:]
        self._early = self._states @ both[:, :bands].T
        self._late = self._states @ both[:, bands:].T
        # what no second half can reach says something about the first half alone
        left, sizes, _ = np.linalg.svd(both[:, bands:])
        self._alone = left[:, int((sizes > 1e-9).sum()) :]
        gap = float(np.diff(values).min()) if len(values) > 1 else 1.0
        self._tolerance = tolerance * gap
        self._tree = cKDTree(self._late)

    def explain(self, details: Floats) -> Floats:
        """All columns of values with these detail coefficients, up to `MAX_PATHS`."""
        lone = (details[0] - self._early) @ self._alone
        begun = np.flatnonzero((np.abs(lone) <= self._tolerance).all(axis=1))
        paths, cost = begun[:, None], np.zeros(len(begun))
        for seen in details[:-1]:
            paths, cost = self._step(paths, cost, seen)
            if not len(paths):
                return np.empty((0, len(details) * self._states.shape[1]))
        rest = details[-1] - self._early[paths[:, -1]] - self._late[paths[:, 0]]
        closed = (np.abs(rest) <= self._tolerance).all(axis=1)
        return np.asarray(self._states[paths[closed]].reshape(int(closed.sum()), -1))

    def _step(self, paths: Integers, cost: Floats, seen: Floats) -> tuple[Integers, Floats]:
        """Every path with each group that can come next; of those with the same two ends, the best."""
        wanted = seen - self._early[paths[:, -1]]
        following = self._tree.query_ball_point(wanted, self._tolerance)
        before = np.repeat(np.arange(len(paths)), [len(group) for group in following])
        after = np.fromiter((state for group in following for state in group), np.int64)
        misfit = ((wanted[before] - self._late[after]) ** 2).sum(axis=1)
        total = cost[before] + misfit
        order = np.argsort(total, kind="stable")
        ends = paths[before[order], 0] * len(self._states) + after[order]
        kept = np.sort(np.unique(ends, return_index=True)[1])[:MAX_PATHS]
        chosen = order[kept]
        return np.column_stack([paths[before[chosen]], after[chosen]]), total[chosen]


def _details(table: Floats, bank: FilterBank) -> Floats:
    """The detail coefficients, of shape (windows, columns, bands - 1)."""
    (details,) = bands(forward(table, bank), bank).details
    return np.stack(details, axis=-1)


def _as_table(masked: Any, bank: FilterBank) -> Floats:
    table = np.asarray(masked)
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.number):
        raise TypeError("masked must be a table of numbers, of shape (rows, columns).")
    if len(table) % bank.bands or len(table) < bank.length:
        raise ValueError(
            f"masked must have a multiple of {bank.bands} rows, and at least {bank.length}."
        )
    return np.asarray(table.real, np.float64)


def _values_of(values: Sequence[Any], columns: int) -> list[tuple[float, ...]]:
    """The possible values of each column, in order."""
    if len(values) and np.ndim(values[0]) == 0:
        values = [values] * columns
    if len(values) != columns:
        raise ValueError(f"values must be one list, or one for each of the {columns} columns.")
    found = [tuple(sorted({float(value) for value in own})) for own in values]
    if not all(found) or not np.isfinite([value for own in found for value in own]).all():
        raise ValueError("values must be finite numbers, at least one for each column.")
    return found
