"""The one premise on floating point, sampled: log, exp and ndtri keep their error bounds.

Ball arithmetic (python-flint) is the oracle. Sampling isn't a proof; the bounds allow for about a
hundred times the errors that are seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from scipy.special import ndtri

from discreet.noise import gaussian, laplace
from discreet.noise.inversion import Inversion

LOG = 2.0**-46  # relative, for arguments in [2**-20, 1]
EXP = 2.0**-46  # relative, for arguments in [-700, 0]
NDTRI = 2.0**-44  # relative, for arguments in [2**-21, 1/2]


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    before = ctx.prec
    ctx.prec = 160
    yield
    ctx.prec = before


def around(centres: np.ndarray, low: float, high: float) -> np.ndarray:
    """`centres` and their neighbours among the floats, within [low, high]."""
    steps = [centres]
    for direction in (-np.inf, np.inf):
        near = centres
        for _ in range(4):
            near = np.nextafter(near, direction)
            steps.append(near)
    points = np.concatenate(steps)
    return points[(points >= low) & (points <= high)]


def unit_points(low: float, high: float, count: int) -> np.ndarray:
    rng = np.random.default_rng(11)
    adversarial = np.concatenate(
        [
            2.0 ** -np.arange(0, 22),
            high - 2.0 ** -np.arange(2, 56),
            low + 2.0 ** -np.arange(22, 70),
            np.sqrt(2.0) * 2.0 ** -np.arange(1, 22),
            np.exp(-np.arange(1, 14.0)),
            np.exp(-2.0) * (1 + 2.0 ** -np.arange(8, 50)),  # where ndtri changes its formula
            np.exp(-0.5 * np.array([2.0, 4.0, 8.0])) ** 2,
        ]
    )
    spread = np.exp(rng.uniform(np.log(low), np.log(high), count // 2))
    return np.concatenate(
        [around(adversarial, low, high), spread, rng.uniform(low, high, count - count // 2)]
    )


def worst(computed: np.ndarray, exact: list[arb]) -> float:
    """The largest relative error of `computed`."""
    errors = [
        float(abs((arb(c) - e) / e).upper()) if e != 0 else float(c != 0)
        for c, e in zip(computed.tolist(), exact, strict=True)
    ]
    return max(errors)


def worst_log(points: np.ndarray, log: object = np.log) -> float:
    points = points[points != 1.0]
    return worst(log(points), [arb(p).log() for p in points.tolist()])  # type: ignore[operator]


def worst_exp(points: np.ndarray) -> float:
    return worst(np.exp(points), [arb(p).exp() for p in points.tolist()])


def worst_ndtri(points: np.ndarray) -> float:
    """If Phi(x (1 + e)) and Phi(x (1 - e)) lie on both sides of p, x is wrong by at most e."""
    points = points[points != 0.5]
    error = NDTRI / 64
    while True:
        for p, x in zip(points.tolist(), ndtri(points).tolist(), strict=True):
            outer, inner = arb(x) * (1 + arb(error)), arb(x) * (1 - arb(error))
            half, root = arb(0.5), arb(2).sqrt()
            low, high = half * (-outer / root).erfc(), half * (-inner / root).erfc()
            if not (low < p and p < high):
                error *= 2
                break
        else:
            return error


def test_log() -> None:
    assert np.log(1.0) == 0.0
    assert worst_log(unit_points(2.0**-20, 1.0, 30_000)) < LOG / 32


def test_exp() -> None:
    rng = np.random.default_rng(13)
    points = np.concatenate(
        [
            -rng.uniform(0, 700, 10_000),
            -(10 ** rng.uniform(-18, 2.8, 10_000)),
            around(-np.arange(1, 1000) * np.log(2.0) / 2, -700, 0),
            around(-(2.0 ** np.arange(-60, 10)), -700, 0),
        ]
    )
    assert np.exp(0.0) == np.exp(-0.0) == 1.0
    assert worst_exp(points) < EXP / 32
    beyond = np.exp(-np.array([700.0, 745.0, 746.0, 1e4, 1e300, np.inf]))
    assert np.all((beyond >= 0) & (beyond < 1e-303))


def test_ndtri() -> None:
    assert ndtri(0.5) == 0.0
    assert worst_ndtri(unit_points(2.0**-21, 0.5, 12_000)) <= NDTRI / 16


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33])
def test_short_and_shifted_arrays(length: int) -> None:
    """Vectorised kernels treat the ends of an array apart: the bounds must hold there too."""
    points = unit_points(2.0**-20, 1.0, 4000)[: 40 * length + 1]
    for offset in (0, 1):
        chunks = points[offset : offset + 40 * length].reshape(-1, length)
        logs = np.concatenate([np.log(chunk) for chunk in chunks])
        exps = np.concatenate([np.exp(-chunk) for chunk in chunks])
        flat = chunks.ravel()
        keep = flat != 1.0
        assert worst(logs[keep], [arb(p).log() for p in flat[keep].tolist()]) < LOG / 32
        assert worst(exps, [arb(-p).exp() for p in flat.tolist()]) < EXP / 32


def quantile_error(distribution: Inversion, heads: np.ndarray, exact: object) -> float:
    """Largest error of the float quantile, over both ends of what is known of U, in `distribution.error`."""
    u = np.multiply(heads, 2.0**-63)
    distribution.quantile(u)
    errors = []
    for t, head in zip(u.tolist(), heads.tolist(), strict=True):
        for end in (head, head + 1):
            errors.append(float(abs(arb(t) - exact(arb(end) / 2**63)).upper()))  # type: ignore[operator]
    return max(errors) / distribution.error


SCALES = [Fraction(1, 2**40), Fraction(1, 1000), Fraction(0.7), Fraction(1), Fraction(1000), 2**20]


def heads(count: int) -> np.ndarray:
    rng = np.random.default_rng(17)
    wide = (2.0 ** rng.uniform(43, 63, count)).astype(np.int64)
    ends = np.concatenate([2**43 + np.arange(40), 2**63 - 1 - np.arange(40)])
    return np.concatenate([wide, rng.integers(2**43, 2**63 - 1, count), ends]).astype(np.int64)


@pytest.mark.parametrize("scale", SCALES)
def test_whole_quantile_of_laplace(scale: Fraction) -> None:
    scale = Fraction(scale)
    s = arb(scale.numerator) / scale.denominator
    constant = (2 / (1 + (-1 / s).exp())).log()
    laplace_error = quantile_error(
        laplace._laplace_magnitude(scale), heads(800), lambda u: s * (constant - u.log())
    )
    geometric_error = quantile_error(laplace._geometric(scale), heads(800), lambda u: -s * u.log())
    assert laplace_error < 0.5
    assert geometric_error < 0.5


@pytest.mark.parametrize("scale", SCALES)
def test_whole_quantile_of_the_gaussian(scale: Fraction) -> None:
    """t is right within e if erfc(t + e) and erfc(t - e), rescaled, lie around all of U."""
    scale = Fraction(scale)
    root = arb(scale.numerator) / scale.denominator * arb(2).sqrt()
    for distribution, half in ((gaussian._magnitude(scale), 0.5), (gaussian._cell(scale), 0.0)):
        points = heads(800)
        u = np.multiply(points, 2.0**-63)
        distribution.quantile(u)
        error = arb(distribution.error) / 2
        for t, head in zip(u.tolist(), points.tolist(), strict=True):
            above = ((arb(t) - half + error) / root).erfc() * arb(2) ** 63
            below = ((arb(t) - half - error) / root).erfc() * arb(2) ** 63
            assert above < head
            assert head + 1 < below


def test_single_precision_is_noticed() -> None:
    """Negative control: a logarithm good to 2**-24 doesn't pass for one good to 2**-46."""
    points = unit_points(2.0**-20, 1.0, 2000)
    rough = worst_log(points, lambda p: np.log(p.astype(np.float32)).astype(np.float64))
    assert rough > LOG
