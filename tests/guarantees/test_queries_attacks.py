"""Noise for too small a sensitivity is caught, query by query; every query of the registry is attacked."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

import discreet as dp
from discreet import testing
from discreet.audit import audit, exact
from discreet.guarantees.queries import attacks as queries
from discreet.mechanisms import Exponential, Laplace, LaplaceDistribution
from discreet.queries import Additive

UNITS = [dp.Unit(dp.ADD_REMOVE), dp.Unit(dp.REPLACE_ONE)]


def test_every_query_of_the_registry_is_attacked():
    attacked = {type(query) for query in queries.sums()}
    assert {type(query) for query in testing.QUERIES if isinstance(query, Additive)} <= attacked


ASKED = list(itertools.product(queries.sums(), UNITS))
#: A public number has no noise.
NOISED = [(query, unit) for query, unit in ASKED if query.sensitivity(queries.SCHEMA, unit).l1]


def test_only_counts_of_all_rows_whose_number_is_public_have_no_noise():
    """Without ids every row is a person, so persons are counted as rows are."""
    assert [(type(q), u.relation) for q, u in ASKED if (q, u) not in NOISED] == [
        (dp.Count, dp.REPLACE_ONE),
        (dp.CountPeople, dp.REPLACE_ONE),
    ]


@pytest.mark.parametrize(("query", "unit"), NOISED, ids=str)
def test_noise_for_a_fifth_of_the_sensitivity_is_caught(query, unit):
    sensitivity = query.sensitivity(queries.SCHEMA, unit)
    found = queries.farthest(query, unit)
    distribution = LaplaceDistribution(Laplace(1).distribution(sensitivity).scale / 5)
    run = queries.told_apart(distribution, found.here, found.there)
    with testing.fixed_noise(3):
        assert audit(run, (found.here, found.there), 1.0, trials=10_000).is_violated


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("query", [dp.Median("y"), dp.Quantile("y", "1/4", by="c")], ids=repr)
def test_a_quantile_that_believes_in_too_little_is_caught(query, unit, monkeypatch):
    honest = dp.Quantile.rank_sensitivity
    pairs = list(queries.quantile_pairs(unit))

    def floor():
        distributions = [
            [queries.quantile_distribution(query, Exponential(dp.PureDP(1)), t, unit) for t in pair]
            for pair in pairs
        ]
        return max(exact(p, q, 1.0).floor for p, q in distributions)

    right = floor()
    monkeypatch.setattr(dp.Quantile, "rank_sensitivity", lambda *args: Fraction(honest(*args), 4))
    assert right <= 1 < floor()
