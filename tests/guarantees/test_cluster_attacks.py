"""Weakened copies of k-means, principal components and scaling are caught by the attacks on them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.guarantees import fits
from discreet.guarantees.cluster import attacks as clusters
from discreet.mechanisms import GaussianDistribution, LaplaceDistribution
from discreet.models.cluster import KMeans
from discreet.models.cluster.blocks import SIZE
from discreet.models.decomposition import PCA
from discreet.models.preprocessing import StandardScaler


def caught(case: Any) -> bool:
    return case.run(0.99).is_violated


def weakened(distribution: Any, factor: int = 2) -> Any:
    if isinstance(distribution, LaplaceDistribution):
        return LaplaceDistribution(distribution.scale / factor)
    return GaussianDistribution(distribution.sigma / factor)


def lloyd_round(relation: dp.Relation, delta: float) -> tuple[Any, Any]:
    model = KMeans(2, epsilon=4.0, delta=delta, schema=fits.SCHEMA, unit=relation)
    return clusters.lloyd_parts(model, relation)[-1][1:]


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("relation", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_a_round_of_k_means(relation: dp.Relation, delta: float) -> None:
    query, budget = lloyd_round(relation, delta)
    assert not caught(fits.case("as it is", query, budget, relation))
    distribution = weakened(fits.noise_of(query, budget, dp.Unit(relation)), 3)
    assert caught(
        fits.case("a third of the noise", query, budget, relation, distribution=distribution)
    )


def test_sums_priced_as_if_each_were_alone() -> None:
    """One column's sensitivity for all of them: the mistake of counting x and y as one query."""
    query, budget = lloyd_round(dp.ADD_REMOVE, 0.0)
    alone = LaplaceDistribution(Fraction(2**20) / Fraction(budget.epsilon))
    assert caught(fits.case("each alone", query, budget, dp.ADD_REMOVE, distribution=alone))


def test_a_noiseless_start() -> None:
    query = clusters.lloyd_parts(KMeans(2, epsilon=4, schema=fits.SCHEMA), dp.ADD_REMOVE)[0][1]
    distribution = LaplaceDistribution(Fraction(1, 2**20))
    assert caught(
        fits.case("no noise", query, dp.PureDP("6/5"), dp.ADD_REMOVE, distribution=distribution)
    )


def test_blocks() -> None:
    budget = dp.PureDP(2)
    assert not caught(clusters.blocks_case(dp.ADD_REMOVE, budget))
    third = LaplaceDistribution(Fraction(2 * SIZE, 2) / 3)  # two coordinates, ε = 2
    assert caught(clusters.blocks_case(dp.ADD_REMOVE, budget, distribution=third))


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_components(delta: float) -> None:
    model = PCA(1, epsilon=2.0, delta=delta, schema=fits.SCHEMA)
    query, budget = model._query(fits.facts(dp.ADD_REMOVE)), model._how()
    distribution = weakened(fits.noise_of(query, budget, dp.Unit()), 2)
    assert caught(
        fits.case("half of the noise", query, budget, dp.ADD_REMOVE, distribution=distribution)
    )


def test_scaling() -> None:
    query = StandardScaler(epsilon=2.0, schema=fits.SCHEMA)._query(fits.facts(dp.ADD_REMOVE))
    distribution = weakened(fits.noise_of(query, dp.PureDP(2), dp.Unit()), 2)
    assert caught(
        fits.case(
            "half of the noise", query, dp.PureDP(2), dp.ADD_REMOVE, distribution=distribution
        )
    )


def test_a_plan_that_costs_more_than_is_charged_is_seen() -> None:
    class Greedy(StandardScaler):  # type: ignore[misc]
        def _plan(self, facts: Any, rows: Any) -> Any:
            return StandardScaler(epsilon=3.0, schema=fits.SCHEMA)._plan(facts, rows)

    honest = StandardScaler(epsilon=2.0, schema=fits.SCHEMA)
    assert not fits.whole_plan(honest, dp.ADD_REMOVE).is_violated
    assert fits.whole_plan(Greedy(epsilon=2.0), dp.ADD_REMOVE).is_violated


def test_the_pairs_reach_the_sensitivity() -> None:
    """The neighbours of the attacks are the worst ones: their integers are as far apart as can be."""
    query, _ = lloyd_round(dp.ADD_REMOVE, 0.0)
    first, second = fits.pair(dp.ADD_REMOVE)
    unit = dp.Unit()
    apart = fits.totals(query, unit, first) - fits.totals(query, unit, second)
    assert np.abs(apart).sum() == query.sensitivity(fits.SCHEMA, unit).l1
