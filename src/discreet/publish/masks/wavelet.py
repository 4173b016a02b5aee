"""Exact noise on wavelet coefficients: on all of them, or on the approximation band alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from discreet.mechanisms import Gaussian, Laplace
from discreet.publish.masks.plan import RowMask
from discreet.publish.masks.releases import AdditiveRelease, Release

__all__ = ["WaveletApproximation", "WaveletGaussian", "WaveletLaplace"]


@final
@dataclass(frozen=True)
class WaveletLaplace(RowMask):
    """LS+ repaired: Laplace noise for the true sensitivity on all coefficients of each block.

    Parameters
    ----------
    epsilon, target, label_share, block, levels, bank, order
        See `RowMask`.

    Notes
    -----
    For publishing rows the transform only hurts: the noise on a cell is K = 2.2011206 times that of
    Laplace noise on the cells themselves, which `perturb` adds. It is here for the sake of the paper;
    ``docs/guides/publish.md`` says what to use instead.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(x=dp.Real(0, 1), y=dp.Categorical("no", "yes"))
    >>> ledger = dp.Ledger(limit=dp.PureDP(8), unit=dp.REPLACE_ONE)
    >>> data = dp.PrivateDataset({"x": [0.2, 0.4], "y": ["no", "yes"]}, schema, ledger=ledger)
    >>> sorted(WaveletLaplace(8, target="y").publish(data))
    ['x', 'y']

    Privacy
    -------
    ε-DP under replace-one with one row per person, for the whole row, label included. Bounds are those of
    the schema; NaN and missing numbers count as the schema says, an unknown category as the first one. The
    event is `DiscreteLaplace` on integer coefficients with `RandomizedResponse` for each column of
    categories. Proof page: ``docs/proofs/masks.md``.
    """

    def _release(self, columns: int, share: Fraction) -> Release:
        return AdditiveRelease.plan(self.bank, self.block, self.levels, columns, Laplace(share))


@final
@dataclass(frozen=True)
class WaveletGaussian(RowMask):
    """Gaussian noise on all coefficients of each block.

    Parameters
    ----------
    epsilon, target, label_share, block, levels, bank, order
        See `RowMask`.
    delta : number
        Above 0; spent on the numbers.

    Notes
    -----
    An orthogonal transform doesn't change the L2 sensitivity: the noise is that of Gaussian noise on the
    cells themselves. The transform neither helps nor hurts.

    Privacy
    -------
    (ε, δ)-DP under replace-one with one row per person; else as `WaveletLaplace`, with the event `Gaussian`.
    Proof page: ``docs/proofs/masks.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.publish.masks import WaveletGaussian
    >>> ledger = dp.Ledger(limit=dp.ApproxDP(8, 1e-6), unit=dp.REPLACE_ONE)
    >>> data = dp.PrivateDataset({"x": [0.2, 0.4]}, dp.Schema(x=dp.Real(0, 1)), ledger=ledger)
    >>> WaveletGaussian(8, delta=1e-6).publish(data)["x"].shape
    (2,)
    """

    delta: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta is None:
            raise ValueError("delta must be given, as in WaveletGaussian(1, delta=1e-6).")

    def _delta(self) -> Any:
        return self.delta

    def _release(self, columns: int, share: Fraction) -> Release:
        mechanism = Gaussian(share, self.delta)
        return AdditiveRelease.plan(self.bank, self.block, self.levels, columns, mechanism)


@final
@dataclass(frozen=True)
class WaveletApproximation(RowMask):
    """LS repaired: Laplace noise on the approximation band, the detail bands dropped.

    Parameters
    ----------
    epsilon, target, label_share, block, levels, bank, order
        See `RowMask`. Give ``order="position"`` where neighbouring rows are alike, such as in time: what
        comes out is smoothed over them.

    Notes
    -----
    Numbers come out smoothed, over a random order to nearly their mean. For summaries over time, a
    histogram or sums by interval have less noise by far.

    Privacy
    -------
    As `WaveletLaplace`, with the sensitivity of the approximation band: K_A = 0.8692223 times a column's
    range for the default bank. Proof page: ``docs/proofs/masks.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.publish.masks import WaveletApproximation
    >>> ledger = dp.Ledger(limit=dp.PureDP(8), unit=dp.REPLACE_ONE)
    >>> data = dp.PrivateDataset({"x": [0.2, 0.4]}, dp.Schema(x=dp.Real(0, 1)), ledger=ledger)
    >>> masked = WaveletApproximation(8).publish(data)
    >>> masked["x"].shape
    (2,)
    """

    def _release(self, columns: int, share: Fraction) -> Release:
        kept = self.block // self.bank.bands**self.levels
        return AdditiveRelease.plan(
            self.bank, self.block, self.levels, columns, Laplace(share), kept
        )
