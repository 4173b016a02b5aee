"""Attacks on the masks LS, LS+ and pseudo-quantum (Choi & Lee 2019)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.audit.denoise import read_back, read_back_pairs
from discreet.audit.exact import cells, exact, statement
from discreet.audit.registry import Case, Part, attack
from discreet.audit.results import AuditResult
from discreet.guarantees.draws import Floats, corner, laplace, laplace_distribution
from discreet.guarantees.told import ScoreOnly
from discreet.guarantees.wavelet_masks.broken import (
    details,
    ls,
    ls_plus,
    pseudo_quantum,
    wavelet,
)
from discreet.mechanisms import LaplaceDistribution
from discreet.publish.masks.sigmoid import (
    laplace_sigmoid_log_density,
    multipliers,
    noise_parameter,
)

#: A random block of zeros and ones; the attacks change one row or one cell of it.
_BLOCK = np.random.default_rng(2019).integers(0, 2, (9, 9)).astype(np.float64)


#: A block with a single one: a further one changes the range that all multipliers are taken from.
_LONELY = np.zeros((9, 9))
_LONELY[2, 0] = 1.0


def _row(value: float, block: Floats = _BLOCK) -> Floats:
    changed = block.copy()
    changed[4] = value
    return changed


def _cell(value: float, block: Floats = _BLOCK) -> Floats:
    changed = block.copy()
    changed[4, 4] = value
    return changed


def _table(share: float) -> Floats:
    """2187 rows of nine zeros or ones, the size that the authors mask at once."""
    return (np.random.default_rng(2187).random((2187, 9)) < share).astype(np.float64)


def _band_score(first: Floats, second: Floats) -> Callable[[Floats], Floats]:
    """How much nearer the detail bands of an output are to the first input's than to the second's."""
    a, b = details(first), details(second)

    def score(outputs: Floats) -> Floats:
        seen = details(outputs.reshape(-1, *first.shape))
        near, far = ((seen - band) ** 2 for band in (a, b))
        return np.asarray((far - near).sum(axis=(1, 2)) / ((a - b) ** 2).sum())

    return score


@attack("wavelet-cell-noise")
def cell_noise() -> Iterator[Part]:
    rows = np.zeros(9), np.ones(9)
    noised = partial(_plus_laplace, scale=1.0)
    score = partial(_closer, *rows)
    yield Case(
        "nine columns in [0, 1], ε = 1",
        noised,
        rows,
        1.0,
        50_000,
        {"score": score, "rounding": 1e-6},
    )
    p, q = corner(np.ones(9), 1.0)
    yield exact([p], [q], 1.0, title="nine columns in [0, 1]: all nine beyond the true ones")
    p, q = corner([100.0], 1.0)
    yield exact([p], [q], 1.0, title="one code of a column that goes up to hundreds: 1 against 101")


def _plus_laplace(value: Floats, trials: int, *, scale: float) -> Floats:
    return np.asarray(value + laplace(scale, (trials, *np.shape(value))))


def _closer(first: Floats, second: Floats, outputs: Floats) -> Floats:
    return np.asarray((np.abs(outputs - second) - np.abs(outputs - first)).sum(axis=1))


@attack("wavelet-ls")
def ls_mask() -> Iterator[Part]:
    yield from _bands(partial(ls, epsilon=0.5), partial(ls, epsilon=0.5, labels=True))


def _bands(mask: Callable[..., Floats], labelled: Callable[..., Floats]) -> Iterator[Part]:
    """Two thirds of the coefficients come out as they went in."""
    block = _row(1.0)
    error = float(np.abs(details(mask(block, 1000)) - details(block)).max())
    yield statement(
        "detail bands of 1000 masks of a block",
        "the mask is 0.5-DP",
        error > 1e-6,
        f"all 54 detail coefficients are those of the data, in every mask, up to {error:.1g}",
        "reading back the untouched bands",
    )
    error = float(np.abs((details(labelled(block, 1000)) - details(block))[..., :-1]).max())
    yield statement(
        "the same, labels set to 0 or 1",
        "the mask is 0.5-DP",
        error > 1e-6,
        f"all 48 detail coefficients of the predictors are those of the data, up to {error:.1g}",
        "reading back the untouched bands",
    )
    for words, pair in (
        ("a row from 0 to 1, ε = 0.5", (_row(0.0), _row(1.0))),
        ("one cell by 0.000001, ε = 0.5", (_cell(0.0), _cell(1e-6))),
    ):
        options = {"score": _band_score(*pair)}
        yield Case(words, mask, pair, 0.5, 40_000, options)


@attack("wavelet-sigmoid-compensation")
def compensation() -> Iterator[AuditResult]:
    for gamma in (1.0, 2.0):
        p, q = (_sigmoid_cells(at, gamma, gamma, 1.0) for at in (0.0, 1.0))
        yield exact(p, q, 1.0, title=f"one coefficient moves by 1, y = γ = {gamma:g}", error=1e-15)


def _sigmoid_cells(at: float, y: float, gamma: float, epsilon: float, reach: float = 6.0) -> Floats:
    """Probabilities of short intervals for `at` plus Laplace–Sigmoid noise with multiplier y."""
    rising, parameter = 1 / (1 + math.exp(-y)), noise_parameter(epsilon, gamma)

    def cdf(edges: Floats) -> Floats:
        t = edges - at
        below = 0.5 * np.exp(np.minimum(t, 0) * parameter / rising)
        above = 0.5 * np.exp(-np.maximum(t, 0) * parameter / (1 - rising))
        return np.where(t < 0, below, 1 - above)

    return cells(cdf, np.linspace(-reach, reach, 2401))


@attack("wavelet-sigmoid-mean")
def sigmoid_mean() -> Iterator[AuditResult]:
    y, parameter = 1.0, 1.0
    at = np.linspace(-60, 60, 2_400_001)
    density = np.exp(laplace_sigmoid_log_density(at, np.array(y), parameter))
    mean = float((at * density).sum() * (at[1] - at[0]))
    yield statement(
        "the noise at y = 1, ε' = 1",
        "Laplace–Sigmoid noise has mean 0",
        abs(mean) < 1e-3,
        f"its mean is {mean:.4f}; (1 - 2S(y))/(2ε') = {(1 - 2 / (1 + math.exp(-y))) / 2:.4f}",
        "numerical integral of its density",
    )


@attack("wavelet-free-multiplier")
def free_multiplier() -> Iterator[AuditResult]:
    gamma = 1.0
    for reach in (2.0, 5.0, 10.0, 20.0):
        p, q = (_sigmoid_cells(0.0, y, gamma, 1.0, reach) for y in (-gamma, gamma))
        title = f"tail: multipliers -γ and γ at the same place, outputs up to {reach:g}"
        yield exact(p, q, 1.0, title=title, error=1e-17)
    p, q = (_sigmoid_jump(at, gamma, 0.5) for at in (0.0, 1e-6))
    yield exact(p, q, 0.5, title="jump: a shift of 0.000001 at y = γ = 1, ε = 0.5", error=1e-17)


def _sigmoid_jump(at: float, gamma: float, epsilon: float) -> Floats:
    """Of `at` plus noise with y = γ: the chances of [0, 10⁻⁶), where its density jumps, and of the rest."""
    rising, parameter = 1 / (1 + math.exp(-gamma)), noise_parameter(epsilon, gamma)
    scale = rising if at > 0 else 1 - rising
    inside = -0.5 * math.expm1(-1e-6 * parameter / scale)
    return np.array([inside, 1 - inside])


@attack("wavelet-ls-plus")
def ls_plus_mask() -> Iterator[Part]:
    for words, change, block, epsilon, gamma, trials in (
        ("a row of a random block", _row, _BLOCK, 0.5, 1.0, 40_000),
        ("a row", _row, _LONELY, 0.5, 1.0, 40_000),
        ("a row", _row, _LONELY, 1.0, 1.0, 80_000),
        ("one cell of a random block", _cell, _BLOCK, 0.5, 1.0, 40_000),
        ("one cell", _cell, _LONELY, 0.5, 1.0, 40_000),
        ("one cell", _cell, _LONELY, 0.5, 2.0, 40_000),
        ("one cell", _cell, _LONELY, 1.0, 1.0, 40_000),
    ):
        pair = change(0.0, block), change(1.0, block)
        likelier = partial(_sigmoid_score, *pair, epsilon=epsilon, gamma=gamma)
        yield Case(
            f"{words} from 0 to 1, ε = {epsilon:g}, γ = {gamma:g}",
            ScoreOnly(partial(ls_plus, epsilon=epsilon, gamma=gamma), likelier),
            pair,
            epsilon,
            trials,
            {"rounding": 1e-6},
        )


def _sigmoid_score(
    first: Floats, second: Floats, outputs: Floats, *, epsilon: float, gamma: float
) -> Floats:
    """log P(output | first) - log P(output | second) of LS+ on one block."""
    transform = wavelet(len(first))
    seen = transform @ outputs
    sides = []
    for data in (first, second):
        true = transform @ data
        y, parameter = multipliers(true, gamma), noise_parameter(epsilon, gamma)
        sides.append(laplace_sigmoid_log_density(seen - true, y, parameter).sum(axis=(1, 2)))
    return np.asarray(sides[0] - sides[1])


@attack("wavelet-pseudo-quantum")
def quantum_mask() -> Iterator[Part]:
    yield from _bands(
        partial(pseudo_quantum, epsilon=0.5), partial(pseudo_quantum, epsilon=0.5, labels=True)
    )
    small, large = (
        pseudo_quantum(_BLOCK, 100, epsilon=epsilon, generator=np.random.default_rng(7))
        for epsilon in (0.5, 8.0)
    )
    gap = float(np.abs(small - large).max())
    yield statement(
        "the same random stream at ε = 0.5 and at ε = 8",
        "X ~ Lap(2/ε) makes the mask ε-DP",
        gap > 1e-6,
        f"the masks are equal up to {gap:.1g}: the noise is rescaled, so ε has no effect",
        "two runs compared",
    )
    inside = _approximation_range(_BLOCK)
    yield statement(
        "the support of the approximation band",
        "every output can come from every neighbour",
        inside[0] < 1e-3,
        f"the embedded noise moves a coefficient by {inside[0]:.3f} to {inside[1]:.3f} of the "
        "band's range, never by 0: data without such a distance are excluded",
        "range of 1000 masks",
    )


def _approximation_range(block: Floats) -> tuple[float, float]:
    """The least and the most that masks move the approximation band, as a share of its range."""
    band = wavelet(len(block))[: len(block) // 3]
    moved = np.abs(band @ (pseudo_quantum(block, 1000, epsilon=0.5) - block))
    share = moved / np.ptp(band @ block)
    return float(share.min()), float(share.max())


@attack("wavelet-embedding-intensity")
def intensity() -> Iterator[AuditResult]:
    table = _table(0.05)[:81]
    errors = [
        float(np.abs(pseudo_quantum(table, 1, epsilon=1.0, intensity=delta)[0] - table).max())
        for delta in (1e-6, 0.1)
    ]
    yield statement(
        "a table masked with δ = 0.000001 and with δ = 0.1, ε = 1",
        "neither δ nor η affect the privacy",
        errors[0] > 0.1,
        f"the first shows every cell within {errors[0]:.1g}, the second within {errors[1]:.2g}",
        "the masks compared with the table",
    )


@attack("wavelet-impossible-to-denoise")
def denoise() -> Iterator[AuditResult]:
    for share in (0.05, 0.5):
        table = _table(share)
        for words, mask in (("LS", ls), ("pseudo-quantum", pseudo_quantum)):
            found = float((read_back_pairs(mask(table, 1, epsilon=0.5)[0]) == table).mean())
            yield statement(
                f"2187 × 9 zeros and ones, {share:.0%} ones, {words} at ε = 0.5",
                "the original data can't be regained without the noise",
                found < 0.9,
                f"{found:.2%} of the cells were read back, with the mask alone",
                "a list of the 64 possible windows",
            )
    codes = np.random.default_rng(9).integers(0, 9, (2187, 3)).astype(np.float64)
    for words, mask in (("LS", ls), ("pseudo-quantum", pseudo_quantum)):
        share = read_back(mask(codes, 1, epsilon=0.5)[0], range(9)).share_recovered(codes)
        yield statement(
            f"2187 × 3 codes from 0 to 8, {words} at ε = 0.5",
            "the original data can't be regained without the noise",
            share < 0.9,
            f"{share:.2%} of the cells were read back, with the mask alone",
            "which three rows can follow which",
        )


@attack("wavelet-batches")
def batches() -> Iterator[Part]:
    distribution = LaplaceDistribution(Fraction(2))
    first = np.array([[0, 1, 1], [1, 0, 1]])
    second = np.array([[2, 1, 1], [1, 0, 1]])  # a person of the first batch is another

    def released(data: Any, trials: int) -> Any:
        return distribution.run(np.repeat(data[None], trials, axis=0))

    yield Case("two batches, one person in one of them", released, (first, second), 1.0, 50_000)


@attack("wavelet-lemma-one")
def lemma_one() -> Iterator[AuditResult]:
    for epsilon in (0.5, 2.0):
        edges = np.linspace(-20, 21, 4101)
        p, q = (cells(laplace_distribution(at, 1 / epsilon), edges) for at in (0.0, 1.0))
        yield exact(p, q, epsilon, title=f"a sum that moves by 1, ε = {epsilon:g}", error=1e-15)
