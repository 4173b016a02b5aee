"""Attacks on wrong prices: `discreet.guarantees.bugs.broken_accounting`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.audit.exact import exact, statement
from discreet.audit.registry import Case, Part, attack
from discreet.guarantees.bugs import broken_accounting as accounting_bugs
from discreet.guarantees.discovery.attacks import key_distribution
from discreet.guarantees.ledger import attacks_adaptive as adaptive
from discreet.measures import ApproxDP


@attack("one-order-with-the-whole-delta")
def one_order_with_the_whole_delta() -> Iterator[Part]:
    shares = {12.0: Fraction(1, 2), 64.0: Fraction(1, 2), math.inf: Fraction(0)}
    weak = accounting_bugs.WholeDeltaFilter(adaptive.LIMIT.delta, Fraction(0), shares)
    branches = [answer for answer in (0, 1) if adaptive.accepts(weak, answer)]
    # what the filter accepts is asked; what it refuses is not
    p, q = adaptive.transcript(branches)
    yield exact(p, q, adaptive.LIMIT, title="a second question that depends on the first answer")
    yield statement(
        "orders 12 and 64 within (2, 1e-6)",
        "refuses a second question on one branch at least",
        len(branches) < 2,
        f"questions are taken on {len(branches)} of 2 branches",
    )


@attack("fixed-batches-as-poisson")
def fixed_batches_as_poisson() -> Iterator[Part]:
    for rate, sigma, delta in ((0.1, 1.0, 1e-5), (0.01, 2.0, 1e-6), (0.5, 2.0, 1e-5)):
        claim = accounting_bugs.poisson_price(rate, sigma, delta)
        p, q = accounting_bugs.fixed_batch_distributions(rate, sigma, np.linspace(-30, 30, 6001))
        yield exact(p, q, claim, title=f"rate {rate:g}, σ = {sigma:g}, one step")


@attack("threshold-without-its-mass")
def threshold_without_its_mass() -> Iterator[Part]:
    for epsilon, delta in ((1.0, 1e-5), (2.0, 1e-3)):
        threshold = accounting_bugs.threshold_without_its_mass(1 / epsilon, delta)
        p, q = (key_distribution(1 / epsilon, threshold, own) for own in (1, 0))
        title = f"a key of one person, ε = {epsilon:g}, δ = {delta:g}, τ = {threshold}"
        yield exact(p, q, ApproxDP(epsilon, delta), title=title)


@attack("noise-for-one-of-many-rows")
def noise_for_one_of_many_rows() -> Iterator[Part]:
    run = partial(
        accounting_bugs.sum_with_the_sensitivity_of_one_row, rows_per_person=3, epsilon=1.0
    )
    yield Case("counts 7 and 10, ε = 1", run, (7, 10), 1.0, 20_000)
