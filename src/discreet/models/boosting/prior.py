"""What is expected of shapes before anything is asked, and what noise leaves of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: The variance of a shape's values about 0, in units of a score (of the target's standard deviation).
SPREAD = 0.49
#: With more columns than this, each is expected to say less.
MANY_COLUMNS = 10


@final
@dataclass(frozen=True)
class Shrinkage:
    """From what residuals ask for to posterior means: a linear map for each output.

    Attributes
    ----------
    matrices : array of shape (outputs, cells, cells), or (cells, outputs) where cells are taken one by one
    errors : array of shape (cells, outputs)
        The standard deviation of the noise in what comes out.
    """

    matrices: Floats
    errors: Floats

    def apply(self, wanted: Floats) -> Floats:
        """The posterior means of values, given those that residuals ask for."""
        if self.matrices.ndim == 2:
            return self.matrices * wanted
        return np.asarray(np.einsum("kij,jk->ik", self.matrices, wanted))


@final
@dataclass(frozen=True)
class Prior:
    """Shapes are centred at 0 with a variance; neighbours in order differ by little.

    Attributes
    ----------
    variance : float
        The variance of a value, in squared units of `scale`.
    scale : float
        1 for classes; for numbers the target's standard deviation.
    """

    variance: float
    scale: float = 1.0

    @classmethod
    def of(cls, columns: int, scale: float = 1.0) -> Prior:
        """The prior for this many columns."""
        return cls(SPREAD / max(1.0, columns / MANY_COLUMNS) ** 0.5, scale)

    def shrinkage(self, curvature: Floats, noise: float, is_ordered: bool) -> Shrinkage:
        """What is left of an answer with noise of this deviation.

        Values that residuals ask for vary by 1/B from table to table and by noise²/B² from noise, B the
        curvature; a posterior mean weighs them against the prior (a Wiener filter). Values of neighbours are
        a random walk of variance 2 from end to end, less a pull towards 0.
        """
        exact: Floats = np.square(curvature) / (curvature + (noise / self.scale) ** 2)
        if not is_ordered:
            kept: Floats = exact / (exact + 1 / self.variance)
            return Shrinkage(kept, np.asarray(kept * noise / curvature))
        cells = len(curvature)
        walk = 2 * np.eye(cells) - np.eye(cells, k=1) - np.eye(cells, k=-1)
        walk[0, 0] = walk[-1, -1] = 1.0
        precision = (cells - 1) / (2 * self.variance) * walk + np.eye(cells) / (4 * self.variance)
        diagonal = exact.T[:, :, None] * np.eye(cells)
        matrices: Floats = np.asarray(np.linalg.solve(diagonal + precision, diagonal), np.float64)
        noised = matrices * (noise / curvature.T)[:, None, :]
        return Shrinkage(matrices, np.sqrt(np.square(noised).sum(axis=2)).T)


def centre(values: Floats, rows: Floats) -> Floats:
    """Shift values to mean 0 over the rows."""
    return np.asarray(values - (rows[:, None] * values).sum(axis=0) / rows.sum())
