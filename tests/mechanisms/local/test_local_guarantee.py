"""The exact channels: no ratio above e^ε, and no divergence above the event's curve."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import accounting, testing
from discreet.events import PartialResponse
from discreet.measures import PureDP, Renyi
from discreet.mechanisms import local
from discreet.mechanisms.local import domain, means
from discreet.mechanisms.local.probabilities import epsilon_above, outside_mass
from profiles import max_examples

EPSILONS = st.one_of(
    st.fractions("1/1000000000", 60, max_denominator=10**9),
    st.sampled_from([Fraction(1, 10**9), Fraction(1), Fraction(44), Fraction(1000)]),
)
ORDERS = (1.1, 2.0, 7.0, 64.0, math.inf)


def ratio_is_within(ratio: Fraction, epsilon: Fraction) -> bool:
    with mpmath.workdps(60 + int(epsilon)):
        bound = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        return mpmath.mpf(ratio.numerator) / ratio.denominator <= bound


@max_examples(150)
@given(EPSILONS, st.integers(1, 10**6), st.integers(1, 10**6))
def test_no_cell_is_more_than_e_to_the_epsilon_as_likely(epsilon, inside, outside):
    mass = outside_mass(epsilon, inside, outside)
    assert 0 < mass < 1
    ratio = ((1 - mass) / inside) / (mass / outside)
    assert ratio >= 1
    assert ratio_is_within(ratio, epsilon)
    if epsilon < 30 and inside < 1000:  # and hardly any of ε is given away
        assert float(ratio) >= math.exp(epsilon) * (1 - 1e-3)


@max_examples(60)
@given(st.fractions(1, 10**6, max_denominator=1000))
def test_the_epsilon_of_a_ratio_is_above_its_logarithm(ratio):
    epsilon = epsilon_above(ratio)
    assert ratio_is_within(ratio, epsilon)
    assert float(epsilon) <= math.log(ratio) + 3e-12


@pytest.mark.parametrize("order", [1.000001, 1.5, 2.0, 64.0, 1e6])
@pytest.mark.parametrize("epsilon", ["1e-9", "0.01", "1", "30", "1000"])
def test_the_curve_of_partial_response_is_never_below_the_exact_one(epsilon, order):
    e = Fraction(epsilon)
    for share in ("1e-200", "1e-9", "1/3", "1/2", "0.999999", "1"):
        s = Fraction(share)
        found = accounting.cost(PartialResponse(e, s), Renyi, orders=[order]).curve[order]
        with mpmath.workdps(700):
            x, a, chance = (
                mpmath.mpf(v.numerator) / v.denominator for v in (e, Fraction(order), s)
            )
            moment = (mpmath.exp(a * x) + mpmath.exp((1 - a) * x)) / (mpmath.exp(x) + 1)
            exact = mpmath.log(1 - chance + chance * moment) / (a - 1)
            assert exact <= found
            assert found <= exact * (1 + mpmath.mpf("1e-9")) or found <= 1e-12


def test_two_coins():
    survey = local.RandomizedResponse.two_coins()
    assert survey.lie == Fraction(1, 4)
    assert survey.chances == (Fraction(3, 4), Fraction(1, 4))
    assert float(survey.epsilon) == pytest.approx(math.log(3), abs=2e-12)
    assert survey.event().epsilon > Fraction(math.log(3))


def channel(mechanism) -> list[list[Fraction]]:
    """The probabilities of all reports, given each value (for hashing: of the cell, given the hash)."""
    match mechanism:
        case local.RandomizedResponse() | local.GeneralizedRandomizedResponse():
            p, q = mechanism.chances
            return [[p if x == y else q for y in range(mechanism.k)] for x in range(mechanism.k)]
        case local.UnaryEncoding() | local.Memoised():
            p, q = mechanism.chances

            def row(x, bits):
                chances = (p if i == x else q for i in range(mechanism.k))
                return math.prod(c if b else 1 - c for c, b in zip(chances, bits, strict=True))

            reports = list(itertools.product((0, 1), repeat=mechanism.k))
            return [[row(x, bits) for bits in reports] for x in range(mechanism.k)]
        case local.LocalHashing():
            p, q = 1 - mechanism.lie, mechanism.lie / (mechanism.cells - 1)
            return [
                [p if x == y else q for y in range(mechanism.cells)] for x in range(mechanism.cells)
            ]
        case local.DuchiMean():
            up = [
                mechanism.lie + (1 - 2 * mechanism.lie) * Fraction(s, means.STEPS)
                for s in range(means.STEPS + 1)
            ]
            return [[1 - u, u] for u in up]
        case local.PiecewiseMean():
            w, steps = mechanism.window, means.STEPS
            p, q = (1 - mechanism.outside) / w, mechanism.outside / steps
            return [
                [p if s <= j < s + w else q for j in range(steps + w)] for s in range(steps + 1)
            ]
        case local.HybridMean():
            c = mechanism.chance
            bits, pieces = channel(mechanism.bit), channel(mechanism.piece)
            return [
                [*((1 - c) * x for x in a), *(c * x for x in b if c)]
                for a, b in zip(bits, pieces, strict=True)
            ]
    raise AssertionError(mechanism)


@pytest.fixture
def coarse(monkeypatch):
    """A grid of 16 steps, so that whole channels can be listed."""
    for module in (domain, means):
        monkeypatch.setattr(module, "STEPS", 16)


def small(epsilon) -> list[local.LocalMechanism]:
    return [
        local.RandomizedResponse(epsilon),
        local.GeneralizedRandomizedResponse(epsilon, 5),
        local.UnaryEncoding(epsilon, 3),
        local.UnaryEncoding(epsilon, 3, optimised=True),
        local.LocalHashing(epsilon, 9),
        local.Memoised(epsilon, Fraction(epsilon) / 3, 3),
        local.DuchiMean(epsilon, 0, 1),
        local.PiecewiseMean(epsilon, 0, 1),
        local.HybridMean(epsilon, 0, 1),
    ]


@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
def test_whole_channels_keep_their_guarantee_and_their_curve(coarse, epsilon):
    for mechanism in small(Fraction(epsilon)):
        rows = channel(mechanism)
        assert all(sum(row) == 1 for row in rows)
        first = isinstance(mechanism, local.Memoised)  # one report alone
        event = mechanism.event(1) if first else mechanism.event()
        limit = mechanism.epsilon_first if first else mechanism.epsilon
        assert accounting.cost(event, PureDP) == PureDP(limit)
        curve = accounting.cost(event, Renyi, orders=ORDERS).curve
        largest = dict.fromkeys(ORDERS, mpmath.mpf(0))
        with mpmath.workdps(40):
            for here, there in itertools.permutations(rows[:: max(1, len(rows) // 6)], 2):
                assert all(ratio_is_within(p / q, limit) for p, q in zip(here, there, strict=True))
                pairs = [(mpmath.mpf(p.numerator) / p.denominator, mpmath.mpf(q.numerator) / q.denominator)
                         for p, q in zip(here, there, strict=True)]  # fmt: skip
                for order in ORDERS[:-1]:
                    moment = mpmath.fsum(p**order * q ** (1 - order) for p, q in pairs)
                    largest[order] = max(largest[order], mpmath.log(moment) / (order - 1))
            for order in ORDERS[:-1]:
                assert largest[order] <= curve[order], (mechanism, order)
                # and the curves are tight, not merely valid
                assert curve[order] <= largest[order] * (1 + mpmath.mpf("1e-8")), (mechanism, order)


@pytest.mark.parametrize("epsilon", ["1/2", "3"])
def test_reports_follow_the_channel(coarse, epsilon):
    """χ² of the drawn reports against the listed channel; a channel of another ε is rejected."""
    from scipy.stats import chisquare

    n = 60_000
    right = Fraction(epsilon)
    for mechanism, near, far in zip(
        small(right), small(right * Fraction(6, 5)), small(2 * right), strict=True
    ):
        # one report of the memoised mechanism tells little, so its wrong copy is farther off
        wrong = far if isinstance(mechanism, local.Memoised) else near
        if isinstance(mechanism, local.LocalHashing):
            continue  # its channel is a part of the report: below
        rows, wrong_rows = channel(mechanism), channel(wrong)
        value = len(rows) - 1
        given_ = value / means.STEPS if isinstance(mechanism, means.MeanMechanism) else value
        with testing.fixed_noise(5):
            reports = mechanism.randomize(np.full(n, given_))
        if reports.dtype == bool and reports.ndim == 2:
            reports = reports @ (2 ** np.arange(mechanism.k)[::-1])
        counts = np.bincount(reports.astype(np.int64), minlength=len(rows[value]))
        expected = np.array([float(p) for p in rows[value]]) * n
        keep = expected > 0
        assert counts[~keep].sum() == 0
        assert chisquare(counts[keep], expected[keep]).pvalue > 1e-4, mechanism
        if len(wrong_rows[value]) < len(rows[value]):  # a narrower window: some reports can't be
            assert counts[len(wrong_rows[value]) :].sum() > 0, mechanism
            continue
        other = np.array([float(p) for p in wrong_rows[value]]) * n
        assert chisquare(counts[keep], other[keep]).pvalue < 1e-4, mechanism


def test_hashes_are_pairwise_independent_and_cells_are_told_by_response():
    mechanism = local.LocalHashing(2, 50, cells=4)
    with testing.fixed_noise(6):
        reports = mechanism.randomize(np.full(200_000, 31))
    p, q = mechanism.chances
    told = mechanism.find_supported(reports, 31).mean()
    assert told == pytest.approx(float(p), abs=5e-3)
    assert mechanism.find_supported(reports, 7).mean() == pytest.approx(float(q), abs=5e-3)
    same = mechanism._hash(reports[:, 0], reports[:, 1], 31) == mechanism._hash(
        reports[:, 0], reports[:, 1], 7
    )
    assert same.mean() == pytest.approx(float(mechanism.collision), abs=5e-3)


def test_the_collision_probability_is_exact(monkeypatch):
    from discreet.mechanisms.local import hashing

    monkeypatch.setattr(hashing, "PRIME", 13)
    mechanism = local.LocalHashing(1, 6, cells=4)
    for x, y in itertools.combinations(range(6), 2):
        meets = sum(
            (a * x + b) % 13 % 4 == (a * y + b) % 13 % 4 for a in range(13) for b in range(13)
        )
        assert Fraction(meets, 169) == mechanism.collision


@max_examples(100)
@given(
    st.fractions("1/100", 6, max_denominator=100),
    st.fractions("1/100", "99/100", max_denominator=100),
    st.integers(1, 12),
)
def test_memoised_reports_cost_what_is_said(epsilon, part, count):
    """All reports of one permanent row, enumerated by the number of ones, bit by bit."""
    mechanism = local.Memoised(epsilon, epsilon * part, 2)
    a, r = mechanism.flip, mechanism.again
    worst = Fraction(1)
    for ones in range(count + 1):
        if_one = (1 - r) ** ones * r ** (count - ones)
        if_zero = r**ones * (1 - r) ** (count - ones)
        ratio = ((1 - a) * if_one + a * if_zero) / (a * if_one + (1 - a) * if_zero)
        worst = max(worst, ratio, 1 / ratio)
    claimed = accounting.cost(mechanism.event(count), PureDP).epsilon
    assert ratio_is_within(worst**2, Fraction(claimed))  # two values differ in two bits
    assert claimed <= mechanism.epsilon
    assert accounting.cost(mechanism.event(), PureDP).epsilon == epsilon
    assert accounting.cost(mechanism.event(values=3), PureDP).epsilon == 3 * epsilon
    assert accounting.cost(mechanism.event(0), PureDP).epsilon == 0
