"""Convex C² losses of margins, with the constants that their privacy rests on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import expit

Floats = npt.NDArray[np.float64]


class Loss(ABC):
    """A loss of the margins m = Wx of one row, and of its target.

    Attributes
    ----------
    outputs : int
        The number of margins of a row: the rows of W.
    slope, slope_squared : Fraction
        Bounds on the L1 norm and the squared L2 norm of the gradient in m.
    rank, trace : int, Fraction
        Bounds on the rank and the trace of the Hessian in m, which is positive semi-definite.
    bend : Fraction
        A Lipschitz constant of the Hessian in m; only how long the solver can take depends on it.
    ways, has_zero : int, bool
        The gradient lies in a polytope of `ways` vertices besides 0, which is a vertex if `has_zero`.
    relative : bool
        Whether only differences of margins count.
    of_residuals : bool
        Whether margins are compared with a number, in half-widths of its bounds.

    Privacy
    -------
    All of them are proved in ``docs/proofs/erm.md`` and depend on nothing but public parameters.
    """

    outputs: int = 1
    slope: Fraction = Fraction(1)
    slope_squared: Fraction = Fraction(1)
    rank: int = 1
    trace: Fraction
    bend: Fraction
    ways: int = 1
    has_zero: bool = True
    relative: bool = False
    of_residuals: bool = False

    @abstractmethod
    def gradient(self, margins: Floats, target: Floats) -> Floats:
        """∂ℓ/∂m of each row, shape (n, outputs)."""

    @abstractmethod
    def curvature(self, margins: Floats, target: Floats) -> Floats:
        """∂²ℓ/∂m² of each row: (n,) where outputs are separate or single, else (n, outputs, outputs)."""


def smooth_step(u: Floats) -> Floats:
    """0 up to -1, 1 from 1 on, and between them the integral of the tent 1 - |u|: C¹."""
    u = np.clip(u, -1.0, 1.0)
    return np.where(u <= 0, 0.5 * (1.0 + u) ** 2, 1.0 - 0.5 * (1.0 - u) ** 2)


def tent(u: Floats) -> Floats:
    """The derivative of `smooth_step`."""
    return np.maximum(0.0, 1.0 - np.abs(u))


def _signs(target: Floats, outputs: int) -> Floats:
    """±1 for each output: whether it is the row's class (two classes have one output)."""
    if outputs == 1:
        return np.where(target > 0, 1.0, -1.0)[:, None]
    return np.where(target[:, None] == np.arange(outputs), 1.0, -1.0)


@final
class Logistic(Loss):
    """log(1 + exp(-sm)), s = ±1 the class: slope 1, ℓ'' ≤ 1/4."""

    trace = Fraction(1, 4)
    bend = Fraction(1, 10)  # 1/(6√3)

    def gradient(self, margins: Floats, target: Floats) -> Floats:
        signs = _signs(target, 1)
        return np.asarray(-signs * expit(-signs * margins))

    def curvature(self, margins: Floats, target: Floats) -> Floats:
        return np.asarray(expit(margins[:, 0]) * expit(-margins[:, 0]))


@final
class Softmax(Loss):
    """-log softmax(m)_y: gradient p - e_y, Hessian diag(p) - ppᵀ."""

    relative = True

    def __init__(self, classes: int) -> None:
        self.outputs = classes
        self.slope, self.slope_squared = Fraction(2), Fraction(2)
        self.rank, self.trace = classes - 1, 1 - Fraction(1, classes)
        # the third derivative along a unit u is the third central moment of u under p: at most 2^(-1/2)
        self.bend = Fraction(1)
        self.ways = classes - 1

    def gradient(self, margins: Floats, target: Floats) -> Floats:
        p = self._shares(margins)
        p[np.arange(len(p)), target.astype(np.intp)] -= 1.0
        return p

    def curvature(self, margins: Floats, target: Floats) -> Floats:
        p = self._shares(margins)
        return np.asarray(p[:, :, None] * (np.eye(self.outputs) - p[:, None, :]))

    @staticmethod
    def _shares(margins: Floats) -> Floats:
        weights = np.exp(margins - margins.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@final
class SmoothHinge(Loss):
    """The hinge max(0, 1 - sm), its corner spread over 1 ± width: slope 1, ℓ'' a tent of height 1/width.

    With more than two classes, the sum over classes, each against the others.
    """

    def __init__(self, width: Any = 1, classes: int = 2) -> None:
        self.width = Fraction(width)
        self.outputs = 1 if classes == 2 else classes
        self.slope = self.slope_squared = Fraction(self.outputs)
        self.rank, self.trace = self.outputs, self.outputs / self.width
        self.bend = 1 / self.width**2
        self.ways = 2**self.outputs - 1

    def gradient(self, margins: Floats, target: Floats) -> Floats:
        signs = _signs(target, self.outputs)
        return np.asarray(-signs * smooth_step((1.0 - signs * margins) / float(self.width)))

    def curvature(self, margins: Floats, target: Floats) -> Floats:
        signs = _signs(target, self.outputs)
        found = tent((1.0 - signs * margins) / float(self.width)) / float(self.width)
        return found[:, 0] if self.outputs == 1 else found[:, :, None] * np.eye(self.outputs)


@final
class Insensitive(Loss):
    """max(0, |m - t| - margin), its corners spread over ± width: slope 1."""

    ways, has_zero, of_residuals = 2, False, True

    def __init__(self, margin: Any = 0, width: Any = 1) -> None:
        self.margin, self.width = Fraction(margin), Fraction(width)
        # two tents of height 1/width about ±margin, which overlap if margin < width
        self.trace = max(Fraction(1), 2 - 2 * self.margin / self.width) / self.width
        self.bend = 2 / self.width**2

    def _places(self, margins: Floats, target: Floats) -> tuple[Floats, Floats]:
        error = margins - target[:, None]
        width, margin = float(self.width), float(self.margin)
        return (error - margin) / width, (-error - margin) / width

    def gradient(self, margins: Floats, target: Floats) -> Floats:
        up, down = self._places(margins, target)
        return np.asarray(smooth_step(up) - smooth_step(down))

    def curvature(self, margins: Floats, target: Floats) -> Floats:
        up, down = self._places(margins, target)
        return np.asarray((tent(up) + tent(down))[:, 0] / float(self.width))


@final
class HuberSquare(Loss):
    """(m - t)²/2 while |m - t| ≤ width, then ℓ'' falls to 0 at 2·width: slope 3/2·width, ℓ'' ≤ 1."""

    ways, has_zero, of_residuals = 2, False, True

    def __init__(self, width: Any = 1) -> None:
        self.width = Fraction(width)
        self.slope = self.width * 3 / 2
        self.slope_squared = self.slope**2
        self.trace = Fraction(1)
        self.bend = 1 / self.width

    def gradient(self, margins: Floats, target: Floats) -> Floats:
        error, width = margins - target[:, None], float(self.width)
        inside = np.minimum(np.abs(error), width)
        beyond = np.clip(np.abs(error) - width, 0.0, width)
        return np.asarray(np.sign(error) * (inside + beyond - beyond**2 / (2.0 * width)))

    def curvature(self, margins: Floats, target: Floats) -> Floats:
        error, width = np.abs(margins - target[:, None])[:, 0], float(self.width)
        return np.asarray(np.clip(2.0 - error / width, 0.0, 1.0))
