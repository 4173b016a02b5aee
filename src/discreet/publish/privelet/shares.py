"""How a budget is split over levels so that a workload is answered best: from public facts alone.

The error of a workload is Σ E/λ over the lattice, E the mean energy of its queries in each product of levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from discreet.publish.privelet.axes import Axis
from discreet.publish.privelet.lattice import outer, precision_of_nodes

__all__ = [
    "as_fractions",
    "contrast_precisions",
    "contrast_shares",
    "node_precisions",
    "node_shares",
    "own_share",
]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: Rounds of the search for a split; after fifty the error changes in the fifth digit.
ROUNDS = 100
#: Levels of nodes with a smaller share are not measured at all.
MIN_SHARE = 1e-3
#: Shares of a budget are multiples of 2^-20.
GRID = 2**20


def own_share(axes: Sequence[Axis]) -> Floats:
    """The diagonal of Q ⊗ ... ⊗ Q at each place of the lattice; the same for every cell."""
    return outer([np.diff(1 / np.array(axis.sizes, np.float64), prepend=0.0) for axis in axes])


def _least(axes: Sequence[Axis], energies: Floats, costs: Floats, power: int) -> Floats:
    """Shares x of 1 with the least Σ E/λ, where the node counts of a level have precision (x/costs)^power.

    For Laplace noise (power 2) there are local minima: of those reached from several starts, the best.
    """
    found = [_climb(axes, energies, costs, power, start) for start in _starts(np.isfinite(costs))]
    return min(found, key=lambda x: _error(axes, energies, _precision(x, costs, power)))


def _precision(x: Floats, costs: Floats, power: int) -> Floats:
    return np.where(x > 0, (x / costs) ** power, 0.0)


def _error(axes: Sequence[Axis], energies: Floats, precision: Floats) -> float:
    return float((energies / precision_of_nodes(axes, precision)).sum())


def _starts(usable: Flags) -> list[Floats]:
    """All levels alike; for several columns also cubes of all sizes, and strips of the largest width."""
    found = [usable.astype(np.float64)]
    if usable.ndim > 1 and min(usable.shape) > 1:
        places = np.zeros(usable.shape)
        last = [length - 1 for length in usable.shape]
        for step in np.linspace(0, 1, max(usable.shape))[1:]:
            places[tuple(round(step * end) for end in last)] = 1
        for corner in product(*({1, end} for end in last)):
            places[corner] = 1
        found.append(places * usable)
    return found


def _climb(
    axes: Sequence[Axis], energies: Floats, costs: Floats, power: int, start: Floats
) -> Floats:
    """Shares at a local minimum, where the slope of the error is the same in every share that is not 0.

    Each round moves the shares towards that; levels that get next to nothing are left out.
    """
    sizes = outer([np.array(axis.sizes, np.float64) for axis in axes])
    gains = sizes * np.where(np.isfinite(costs), costs, 1.0) ** -float(power)
    x = start / start.sum()
    for round_ in range(ROUNDS):
        slope = energies / precision_of_nodes(axes, _precision(x, costs, power)) ** 2
        for place in range(slope.ndim):
            slope = np.cumsum(slope, axis=place)
        x = np.asarray(x * (slope * gains * x ** (power - 1)) ** (1 / (power + 1)))
        x /= x.sum()
        if round_ in (ROUNDS // 2, ROUNDS - 1):
            small = x < MIN_SHARE
            small[(-1,) * x.ndim] = False  # without the cells themselves there would be no estimate
            x = np.where(small, 0.0, x)
            x /= x.sum()
    return np.asarray(x)


def node_shares(axes: Sequence[Axis], energies: Floats, moved: Floats) -> Floats:
    """Shares of ε for node counts with Laplace noise; `moved` is how far a person moves each level in L1."""
    return _least(axes, energies, np.where(moved > 0, moved, np.inf), 2)


def node_precisions(axes: Sequence[Axis], energies: Floats, usable: Flags) -> Floats:
    """Precisions that add up to 1 for node counts with Gaussian noise."""
    return _least(axes, energies, np.where(usable, 1.0, np.inf), 1)


def contrast_shares(energies: Floats, moved: Floats, norms: Floats) -> Floats:
    """Shares of ε for coefficients with Laplace noise: ε_l ∝ (E_l·moved²/norm²)^(1/3), which is the best."""
    x = np.cbrt(energies * moved**2 / norms)
    return np.asarray(np.maximum(x / x.sum(), 2 / GRID) * (moved > 0))


def contrast_precisions(axes: Sequence[Axis], energies: Floats) -> Floats:
    """Precisions λ of orthonormal coefficients with Gaussian noise: λ_l ∝ (E_l/diagonal of Q_l)^(1/2)."""
    own = own_share(axes)
    found = np.sqrt(energies / own)
    return np.asarray(found / (found * own).sum())


def as_fractions(shares: Floats) -> list[Fraction]:
    """Multiples of 2^-20 that add up to exactly 1: rounded down, and the rest to the largest."""
    flat = shares.ravel() / shares.sum()
    found = [Fraction(max(int(share * GRID), int(share > 0)), GRID) for share in flat]
    largest = max(range(len(found)), key=found.__getitem__)
    found[largest] += 1 - sum(found)
    return found
