"""The Bernstein mechanism: a whole function, released as a polynomial with noisy coefficients."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import comb

from discreet import events
from discreet.coding import Sensitivity
from discreet.mechanisms.additive import AdditiveMechanism
from discreet.mechanisms.distributions import Distribution, Integers
from discreet.rational import Number, as_integer, positive

__all__ = ["Bernstein", "PolynomialFunction", "bernstein_coefficients", "lattice"]

Floats = npt.NDArray[np.float64]

_MAX_NODES = 2**22
_MAX_DEGREE = 500
_LARGEST_VALUE = 2**60


def lattice(degree: int, dimension: int = 1) -> Floats:
    """The (degree + 1)^dimension nodes {0, 1/degree, ..., 1}^dimension, one per row."""
    line = np.arange(degree + 1) / degree
    mesh = np.meshgrid(*[line] * dimension, indexing="ij")
    return np.stack([axis.ravel() for axis in mesh], axis=1)


def _basis(degree: int, x: Floats) -> Floats:
    """The Bernstein basis polynomials at points x of [0, 1]: one row per point."""
    j = np.arange(degree + 1)
    column = np.clip(x, 0.0, 1.0)[:, None]
    return np.asarray(comb(degree, j) * column**j * (1 - column) ** (degree - j), np.float64)


def bernstein_coefficients(values: Floats, degree: int, dimension: int, order: int) -> Floats:
    """The coefficients of the iterated Bernstein polynomial of order h of values on the lattice.

    B^(h) = I - (I - B)^h, so c_1 = f and c_(i+1) = f + c_i - B c_i on the lattice
    (Micchelli 1973; Aldà & Rubinstein 2017).
    """
    at_nodes = _basis(degree, np.arange(degree + 1) / degree)
    function = values.reshape((degree + 1,) * dimension)
    found = function
    for _ in range(order - 1):
        smoothed = found
        for axis in range(dimension):
            smoothed = np.moveaxis(np.tensordot(at_nodes, smoothed, (1, axis)), 0, axis)
        found = function + found - smoothed
    return np.asarray(found, np.float64)


@final
@dataclass(frozen=True, eq=False)
class PolynomialFunction:
    """A polynomial on [0, 1]^dimension in the Bernstein basis, as released.

    Privacy
    -------
    Made of noisy numbers only, so it may be evaluated, plotted, pickled and published.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import mechanisms
    >>> line = mechanisms.PolynomialFunction(np.array([0.0, 1.0]))  # f(x) = x
    >>> line.degree, line.dimension
    (1, 1)
    >>> line([[0.25], [0.5]]).ravel()
    array([0.25, 0.5 ])
    """

    coefficients: Floats

    @property
    def dimension(self) -> int:
        """How many arguments it takes."""
        return int(self.coefficients.ndim)

    @property
    def degree(self) -> int:
        """The degree in each argument."""
        return int(self.coefficients.shape[0]) - 1

    def __call__(self, x: npt.ArrayLike) -> Floats:
        """The values at points x: numbers or an array of them for one argument, else rows of points."""
        points = np.asarray(x, float)
        rows = points.reshape(-1, self.dimension)
        # the first axis is summed as a matrix product, the others point by point
        total = _basis(self.degree, rows[:, 0]) @ self.coefficients.reshape(self.degree + 1, -1)
        for axis in range(1, self.dimension):
            total = total.reshape(len(rows), self.degree + 1, -1)
            total = np.einsum("pj,pjr->pr", _basis(self.degree, rows[:, axis]), total)
        shape = points.shape if self.dimension == 1 else points.shape[:-1]
        return np.asarray(total.reshape(shape), np.float64)

    def grid(self, points: int = 200) -> tuple[Floats, Floats]:
        """What `plot` shows: arguments on a line (or a square grid) and the values there."""
        line = np.linspace(0.0, 1.0, as_integer(points, "points", minimum=2))
        if self.dimension == 1:
            return line, self(line)
        if self.dimension == 2:
            mesh = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
            return mesh, self(mesh)
        raise ValueError("only functions of one or two arguments can be plotted; fix the others.")

    def plot(self, ax: Any = None, points: int = 200) -> Any:
        """Draw the function with matplotlib (``pip install discreet[report]``); returns the axes."""
        where, values = self.grid(points)
        if ax is None:
            ax = importlib.import_module("matplotlib.pyplot").gca()
        if self.dimension == 1:
            ax.plot(where, values)
        else:
            ax.contourf(where[..., 0], where[..., 1], values)
        return ax


@final
class Bernstein:
    """Release a whole function on [0, 1]^dimension through noisy values on a lattice.

    Parameters
    ----------
    noise : AdditiveMechanism
        `mechanisms.Laplace(epsilon)`, or `mechanisms.Gaussian` for (ε, δ) or ρ.
    degree : int
        k: the lattice has (k + 1)^dimension nodes.
    dimension : int
    order : int
        h: how often the Bernstein operator is iterated. A higher order follows a smooth function more
        closely, and carries more of the noise.
    resolution : number
        A public power of two: node values are counted in steps of 1/resolution.

    Privacy
    -------
    What the noise gives, if no value of the function moves by more than the stated sensitivity, anywhere:
    Laplace noise of scale sensitivity·(k + 1)^dimension/ε on each node (Aldà & Rubinstein
    2017), or Gaussian noise for the L2 sensitivity · (k + 1)^(dimension/2). A target that sums rows
    may know a smaller L1 or L2 sensitivity of its node values. Evaluation is post-processing.
    Proof page: ``docs/proofs/bernstein.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import mechanisms
    >>> age_curve = lambda nodes: np.sin(3 * nodes[:, 0])  # of private rows, in practice
    >>> released = mechanisms.Bernstein(mechanisms.Laplace(1), degree=8).run(age_curve, "1/1000")
    >>> bool(abs(released([[0.5]]).item() - np.sin(1.5)) < 0.3)
    True
    """

    def __init__(
        self,
        noise: AdditiveMechanism,
        degree: int = 25,
        dimension: int = 1,
        order: int = 1,
        resolution: int = 2**20,
    ) -> None:
        if not isinstance(noise, AdditiveMechanism):
            raise TypeError("noise must be a mechanism such as mechanisms.Laplace(epsilon).")
        self.noise = noise
        self.degree = as_integer(degree, "degree", minimum=1)
        self.dimension = as_integer(dimension, "dimension", minimum=1)
        self.order = as_integer(order, "order", minimum=1)
        self.resolution = as_integer(resolution, "resolution", minimum=1)
        if self.resolution & (self.resolution - 1):
            raise ValueError("resolution must be a power of two: scaling by it is then exact.")
        if self.degree > _MAX_DEGREE or (self.degree + 1) ** self.dimension > _MAX_NODES:
            raise ValueError("the lattice is too large: at most degree 500 and 2^22 nodes.")

    @property
    def nodes(self) -> Floats:
        """The points at which the function is asked for."""
        return lattice(self.degree, self.dimension)

    def sensitivity(self, supremum: Number) -> Sensitivity:
        """The sensitivity of the coded node values, if no value moves by more than `supremum`."""
        moved = math.ceil(positive(supremum, "supremum") * self.resolution)
        count = (self.degree + 1) ** self.dimension
        return Sensitivity(moved * count, moved**2 * count)

    def event(self, sensitivity: Sensitivity) -> events.Event:
        """The event of a release, for the accountant."""
        return self.distribution(sensitivity).event(sensitivity)

    def distribution(self, sensitivity: Sensitivity) -> Distribution:
        """The noise on each coded node value."""
        return self.noise.distribution(sensitivity)

    def run(
        self, function: Callable[[Floats], npt.ArrayLike], supremum: Number
    ) -> PolynomialFunction:
        """Release `function`, whose computed values move by at most `supremum` between neighbours.

        `function` takes the nodes, one per row, and gives a value for each. NaN counts as 0.
        """
        values = np.asarray(function(self.nodes), float).reshape(-1)
        if values.size != (self.degree + 1) ** self.dimension:
            raise ValueError("function must give one value for each row of nodes.")
        limit = _LARGEST_VALUE / self.resolution
        clamped = np.clip(np.nan_to_num(values, posinf=limit, neginf=-limit), -limit, limit)
        coded = np.floor(clamped * self.resolution).astype(np.int64)
        return self.run_coded(coded, self.sensitivity(supremum), Fraction(1, self.resolution))

    def run_coded(
        self, coded: Integers, sensitivity: Sensitivity, unit: Fraction
    ) -> PolynomialFunction:
        """Release integer node values, each worth `unit`, with a sensitivity of their own."""
        noisy = self.distribution(sensitivity).run(coded).astype(float) * float(unit)
        return PolynomialFunction(
            bernstein_coefficients(noisy, self.degree, self.dimension, self.order)
        )

    def expected_error(self, sensitivity: Sensitivity, unit: Number | None = None) -> float:
        """The root mean square, over [0, 1]^dimension, of what the noise adds to the polynomial.

        How far the polynomial differs from the function is not included. It is computed on a grid of 201
        points for each argument, all of the same weight.
        """
        step = Fraction(1, self.resolution) if unit is None else positive(unit, "unit")
        points = _basis(self.degree, np.linspace(0, 1, 201))
        squares = np.mean(self._smoother(points) ** 2, axis=0).sum()
        deviation = self.distribution(sensitivity).expected_error() * float(step)
        return deviation * math.sqrt(float(squares))

    def _smoother(self, points: Floats) -> Floats:
        """The weight of each node at grid points, for all arguments together."""
        if self.dimension > 1 and self.order > 1:
            raise ValueError("expected_error is known for one argument, or for order 1.")
        if self.dimension == 1:
            identity = np.eye(self.degree + 1)
            return points @ np.stack(
                [bernstein_coefficients(row, self.degree, 1, self.order) for row in identity],
                axis=1,
            )
        # for order 1 the weights are products, and so is their mean square
        power = float(np.mean(points**2, axis=0).sum()) ** self.dimension
        return np.array([[math.sqrt(power)]])
