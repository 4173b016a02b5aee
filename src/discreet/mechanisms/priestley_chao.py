"""Priestley–Chao kernel regression as a sum of bounded integer contributions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
import numpy.typing as npt

from discreet.coding import Sensitivity
from discreet.mechanisms.bernstein import Bernstein, PolynomialFunction
from discreet.mechanisms.distributions import Integers
from discreet.mechanisms.local.domain import reals_of
from discreet.rational import Number, as_integer, positive, rational

__all__ = ["PriestleyChao"]

Floats = npt.NDArray[np.float64]

_CHUNK = 2**14


@lru_cache(maxsize=64)
def _maximum_kernels(bandwidth: Fraction, packed: bytes) -> float:
    """A bound, for all x in [0, 1], on the sum over nodes p of exp(-((x - p)/bandwidth)²/2)."""
    nodes, width = np.frombuffer(packed, np.float64), float(bandwidth)
    # the largest sum is at an end or where the slope is 0; from there to the nearest of these points
    # it falls by at most (half a step)²/2 times the largest second derivative, 1/bandwidth² a node
    steps = 16 * len(nodes)
    at = np.linspace(0.0, 1.0, steps + 1)
    sums = np.exp(-(((at[:, None] - nodes[None, :]) / width) ** 2) / 2).sum(axis=1)
    slack = len(nodes) / width**2 / steps**2 / 8 + 1e-9 * len(nodes)
    return min(float(len(nodes)), float(sums.max()) + slack)


@final
@dataclass(frozen=True)
class PriestleyChao:
    """The regression function of y on x in [0, 1], smoothed by a Gaussian kernel.

    m(x) = (1/(n·bandwidth))·Σ y_i·φ((x - x_i)/bandwidth), with the spacing 1/n of an even design in
    place of the gaps between the x_i (Priestley & Chao 1972; Benedetti 1977). For x spread evenly over
    [0, 1] it estimates E[y | x]; else that times the density of x.

    Parameters
    ----------
    lower, upper : number
        Public bounds; y is clamped to them.
    bandwidth : number
        Public.
    resolution : int
        Contributions are counted in steps of 1/resolution.

    Privacy
    -------
    Replace-one with public n; both x and y are private. Each row adds to every node an integer between
    two public ones, and the absolute values of a row add up to at most a public number: `sensitivity`.
    x outside [0, 1] is clamped to it, NaN counts as the middle. The sums are exact.
    Proof page: ``docs/proofs/bernstein.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import mechanisms
    >>> x = (np.arange(2000) + 0.5) / 2000
    >>> smoother = mechanisms.PriestleyChao(0, 1, bandwidth="0.1")
    >>> curve = smoother.fit(x, x**2, mechanisms.Bernstein(mechanisms.Laplace(2), degree=10))
    >>> bool(abs(curve([[0.5]]).item() - 0.25) < 0.1)
    True
    """

    lower: Fraction
    upper: Fraction
    bandwidth: Fraction
    resolution: int = 2**20

    def __init__(
        self, lower: Number, upper: Number, bandwidth: Number = "0.1", resolution: int = 2**20
    ) -> None:
        object.__setattr__(self, "lower", rational(lower, "lower"))
        object.__setattr__(self, "upper", rational(upper, "upper"))
        object.__setattr__(self, "bandwidth", positive(bandwidth, "bandwidth"))
        object.__setattr__(self, "resolution", as_integer(resolution, "resolution", minimum=1))
        if not self.lower < self.upper:
            raise ValueError("lower must be less than upper.")
        if max(abs(self.lower), abs(self.upper)) * self.resolution > 2**40:
            raise ValueError("the bounds are too wide for this resolution: use a smaller one.")

    def _limits(self) -> tuple[int, int]:
        """The smallest and the largest contribution to one node; 0 lies between them."""
        low = math.floor(min(Fraction(0), self.lower) * self.resolution)
        return low, math.ceil(max(Fraction(0), self.upper) * self.resolution)

    def _maximum(self, nodes: Floats) -> int:
        """The largest sum over all nodes of one row's absolute contributions."""
        low, high = self._limits()
        kernels = _maximum_kernels(self.bandwidth, nodes.tobytes())
        return math.ceil(max(-low, high) * Fraction(kernels)) + len(nodes)

    def contributions(self, x: npt.ArrayLike, y: npt.ArrayLike, nodes: Floats) -> Integers:
        """What each row adds to each node: a function of only that row, within the public limits."""
        places = np.clip(np.nan_to_num(reals_of(x), nan=0.5), 0.0, 1.0)
        bounds = float(self.lower), float(self.upper)
        middle = (bounds[0] + bounds[1]) / 2
        heights = np.clip(np.nan_to_num(reals_of(y), nan=middle), *bounds)
        far = (places[:, None] - nodes[None, :]) / float(self.bandwidth)
        coded = np.rint(np.exp(-(far**2) / 2) * heights[:, None] * self.resolution)
        low, high = self._limits()
        kept: Integers = np.clip(coded, low, high).astype(np.int64)
        # never needed while `_maximum` is right; whatever floats do, the limit holds
        kept[np.abs(kept).sum(axis=1) > self._maximum(nodes)] = 0
        return kept

    def totals(self, x: npt.ArrayLike, y: npt.ArrayLike, nodes: Floats) -> Integers:
        """The sums over all rows, before noise."""
        places, heights = reals_of(x).ravel(), reals_of(y).ravel()
        if places.shape != heights.shape:
            raise ValueError("x and y must have the same length.")
        if len(places) > 2**21:
            raise ValueError("x and y must have at most 2^21 rows, so that sums stay within int64.")
        total: Integers = np.zeros(len(nodes), np.int64)
        for start in range(0, len(places), _CHUNK):
            part = slice(start, start + _CHUNK)
            total += self.contributions(places[part], heights[part], nodes).sum(axis=0)
        return total

    def sensitivity(self, nodes: Floats) -> Sensitivity:
        """How far the totals of two neighbours can be apart, replacing one row."""
        low, high = self._limits()
        l1 = min((high - low) * len(nodes), 2 * self._maximum(nodes))
        return Sensitivity(l1, min(len(nodes) * (high - low) ** 2, (high - low) * l1))

    def supremum_sensitivity(self, n: int) -> Fraction:
        """How far one value of the function can move, replacing one of n rows."""
        low, high = self._limits()
        return (high - low) * self._unit(n)

    def _unit(self, n: int) -> Fraction:
        """What one step of a total is worth: 1/(resolution·n·bandwidth·√(2π))."""
        scale = self.bandwidth * Fraction(math.sqrt(2 * math.pi))
        return 1 / (self.resolution * as_integer(n, "n", minimum=1) * scale)

    def fit(self, x: npt.ArrayLike, y: npt.ArrayLike, mechanism: Bernstein) -> PolynomialFunction:
        """Release the private regression function; the number of rows is public."""
        nodes = self._nodes(mechanism)
        totals = self.totals(x, y, nodes)
        return mechanism.run_coded(totals, self.sensitivity(nodes), self._unit(reals_of(x).size))

    def exact(self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike) -> Floats:
        """The regression function without noise, at points: **not private**, for comparisons."""
        unit = float(self._unit(reals_of(x).size))
        return np.asarray(self.totals(x, y, np.asarray(at, float).ravel()) * unit, np.float64)

    def expected_error(self, n: int, mechanism: Bernstein) -> float:
        """The root mean square of what the noise adds to the released function."""
        sensitivity = self.sensitivity(self._nodes(mechanism))
        return mechanism.expected_error(sensitivity, self._unit(n))

    def _nodes(self, mechanism: Bernstein) -> Floats:
        if mechanism.dimension != 1:
            raise ValueError("mechanism must have dimension=1: this regression has one argument.")
        return mechanism.nodes[:, 0]
