"""Copies of the toolkit, each weakened in one place; the registered attacks must catch them."""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from discreet import measures, noise
from discreet.accounting import counts, thresholds
from discreet.coding import Sensitivity
from discreet.dataset import PrivateDataset
from discreet.guarantees.discovery import attacks as discovery_attacks
from discreet.guarantees.meaning import attacks as meaning_attacks
from discreet.ledger.filters import PureFilter, RenyiFilter, ZCDPFilter
from discreet.mechanisms import (
    Bernstein,
    Exponential,
    GaussianDistribution,
    LaplaceDistribution,
    Memoised,
    NoNoise,
    PriestleyChao,
    ReportNoisyMax,
    StaircaseDistribution,
    best_of,
    permute_and_flip,
)
from discreet.mechanisms.local import hashing, means, response, unary
from discreet.mechanisms.sparse_vector import SparseVectorStream
from discreet.models.boosting.estimator import AdditiveBoosting
from discreet.models.cluster.blocks import BlockCentres
from discreet.models.decomposition import ball
from discreet.models.decomposition.directions import PrincipalDirections
from discreet.models.erm import norm_gamma
from discreet.models.erm.perturbation import ObjectivePerturbation
from discreet.models.metrics import Metric, ScoredRows
from discreet.noise import bingham, entropy
from discreet.publish import MaskedData
from discreet.publish import rows as perturbed_rows
from discreet.publish.true_labels import TrueLabels
from discreet.queries import Mean, Quantile, residuals
from discreet.queries import choice as choice_query
from discreet.queries import discovery as discovery_query
from discreet.queries.additive import PreparedSums
from discreet.queries.base import Query
from discreet.queries.several import PreparedJoint
from discreet.unit import PUBLIC


def noise_with(**samplers):
    """The module of noise with other samplers in some places: whatever else is drawn is drawn as it is."""
    return SimpleNamespace(**{**vars(noise), **samplers})


def half_the_laplace_noise(patch):
    patch.setattr(
        LaplaceDistribution,
        "run",
        lambda distribution, t: t + noise.discrete_laplace(distribution.scale / 2, t.shape),
    )


def half_the_gaussian_noise(patch):
    patch.setattr(
        GaussianDistribution,
        "run",
        lambda distribution, t: t + noise.rounded_gaussian(distribution.sigma / 2, t.shape),
    )


def half_the_sensitivity(patch):
    honest = Query._sensitivity_from_extent

    def moved(query, *rest):
        right = honest(query, *rest)
        return Sensitivity(-(-right.l1 // 2), -(-right.l2_squared // 4))

    patch.setattr(Query, "_sensitivity_from_extent", moved)


def half_the_rank_sensitivity(patch):
    honest = Quantile.rank_sensitivity
    patch.setattr(Quantile, "rank_sensitivity", lambda *args: max(1, honest(*args) // 3))


def narrow_stairs(patch):
    honest = StaircaseDistribution.draw
    patch.setattr(
        StaircaseDistribution, "draw", lambda distribution, size: honest(distribution, size) // 2
    )


def flips_of_half_the_scale(patch):
    replaced = noise_with(geometric=lambda scale, shape: noise.geometric(scale / 2, shape))
    patch.setattr(permute_and_flip, "noise", replaced)


def scores_with_half_the_noise(patch):
    honest = ReportNoisyMax.draws
    patch.setattr(ReportNoisyMax, "draws", lambda m, s, n: honest(m, 2 * np.asarray(s), n))


def answers_without_noise(patch):
    def feed(stream, answer):
        if answer < stream._noisy:
            return None
        stream._left -= 1
        return True if stream._numeric_scale is None else answer

    patch.setattr(SparseVectorStream, "feed", feed)


def draws_of_twice_the_epsilon(patch):
    honest = Exponential.run
    patch.setattr(
        Exponential,
        "run",
        lambda m, scores, *rest: honest(m, 2 * np.asarray(scores), *rest),
    )


def choices_of_twice_the_epsilon(patch):
    replaced = noise_with(select=lambda scores, factor: noise.select(scores, 2 * factor))
    patch.setattr(choice_query, "noise", replaced)


def a_stream_with(patch, threshold=1, answers=1, numbers=1):
    honest = SparseVectorStream.__init__

    def begin(stream, at, threshold_scale, answer_scale, cutoff, numeric):
        told = None if numeric is None else numeric * numbers
        honest(stream, at, threshold_scale * threshold, answer_scale * answers, cutoff, told)

    patch.setattr(SparseVectorStream, "__init__", begin)


def half_the_noise_of_the_threshold(patch):
    a_stream_with(patch, threshold=Fraction(1, 2))


def half_the_noise_of_answers(patch):
    a_stream_with(patch, answers=Fraction(1, 2))


def half_the_noise_of_numbers(patch):
    a_stream_with(patch, numbers=Fraction(1, 2))


def a_cutoff_that_is_ignored(patch):
    patch.setattr(SparseVectorStream, "exhausted", False)


def answers_with_a_quarter_of_the_noise(patch):
    """They state, plan and charge the right distribution: only what is really told shows it."""
    for kind in (PreparedSums, PreparedJoint):

        def begin(prepared, *rest, honest=kind.__init__):
            honest(prepared, *rest)
            if isinstance(prepared._distribution, LaplaceDistribution):
                prepared._distribution = LaplaceDistribution(prepared._distribution.scale / 4)

        patch.setattr(kind, "__init__", begin)


def blocks_with_a_tenth_of_the_noise(patch):
    honest = BlockCentres.run

    def run(step, rows):
        if not isinstance(step.distribution, LaplaceDistribution):
            return honest(step, rows)
        distribution = LaplaceDistribution(step.distribution.scale / 10)
        return honest(BlockCentres(step.columns, step.starts, step.blocks, distribution), rows)

    patch.setattr(BlockCentres, "run", run)


def directions_of_twice_the_epsilon(patch):
    honest = PrincipalDirections.factor
    patch.setattr(PrincipalDirections, "factor", lambda step: 2 * honest(step))


def directions_too_near_to_the_best(patch):
    honest = bingham.bingham
    patch.setattr(bingham, "bingham", lambda matrix, *count: honest(2 * matrix, *count))


def rows_outside_the_ball(patch):
    patch.setattr(ball, "clip_rows", lambda rows, radius: rows)


def half_the_noise_in_the_objective(patch):
    honest = ObjectivePerturbation.draws
    patch.setattr(ObjectivePerturbation, "draws", lambda plan, count: honest(plan, count) // 2)


def half_the_norm_gamma_noise(patch):
    honest = norm_gamma.norm_gamma
    patch.setattr(norm_gamma, "norm_gamma", lambda *args: honest(*args) / 2)


def always_five_runs(patch):
    patch.setattr(best_of, "truncated_negative_binomial", lambda *_: 5)


def runs_that_go_on_where_the_last_one_ended(patch):
    patch.setattr(best_of, "renew", lambda generators: nullcontext())


def a_threshold_one_too_low(patch):
    patch.setattr(
        discovery_query, "minimum_threshold", lambda *args: thresholds.minimum_threshold(*args) - 1
    )


def a_threshold_without_its_mass(patch):
    honest = thresholds.threshold_delta
    patch.setattr(discovery_attacks, "threshold_delta", lambda s, t, r, g: honest(s, t + 1, r, g))


def noise_for_one_node(patch):
    patch.setattr(Bernstein, "distribution", lambda m, s: m.noise.distribution(_one_node(m, s)))


def _one_node(mechanism, sensitivity):
    count = (mechanism.degree + 1) ** mechanism.dimension
    return Sensitivity(sensitivity.l1 // count, sensitivity.l2_squared // count)


def a_narrow_regression(patch):
    honest = PriestleyChao.sensitivity

    def half(regression, nodes):
        right = honest(regression, nodes)
        return Sensitivity(right.l1 // 2, right.l2_squared // 4)

    patch.setattr(PriestleyChao, "sensitivity", half)


def a_filter_that_lets_all_pass(patch):
    for kind in (PureFilter, ZCDPFilter, RenyiFilter):
        patch.setattr(kind, "fits", lambda *_: True)


def a_door_that_reads_first(patch):
    def release(data, query, budget):
        prepared = data._prepare(query, budget)
        answer = prepared.answer(data._engine)
        data._charge(prepared.event, prepared.measure, "")
        return answer

    patch.setattr(PrivateDataset, "release", release)


def a_prepaid_door_that_reads_in_advance(patch):
    honest = PrivateDataset.prepaid

    def prepaid(data, *arguments, **named):
        data._engine.totals(data._prepare(Mean("x"), measures.PureDP(1)).coded)
        return honest(data, *arguments, **named)

    patch.setattr(PrivateDataset, "prepaid", prepaid)


def curves_of_half_the_epsilon(patch):
    honest = meaning_attacks.trade_off

    def half(measure, at):
        if isinstance(measure, measures.PureDP):
            measure = measures.PureDP(measure.epsilon / 2)
        return honest(measure, at)

    patch.setattr(meaning_attacks, "trade_off", half)


def fewer_lies(patch):
    """The coins that turn a report round fall three quarters as often."""

    def bernoulli(chance, shape=None):
        rarer = chance * 3 / 4 if chance < Fraction(1, 2) else chance
        return noise.bernoulli(rarer, *(() if shape is None else (shape,)))

    for module in (response, unary, hashing, means):
        patch.setattr(module, "noise", noise_with(bernoulli=bernoulli))


def reports_without_a_second_blur(patch):
    patch.setattr(Memoised, "report", lambda mechanism, rows: rows)
    patch.setattr(Memoised, "randomize", lambda mechanism, v: mechanism.permanent(v))


def a_fifth_of_the_laplace_noise(patch):
    patch.setattr(
        LaplaceDistribution,
        "run",
        lambda distribution, t: t + noise.discrete_laplace(distribution.scale / 5, t.shape),
    )


def masks_with_true_labels(patch):
    honest = MaskedData._train

    def train(masks, plan, door):
        honest(masks, plan, door)
        unpaid = PrivateDataset(door._engine, door.schema, unit=PUBLIC)
        codes = unpaid.run(TrueLabels(plan.facts.target))
        masks.y_[: len(codes)] = masks.classes_[codes[: len(masks.y_)]]

    patch.setattr(MaskedData, "_train", train)


def labels_beside_the_budget(patch):
    honest = MaskedData._parts
    patch.setattr(MaskedData, "_parts", lambda masks: (masks._measure(), honest(masks)[1]))


def labels_as_they_are(patch):
    patch.setattr(perturbed_rows, "respond", lambda codes, k, lie: codes)


def noise_for_half_the_distance(patch):
    honest = perturbed_rows.RowPerturbation._with_gamma

    def blurred(channel, z):
        return z + (honest(channel, z) - z) // 2

    patch.setattr(perturbed_rows.RowPerturbation, "_with_gamma", blurred)


def a_stream_that_restarts(patch):
    def current():
        return entropy.Stream((b"a" * 32, b"b" * 32), reproducible=False)

    patch.setattr(entropy, "current", current)


def scores_without_noise(patch):
    """What is planned and charged is right: only what is really told shows it."""
    honest = ScoredRows.run

    def run(step, rows):
        return honest(
            ScoredRows(step.metric, step.model, step.columns[:-1], step.columns[-1], NoNoise()),
            rows,
        )

    patch.setattr(ScoredRows, "run", run)


def metrics_of_half_the_sensitivity(patch):
    honest = Metric.sensitivity

    def half(metric, unit):
        right = honest(metric, unit)
        return Sensitivity(-(-right.l1 // 2), -(-right.l2_squared // 4))

    patch.setattr(Metric, "sensitivity", half)


def a_search_at_the_price_of_one_run(patch):
    kind = type(counts.PURE)
    patch.setattr(kind, "select", lambda count, event: count.total(event.event))


def a_search_at_the_delta_of_one_run(patch):
    kind, honest = type(counts.PAIR), type(counts.PAIR).select

    def select(count, event):
        return measures.ApproxDP(honest(count, event).epsilon, count.total(event.event).delta)

    patch.setattr(kind, "select", select)


def residuals_of_twice_the_size(patch):
    patch.setattr(residuals, "CLASS_LINK", tuple(2 * entry for entry in residuals.CLASS_LINK))


def rounds_at_the_price_of_one(patch):
    honest = AdditiveBoosting._costs

    def costs(model, layout):
        found = honest(model, layout)
        rounds = tuple(tuple(m.times(4) for m in one) for one in found.rounds)
        return dataclasses.replace(found, rounds=rounds)

    patch.setattr(AdditiveBoosting, "_costs", costs)
