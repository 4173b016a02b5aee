"""The ε that an auditor proves of each mask, beside the claimed one; and the filter bank's identities."""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import choose_size, seed_of
from learning import MASKS, REPAIRED
from study import EPSILONS, STUDY

import discreet as dp
from discreet import testing
from discreet.audit import audit
from discreet.publish.masks import AngleEmbedding, WaveletApproximation, WaveletLaplace
from discreet.publish.masks.sigmoid import (
    laplace_sigmoid_log_density,
    multipliers,
    noise_parameter,
)
from discreet.publish.wavelets import THREE_BAND, forward

__all__ = ["AUDITED"]

Floats = np.ndarray[Any, np.dtype[np.float64]]
#: One block of nine rows and columns.
BLOCK = 9
AUDITED = (*MASKS, *REPAIRED)


def pair() -> tuple[Floats, Floats]:
    """Neighbours: one person's row is all zeros, or all ones; of the others, one cell is 1."""
    first = np.zeros((BLOCK, BLOCK))
    first[2, 0] = 1.0
    second = first.copy()
    second[4] = 1.0
    return first, second


def score_of(name: str, epsilon: float) -> Any:
    """What tells outputs on the first input from those on the second, by the mask's own formulas."""
    first, second = (forward(data, THREE_BAND) for data in pair())

    def likelier(outputs: Floats) -> Floats:
        seen = forward(outputs.reshape(-1, BLOCK, BLOCK), THREE_BAND, axis=1)
        if name.startswith("LS+, γ"):
            gamma = float(name.rpartition(" ")[2])
            parameter = noise_parameter(epsilon, gamma)
            sides = [
                laplace_sigmoid_log_density(seen - true, multipliers(true, gamma), parameter)
                for true in (first, second)
            ]
            return np.asarray((sides[0] - sides[1]).sum(axis=(1, 2)))
        if name == "LS, repaired":  # the details are constants
            part = slice(0, BLOCK // 3)
            return np.asarray(_nearer(seen[:, part], first[part], second[part]))
        return np.asarray(_nearer(seen, first, second))

    return likelier


def _nearer(seen: Floats, first: Floats, second: Floats) -> Floats:
    moved = first != second
    gaps = np.abs(seen - second) - np.abs(seen - first)
    return np.asarray((gaps * moved).sum(axis=(1, 2)))


def draw_masks(
    name: str, epsilon: float, data: Floats, trials: int, draw: np.random.Generator
) -> Floats:
    """Many masks of one block."""
    if name in MASKS:
        return MASKS[name](epsilon).draw(data, trials, unit=dp.PUBLIC, random_state=draw)[0]
    kind = {
        "LS, repaired": WaveletApproximation,
        "LS+, repaired": WaveletLaplace,
        "pseudo-quantum, repaired": AngleEmbedding,
    }[name]
    schema = dp.Schema({f"x{at}": dp.Real(0, 1) for at in range(BLOCK)})
    rows = dp.PrivateDataset(np.tile(data, (trials, 1)), schema, unit=dp.PUBLIC)
    told = kind(epsilon, order="position").publish(rows)
    return np.column_stack(list(told.values())).reshape(trials, BLOCK, BLOCK)


@STUDY.experiment(AUDITED, EPSILONS, repeats=1, quick=1)
def audits(name: str, epsilon: float, *, seed: int) -> dict[str, float]:
    """The largest ε that is proved with 99 %: ∞ where the detail bands come out as they went in."""
    first, second = pair()
    score, draw = score_of(name, epsilon), np.random.default_rng(seed_of(name, epsilon, seed))
    if name in MASKS and not name.startswith("LS+"):
        masked = draw_masks(name, epsilon, first, 1000, draw)
        seen, true = (forward(rows, THREE_BAND, axis=-2) for rows in (masked, first))
        error = float(np.abs(seen - true)[:, BLOCK // 3 :].max())
        exact = error < 1e-9
        return {"floor": float("inf") if exact else float("nan"), "error of details": error}
    with testing.fixed_noise(seed_of(name, epsilon, seed)):
        found = audit(
            lambda data, trials: score(draw_masks(name, epsilon, data, trials, draw)),
            (first, second),
            epsilon,
            trials=choose_size(40_000, 4000),
            rounding=1e-6,
            title=name,
        )
    return {"floor": found.floor, "error of details": float("nan")}


@STUDY.experiment(repeats=1, quick=1)
def identities(*, seed: int) -> dict[str, float]:
    """How far Table 2.1 is from properties (1) to (4) of section 2.1, and from our bank."""
    printed = np.array(STUDY.published["filters"]["taps"])
    low, high = printed[0], printed[1:]
    places = np.arange(1, printed.shape[1] + 1)
    whole = forward(np.eye(BLOCK), THREE_BAND)
    return {
        "(1) norms are 1": float(np.abs(np.linalg.norm(printed, axis=1) - 1).max()),
        "(2) α sums to √3": float(abs(low.sum() - np.sqrt(3))),
        "(2) β sum to 0": float(np.abs(high.sum(axis=1)).max()),
        "(3) α · β = 0": float(np.abs(high @ low).max()),
        "(4) Σ i·β = 0": float(np.abs(high @ places).max()),
        "W·Wᵀ = 1, nine rows": float(np.abs(whole @ whole.T - np.eye(BLOCK)).max()),
        "printed taps against ours": float(np.abs(printed - np.array(THREE_BAND.taps)).max()),
    }
