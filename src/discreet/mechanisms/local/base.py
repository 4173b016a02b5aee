"""What local mechanisms have in common: each person randomises a value before anybody else sees it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.events import Event
from discreet.measures import PureDP
from discreet.mechanisms.local.domain import Categories, Floats, Integers
from discreet.rational import as_integer

Array = npt.NDArray[Any]


@final
@dataclass(frozen=True)
class Estimate:
    """What the reports say about all values together.

    Attributes
    ----------
    values : ndarray
        Unbiased; shares of a small group may be below 0 or above 1.
    stderr : ndarray
        The standard error that the randomisation adds, with the values taken as given.
    n : int
        The number of reports.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> survey = mechanisms.RandomizedResponse(1)
    >>> found = survey.estimate(survey.randomize([True] * 3_000 + [False] * 7_000))
    >>> found.n, bool(abs(found.values[-1] - 0.3) < 5 * found.stderr[-1])
    (10000, True)
    """

    values: Floats
    stderr: Floats
    n: int

    def project(self) -> Floats:
        """The shares nearest to `values` that are at least 0 and add up to 1."""
        return project_onto_simplex(self.values)


def project_onto_simplex(values: npt.ArrayLike) -> Floats:
    """The point of the probability simplex nearest to `values`, in Euclidean distance.

    max(v - t, 0) with the t for which it sums to 1 (Held, Wolfe & Crowder 1974), by sorting.
    It is post-processing, and never farther from any true distribution than `values` were.
    """
    v = np.asarray(values, np.float64)
    if v.ndim != 1 or not v.size or not np.all(np.isfinite(v)):
        raise ValueError("values must be a flat array of finite numbers, not empty.")
    falling = np.sort(v)[::-1]
    excess = np.cumsum(falling) - 1.0
    kept = np.arange(1, v.size + 1)
    last = int(np.flatnonzero(falling * kept > excess)[-1])
    shares: Floats = np.maximum(v - excess[last] / (last + 1), 0.0)
    return shares


class LocalMechanism(ABC):
    """A channel that each person applies to one value of a public domain.

    Privacy
    -------
    Local: for any two values of the domain, no report is more than e^ε times as likely under one as under
    the other (Kasiviswanathan et al. 2011). Nobody has to be trusted; there is no data set.

    Examples
    --------
    >>> from discreet import mechanisms
    >>> survey = mechanisms.RandomizedResponse(1)
    >>> isinstance(survey, mechanisms.LocalMechanism), survey.measure
    (True, PureDP(epsilon=1))
    >>> reports = survey.randomize([True, False, True])  # in the hands of each person
    >>> reports.shape
    (3,)
    """

    epsilon: Fraction

    @property
    def measure(self) -> PureDP:
        """The guarantee of one report."""
        return PureDP(self.epsilon)

    @abstractmethod
    def event(self) -> Event:
        """The event of one report, for the accountant."""

    @abstractmethod
    def randomize(self, values: Any) -> Array:
        """Draw one report for each value. No value makes it raise, or changes a shape."""

    @abstractmethod
    def estimate(self, reports: npt.ArrayLike) -> Estimate:
        """Estimate the values from the reports, without bias."""


class FrequencyMechanism(LocalMechanism):
    """A channel on k values whose reports each support some of the values.

    The true value is supported with probability p, each other one with probability q; the share of the
    reports that support a value is then q + (p - q)·share (Wang, Blocki, Li & Jha 2017).
    """

    domain: Categories

    @property
    def k(self) -> int:
        """The number of values."""
        return self.domain.k

    @property
    @abstractmethod
    def chances(self) -> tuple[Fraction, Fraction]:
        """p and q, exactly as drawn."""

    @abstractmethod
    def supports(self, reports: npt.ArrayLike) -> tuple[Integers, int]:
        """The number of reports that support each value, and the number of reports."""

    def estimate(self, reports: npt.ArrayLike) -> Estimate:
        """Estimate the share of each value, without bias, and its standard error.

        Parameters
        ----------
        reports : array
            As `randomize` gave them. Without any report the shares are 1/k, with infinite errors.
        """
        counts, n = self.supports(reports)
        if n == 0:
            return Estimate(np.full(self.k, 1 / self.k), np.full(self.k, math.inf), 0)
        p, q = map(float, self.chances)
        shares = (counts / n - q) / float(self.chances[0] - self.chances[1])
        return Estimate(shares, self._stderr(np.clip(shares, 0.0, 1.0), n, p, q), n)

    def _stderr(self, shares: Floats, n: int, p: float, q: float) -> Floats:
        noise = shares * p * (1 - p) + (1 - shares) * q * (1 - q)
        errors: Floats = np.sqrt(noise / n) / (p - q)
        return errors

    def expected_error(self, n: int, share: float = 0.0) -> float:
        """The standard error of the estimated share of a value that has this share among n values."""
        as_integer(n, "n", minimum=1)
        p, q = map(float, self.chances)
        return float(self._stderr(np.array([_share(share)]), n, p, q)[0])

    def mean_squared_error(self, n: int, shares: npt.ArrayLike) -> float:
        """E‖estimate - shares‖² when n values are drawn from `shares` and then randomised.

        Σ P(1-P)/(n(p-q)²) with P = q + (p-q)·share: Ferrari 2022, equation (2.4), for `k`-ary
        randomised response, where p - q = (e^ε - 1)/(e^ε + k - 1).
        """
        as_integer(n, "n", minimum=1)
        p, q = map(float, self.chances)
        supported = q + (p - q) * np.asarray(shares, np.float64)
        if supported.shape != (self.k,):
            raise ValueError(f"shares must be {self.k} numbers.")
        return float(np.sum(supported * (1 - supported))) / (n * (p - q) ** 2)


def _share(share: float) -> float:
    if not 0 <= share <= 1:
        raise ValueError(f"share must be between 0 and 1, got {share!r}.")
    return float(share)


def codes_of_reports(reports: npt.ArrayLike, k: int) -> Integers:
    """Check reports that are codes below k, flat. Reports are public, so bad ones may raise."""
    array = np.asarray(reports)
    if array.dtype.kind not in "biu" and array.size:
        raise TypeError(f"reports must be whole numbers, not {array.dtype}.")
    flat = array.ravel().astype(np.int64)
    if flat.size and not (flat.min() >= 0 and flat.max() < k):
        raise ValueError(f"reports must lie between 0 and {k - 1}.")
    return flat
