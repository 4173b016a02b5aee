"""Which normal equations are asked for, on which grid: decided by public facts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.columns import Numeric
from discreet.measures import Measure
from discreet.mechanisms import mechanism_for
from discreet.models.facts import Facts
from discreet.queries import NormalEquations

Floats = npt.NDArray[np.float64]

#: Grids, finest first. A coarser one is used where the noise would exceed what the samplers can draw.
GRIDS = (15, 12, 9, 6)


@dataclass(frozen=True)
class Scales:
    """Midpoints and half-widths of columns: x = middle + half·u."""

    middle: Floats
    half: Floats

    @classmethod
    def of(cls, columns: tuple[Numeric, ...]) -> Scales:
        """The scales of some columns' declared bounds."""
        half = np.array([column.width / 2 for column in columns])
        return cls(np.array([float(column.lower) for column in columns]) + half, half)

    def divide(self, values: Floats) -> Floats:
        """values/half, and 0 for a column of equal bounds."""
        safe = np.where(self.half > 0, self.half, 1.0)
        with np.errstate(over="ignore"):
            found = np.where(self.half > 0, values / safe, 0.0)
        return np.nan_to_num(found, posinf=1e300, neginf=-1e300)


def equations(
    facts: Facts,
    measure: Measure,
    features: tuple[str, ...],
    target: str | None,
    *,
    square: bool,
    by: str | None = None,
) -> NormalEquations:
    """The query, on the finest grid whose noise can be drawn."""
    for bits in GRIDS:
        query = NormalEquations(features, target, square=square, bits=bits, by=by)
        sensitivity = query.sensitivity(facts.schema, facts.unit)
        try:
            mechanism_for(measure, sensitivity).distribution(sensitivity)
        except ValueError:
            continue
        break
    return query
