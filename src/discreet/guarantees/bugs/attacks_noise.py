"""Attacks on broken noise: `discreet.guarantees.bugs.broken_noise`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.stats import laplace

from discreet.audit.exact import cells, exact
from discreet.audit.probes import sensitivity_exceeded
from discreet.audit.registry import Case, Part, attack
from discreet.coding import Sensitivity
from discreet.guarantees.additive.attacks import plus
from discreet.guarantees.bugs import broken_noise as noise_bugs
from discreet.measures import ApproxDP, GaussianDP
from discreet.mechanisms import Gaussian, GaussianDistribution, Laplace, LaplaceDistribution


@attack("half-the-noise")
def half_the_noise() -> Iterator[Part]:
    distribution = Laplace(1).distribution(Sensitivity(1, 1))
    assert isinstance(distribution, LaplaceDistribution)
    yield Case(
        "Laplace noise at half the scale",
        plus(LaplaceDistribution(distribution.scale / 2)),
        (0, 1),
        1.0,
    )
    gaussian = Gaussian(1, "1/1000").distribution(Sensitivity(1000, 1000**2))
    assert isinstance(gaussian, GaussianDistribution)
    weak = plus(GaussianDistribution(gaussian.sigma / 2))
    claim = ApproxDP(1, "1/1000")
    yield Case("Gaussian noise at half the σ", weak, (0, 1000), claim, 1_000_000)


@attack("textbook-laplace")
def textbook_laplace() -> Iterator[Part]:
    yield Case("0 or 1, ε = 1", noise_bugs.textbook_laplace, (0.0, 1.0), 1.0, 40_000)
    yield Case("1 or 2, ε = 1", noise_bugs.textbook_laplace, (1.0, 2.0), 1.0, 100_000)


@attack("textbook-gaussian")
def textbook_gaussian() -> Iterator[Part]:
    yield Case("0 or 1, σ = 1", noise_bugs.textbook_gaussian, (0.0, 1.0), GaussianDP(1), 100_000)


#: Above this float32 counts in steps of 2.
_LARGE = 2.0**24


def _after(first: float, dtype: Any = np.float32, more: int = 2**23) -> Any:
    """A row of `first`, then many rows a little above 1."""
    rows = np.full(more + 1, np.nextafter(dtype(1), dtype(2)), dtype)
    rows[0] = first
    return rows


@attack("float-sum")
def float_sum() -> Iterator[Part]:
    """With a first row of 2^24 each later 1 is rounded up to 2; with a first row of 0 it is not."""
    pair = _LARGE, 0.0
    yield sensitivity_exceeded(
        lambda first: noise_bugs.running_sum(_after(first)),
        [pair],
        _LARGE,
        title="float32, 2^23 rows more, u = 2^24",
    )
    yield sensitivity_exceeded(
        lambda first: noise_bugs.running_sum(_after(first, np.float64, 1000)),
        [(2.0**53, 0.0)],
        2.0**53,
        title="float64, 1000 rows more, u = 2^53",
    )
    total = cache(lambda first: round(noise_bugs.running_sum(_after(first))))

    def noised(first: float, trials: int) -> Any:
        return total(first) + noise_bugs.integer_laplace(_LARGE, trials)

    yield Case("float32 with noise of scale 2^24, ε = 1", noised, pair, 1.0, 100_000)


@attack("free-diagonal")
def free_diagonal() -> Iterator[Part]:
    run = partial(noise_bugs.gram_with_a_free_diagonal, lower=0.0, upper=1.0, epsilon=1.0)
    here = np.array([[0.5, 0.25], [1.0, 0.0]])
    there = np.array([[0.5, 0.25], [0.0, 0.0]])
    # rounded, so that it is the missing noise that is seen and not the low bits of the other entry
    yield Case("bounds [0, 1], ε = 1", run, (here, there), 1.0, 4_000, {"rounding": 1e-6})


@attack("mean-over-private-n")
def mean_over_private_n() -> Iterator[Part]:
    edges = np.linspace(-20, 20, 2001)
    p, q = (cells(laplace(mean, 1 / n).cdf, edges) for n, mean in ((1, 0.0), (2, 0.5)))
    yield exact(p, q, 1.0, title="rows (0) and (0, 1), ε = 1", error=1e-16)
    run = partial(noise_bugs.mean_over_private_n, epsilon=1.0)
    pair = ((0.0,), (0.0, 1.0))
    yield Case("rows (0) and (0, 1), drawn", run, pair, 1.0, 40_000, {"rounding": 1e-6})


@attack("bounds-from-the-data")
def bounds_from_the_data() -> Iterator[Part]:
    run = partial(noise_bugs.mean_within_seen_bounds, epsilon=1.0)
    pair = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.75))
    yield Case(
        "three equal rows, or two", run, pair, 1.0, 4_000, {"rounding": 1e-6, "reuse": False}
    )


@attack("one-draw-for-two-answers")
def one_draw_for_two_answers() -> Iterator[Part]:
    run = partial(noise_bugs.two_answers_with_one_draw, epsilon=1.0)
    yield Case("counts (3, 5) and (4, 5), ε = 1", run, ((3, 5), (4, 5)), 1.0, 4_000)


@attack("stream-restarts")
def stream_restarts() -> Iterator[Part]:
    run = partial(noise_bugs.from_a_restarted_stream, epsilon=1.0)
    yield Case("counts 0 and 1, ε = 1", run, (0, 1), 1.0, 4_000)


@attack("stream-copied-by-fork")
def stream_copied_by_fork() -> Iterator[Part]:
    run = partial(noise_bugs.from_a_copied_stream, epsilon=1.0)
    yield Case("counts 0 and 1, ε = 1", run, (0, 1), 1.0, 4_000, {"fork": True})


@attack("last-bit-never-flips")
def last_bit_never_flips() -> Iterator[Part]:
    run = partial(noise_bugs.bits_but_the_last, bits=4, epsilon=1.0)
    pairs = [(0, value) for value in (1, 8, 15)]
    yield Case("4 bits, ε = 1", run, pairs, 1.0, 4_000)


@attack("report-length-follows-value")
def report_length_follows_value() -> Iterator[Part]:
    run = partial(noise_bugs.one_report_for_each_item, kinds=5, epsilon=1.0)
    yield Case("one item or two, ε = 1", run, ((0,), (0, 1)), 1.0, 2_000)
