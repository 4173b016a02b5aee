"""From a strategy and a budget to a design: shares of the budget, exact scales of noise, and the event.

The L1 sensitivity of node counts is `max_rows` a level; that of coefficients is exact in integers, from the
very differences that are measured. Proof page: ``docs/proofs/privelet.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.coding import Sensitivity
from discreet.mechanisms import (
    Gaussian,
    GaussianDistribution,
    Laplace,
    LaplaceDistribution,
    Mechanism,
    NoNoise,
)
from discreet.mechanisms.distributions import drawable_scale
from discreet.publish.privelet.axes import Axis
from discreet.publish.privelet.designs import Block, Contrasts, Design, Nodes
from discreet.publish.privelet.facts import Facts
from discreet.publish.privelet.lattice import contrasts, levels_of, outer
from discreet.publish.privelet.shares import (
    as_fractions,
    contrast_precisions,
    contrast_shares,
    node_precisions,
    node_shares,
    own_share,
)
from discreet.queries.sizes import MAX_SUMMAND

__all__ = [
    "Task",
    "as_scale",
    "build_contrasts",
    "build_exact",
    "build_flat",
    "build_nodes",
    "compose",
    "farthest",
    "gaussian_noise",
    "laplace_scales",
]

Floats = npt.NDArray[np.float64]
#: Exact Python integers, of any size.
Exact = npt.NDArray[np.object_]

#: The lengths of differences of three or more children are made equal to one in 2^10, or less precisely
#: where a row could else add more to a sum of several columns than always fits into 64 bits.
MAX_RESOLUTION = 2**10
#: What float64 sums over a lattice may be off by, many times over; it is added to a sensitivity.
SLACK = 1e-9


def build_exact(axes: tuple[Axis, ...], energies: Floats) -> Design:
    """The cells without noise: for public rows, and for what no person can move."""
    cells = tuple(len(axis.sizes) - 1 for axis in axes)
    block = Block(cells, cells, 1, NoNoise())
    return Nodes("without noise", axes, (block,), events.Compose(), energies, None)


@dataclass(frozen=True, eq=False)
class Task:
    """The trees of a histogram, what is asked of each place of their lattice, the noise, and for whom."""

    axes: tuple[Axis, ...]
    energies: Floats
    mechanism: Mechanism
    facts: Facts


def build_flat(task: Task) -> Design:
    """The counts of the cells alone."""
    shares = np.zeros(task.energies.shape)
    shares[(-1,) * shares.ndim] = 1.0
    return _noised_nodes("flat", task, shares)


def build_nodes(task: Task, *, equal: bool = False) -> Design:
    """Node counts of the levels that pay; all levels with the same share if `equal`."""
    axes, energies = task.axes, task.energies
    moved = _moved_nodes(axes, task.facts)
    usable = moved > 0
    if not usable.any():
        shares = np.zeros(energies.shape)
    elif equal:
        shares = usable / usable.sum()
    elif isinstance(task.mechanism, Laplace):
        shares = node_shares(axes, energies, moved.astype(np.float64))
    else:
        shares = node_precisions(axes, energies, usable)
    axes, energies, shares = _merge(axes, energies, shares)
    name = f"tree with branching {' and '.join(map(str, axes))}"
    return _noised_nodes(name, replace(task, axes=axes, energies=energies), shares)


def _moved_nodes(axes: tuple[Axis, ...], facts: Facts) -> Exact:
    """How far a person moves the node counts of each place of the lattice in L1."""
    nodes = outer([axis.padded / np.array(axis.sizes) for axis in axes])
    found = np.full(nodes.shape, facts.moved(1, 1), object)
    found[nodes > 1] = facts.moved(1)
    return found


def _merge(
    axes: tuple[Axis, ...], energies: Floats, shares: Floats
) -> tuple[tuple[Axis, ...], Floats, Floats]:
    """The same design without the levels that have no share anywhere: their nodes are never formed."""
    found = []
    for place, axis in enumerate(axes):
        others = tuple(k for k in range(shares.ndim) if k != place)
        used = np.asarray((shares > 0).any(axis=others))
        used[[0, -1]] = True
        kept = np.flatnonzero(used)
        # an unmeasured level has the λ of the next finer one that is measured
        starts = np.concatenate([[0], kept[:-1] + 1])
        energies = np.add.reduceat(energies, starts, axis=place)
        shares = np.take(shares, kept, axis=place)
        found.append(axis.keep_levels(kept.tolist()))
    return tuple(found), energies, shares


def _noised_nodes(name: str, task: Task, shares: Floats) -> Design:
    """Node counts with noise; `shares` are those of ε for Laplace noise, of precision for Gaussian."""
    axes, energies, mechanism, facts = task.axes, task.energies, task.mechanism, task.facts
    moved = _moved_nodes(axes, facts)
    shares = np.where(moved > 0, shares, 0.0)
    places = [at for at in levels_of(axes) if shares[at] > 0]
    none = (0,) * len(axes)
    if not places:
        return Nodes(name, axes, (), events.Compose(), energies, facts.total)
    if isinstance(mechanism, Laplace):
        scales = laplace_scales(shares, moved, mechanism)
        blocks = [Block(at, none, 1, LaplaceDistribution(scales[at])) for at in places]
        event = compose([(scales[at], moved[at]) for at in places])
        return Nodes(name, axes, tuple(blocks), event, energies, facts.total)
    assert isinstance(mechanism, Gaussian)
    relative = {at: as_scale(1 / math.sqrt(shares[at])) for at in places}
    kept = np.zeros(energies.shape)
    for at, scale in relative.items():
        kept[at] = float(1 / scale**2)
    reached = [np.tri(len(axis.sizes)) for axis in axes]  # 1 at levels up to where a pair parts
    sigma, event = gaussian_noise(farthest(kept, reached, facts), mechanism)
    blocks = [
        Block(at, none, 1, GaussianDistribution(drawable_scale(sigma * scale)))
        for at, scale in relative.items()
    ]
    return Nodes(name, axes, tuple(blocks), event, energies, facts.total)


def build_contrasts(task: Task, *, equal: bool = False) -> Design:
    """Haar coefficients of all levels."""
    axes, energies, facts = task.axes, task.energies, task.facts
    name = f"Haar wavelets with bands {' and '.join(map(str, axes))}"
    places = [at for at in levels_of(axes) if any(at) or facts.total is None]
    if not places:
        return Contrasts(name, axes, (), events.Compose(), energies, facts.total)
    noised = _laplace_contrasts if isinstance(task.mechanism, Laplace) else _gaussian_contrasts
    blocks, event = noised(task, places, equal)
    return Contrasts(name, axes, blocks, event, energies, facts.total)


def find_resolution(axes: tuple[Axis, ...]) -> int:
    """How precisely differences get one length, so that no row adds more than `MAX_SUMMAND` to a sum."""
    found = MAX_RESOLUTION
    while found > 1:
        largest = [
            max(
                int(abs(_differences(axis, level, found)).max()) for level in range(len(axis.sizes))
            )
            for axis in axes
        ]
        if math.prod(largest) <= MAX_SUMMAND:
            break
        found //= 2
    return found


def _weights(axis: Axis, level: int, resolution: int) -> list[int]:
    """What the differences of a level are multiplied by, so that all have about the same length."""
    if level == 0 or axis.branching[level - 1] == 2:
        return [1]
    norms = [(j + 1) * (j + 2) for j in range(axis.branching[level - 1] - 1)]
    return [max(1, (math.isqrt(4 * resolution**2 // norm) + 1) // 2) for norm in norms]


def _differences(axis: Axis, level: int, resolution: int) -> npt.NDArray[np.int64]:
    """The weighted differences of the children of a node, one in each row; at level 0 the total."""
    if level == 0:
        return np.ones((1, 1), np.int64)
    weights = np.array(_weights(axis, level, resolution))
    return np.asarray(contrasts(axis.branching[level - 1]) * weights[:, None])


def _one_row(axis: Axis, level: int, resolution: int) -> int:
    """How far one row moves the weighted differences of a level in L1."""
    return int(np.abs(_differences(axis, level, resolution)).sum(axis=0).max())


def _laplace_contrasts(
    task: Task, places: Sequence[tuple[int, ...]], equal: bool
) -> tuple[tuple[Block, ...], events.Event]:
    axes, energies, mechanism = task.axes, task.energies, task.mechanism
    assert isinstance(mechanism, Laplace)
    used = np.zeros(energies.shape, bool)
    moved, norms = np.zeros(energies.shape, object), np.ones(energies.shape)
    resolution = find_resolution(axes)
    for at in places:
        used[at] = True
        levels = list(zip(axes, at, strict=True))
        one = math.prod(_one_row(axis, level, resolution) for axis, level in levels)
        moved[at] = task.facts.moved(one, 2 if any(at) else 1)
        norms[at] = math.prod(
            axis.sizes[level] * (_weights(axis, level, resolution)[0] ** 2 * 2 if level else 1)
            for axis, level in levels
        )
    rough = moved.astype(np.float64)
    shares = used / used.sum() if equal else contrast_shares(energies, rough, norms)
    found = laplace_scales(shares, moved, mechanism)
    blocks = [
        Block(at, bands, weight, LaplaceDistribution(found[at]))
        for at in places
        for bands, weight in _bands(axes, at, resolution)
    ]
    return tuple(blocks), compose([(found[at], moved[at]) for at in places])


def _bands(
    axes: tuple[Axis, ...], at: tuple[int, ...], resolution: int = 1
) -> list[tuple[tuple[int, ...], int]]:
    """All differences at a place of the lattice, each with its weight."""
    levels = zip(axes, at, strict=True)
    each = [list(enumerate(_weights(axis, level, resolution))) for axis, level in levels]
    return [
        (tuple(band for band, _ in chosen), math.prod(w for _, w in chosen))
        for chosen in product(*each)
    ]


def _gaussian_contrasts(
    task: Task, places: Sequence[tuple[int, ...]], equal: bool
) -> tuple[tuple[Block, ...], events.Event]:
    axes, energies, mechanism = task.axes, task.energies, task.mechanism
    assert isinstance(mechanism, Gaussian)
    own = own_share(axes)
    precision = 1 / (own * own.size) if equal else contrast_precisions(axes, energies)
    kept, relative = np.zeros(energies.shape), {}
    for at in places:
        for bands, _ in _bands(axes, at):
            norm = math.prod(
                axis.sizes[level] * ((band + 1) * (band + 2) if level else 1)
                for axis, level, band in zip(axes, at, bands, strict=True)
            )
            # from above, so that the pair of cells is no farther apart than with the precision itself
            relative[at, bands] = as_scale(math.sqrt(norm / precision[at]))
        kept[at] = precision[at]
    entries = [_entries(axis) for axis in axes]
    sigma, event = gaussian_noise(farthest(kept, entries, task.facts), mechanism)
    blocks = [
        Block(at, bands, 1, GaussianDistribution(drawable_scale(sigma * scale)))
        for (at, bands), scale in relative.items()
    ]
    return tuple(blocks), event


def _entries(axis: Axis) -> Floats:
    """The entry of each Q_l for two cells that part below each level, and for a cell with itself (last).

    P_k has 1/s_k for two cells of one node of level k, and 0 for others.
    """
    inverse = 1 / np.array(axis.sizes, np.float64)
    return np.diff(np.tri(len(inverse)) * inverse, axis=1, prepend=0.0)


def farthest(precision: Floats, entries: Sequence[Floats], facts: Facts) -> float:
    """The largest squared distance that a person moves the scaled vector by, rounded up.

    With G = Σ precision·(Q ⊗ ... ⊗ Q), or P in the place of Q for node counts, one row in cell i has the
    squared length G_ii, the same for all, and a row that goes from i to j moves by 2·G_ii - 2·G_ij, which
    depends only on the levels at which i and j part. By the triangle inequality k rows move k times as far.
    """
    gram = precision
    for place, matrix in enumerate(entries):
        gram = np.moveaxis(np.tensordot(matrix, gram, axes=(1, place)), 0, place)
    own = float(gram[(-1,) * gram.ndim])
    found = own
    if facts.is_replaced:
        apart = 2 * own - 2 * float(gram.min())
        found = max(apart, own) if facts.total is None else apart
    # no entry of G sums up more than own in absolute values, so float64 is off by less than that of it
    return (found + SLACK * own) * facts.rows**2


def as_scale(value: float) -> Fraction:
    """A number to 24 significant bits, from above."""
    exponent = math.frexp(value)[1] - 24
    return math.ceil(Fraction(value) / Fraction(2) ** exponent) * Fraction(2) ** exponent


def gaussian_noise(
    distance: Fraction | float, mechanism: Gaussian
) -> tuple[Fraction, events.Event]:
    """What the relative deviations are multiplied by, and the event, for a squared distance.

    The vector divided by the relative deviations and multiplied by 2^12 has a whole squared sensitivity.
    """
    squared = math.ceil(Fraction(distance) * 4**12)
    distribution = mechanism.distribution(Sensitivity(squared, squared))
    if isinstance(distribution, NoNoise):
        raise AssertionError("a budget without noise is answered by the exact counts.")
    assert isinstance(distribution, GaussianDistribution)
    event = distribution.event(Sensitivity(squared, squared))
    return distribution.sigma / 2**12, event


def laplace_scales(
    shares: Floats, moved: Exact, mechanism: Laplace
) -> dict[tuple[int, ...], Fraction]:
    """The exact scale at each place: how far a person moves it, over its share of ε."""
    epsilon = mechanism.measure.epsilon
    assert isinstance(epsilon, Fraction)
    each = zip(np.ndindex(shares.shape), as_fractions(shares), strict=True)
    return {
        at: drawable_scale(moved[at] / (epsilon * share))
        for at, share in each
        if share and moved[at]
    }


def compose(parts: Sequence[tuple[Fraction, int]]) -> events.Event:
    """The event of Laplace noise of these scales on levels that a person moves so far."""
    found = [events.DiscreteLaplace(scale, by) for scale, by in parts]
    return found[0] if len(found) == 1 else events.Compose(*found)
