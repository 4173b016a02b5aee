"""The registered attacks have teeth: each catches a copy of the toolkit that was weakened in one place."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from weakened import (
    a_cutoff_that_is_ignored,
    a_door_that_reads_first,
    a_fifth_of_the_laplace_noise,
    a_filter_that_lets_all_pass,
    a_narrow_regression,
    a_prepaid_door_that_reads_in_advance,
    a_search_at_the_delta_of_one_run,
    a_search_at_the_price_of_one_run,
    a_stream_that_restarts,
    a_threshold_one_too_low,
    a_threshold_without_its_mass,
    always_five_runs,
    answers_with_a_quarter_of_the_noise,
    answers_without_noise,
    blocks_with_a_tenth_of_the_noise,
    choices_of_twice_the_epsilon,
    curves_of_half_the_epsilon,
    directions_of_twice_the_epsilon,
    directions_too_near_to_the_best,
    draws_of_twice_the_epsilon,
    fewer_lies,
    flips_of_half_the_scale,
    half_the_gaussian_noise,
    half_the_laplace_noise,
    half_the_noise_in_the_objective,
    half_the_noise_of_answers,
    half_the_noise_of_numbers,
    half_the_noise_of_the_threshold,
    half_the_norm_gamma_noise,
    half_the_rank_sensitivity,
    half_the_sensitivity,
    labels_as_they_are,
    labels_beside_the_budget,
    masks_with_true_labels,
    metrics_of_half_the_sensitivity,
    narrow_stairs,
    noise_for_half_the_distance,
    noise_for_one_node,
    reports_without_a_second_blur,
    residuals_of_twice_the_size,
    rounds_at_the_price_of_one,
    rows_outside_the_ball,
    runs_that_go_on_where_the_last_one_ended,
    scores_with_half_the_noise,
    scores_without_noise,
)
from weakened_synthetic import (
    expectations_of_the_true_number_of_rows,
    replaced_rows_counted_as_added,
    rounds_beside_the_budget,
    scores_of_squared_distances,
)

from discreet import testing
from discreet.audit import run_attack
from discreet.guarantees import all_attacks

WEAKENED = [
    ("discrete-laplace", half_the_laplace_noise),
    ("rounded-gaussian", half_the_gaussian_noise),
    ("staircase", narrow_stairs),
    ("coded-sums", half_the_laplace_noise),
    ("coded-sums", half_the_gaussian_noise),
    ("coded-sums", half_the_sensitivity),
    ("private-bounds", half_the_sensitivity),
    ("private-bounds", half_the_laplace_noise),
    ("exponential-quantile", half_the_rank_sensitivity),
    ("exponential-quantile", draws_of_twice_the_epsilon),
    ("theil-sen", draws_of_twice_the_epsilon),
    ("private-choice", flips_of_half_the_scale),
    ("private-choice", choices_of_twice_the_epsilon),
    ("discovered-keys", half_the_laplace_noise),
    ("discovered-keys", a_threshold_one_too_low),
    ("discovered-keys", a_threshold_without_its_mass),
    ("permute-and-flip", flips_of_half_the_scale),
    ("noisy-max", scores_with_half_the_noise),
    ("sparse-vector", answers_without_noise),
    ("sparse-vector", half_the_noise_of_the_threshold),
    ("sparse-vector", half_the_noise_of_answers),
    ("sparse-vector", half_the_noise_of_numbers),
    ("sparse-vector", a_cutoff_that_is_ignored),
    ("best-of-runs", always_five_runs),
    ("private-search", scores_without_noise),
    ("private-search", a_search_at_the_price_of_one_run),
    ("private-search", a_search_at_the_delta_of_one_run),
    ("private-search", runs_that_go_on_where_the_last_one_ended),
    ("private-score", scores_without_noise),
    ("private-score", metrics_of_half_the_sensitivity),
    ("bernstein", noise_for_one_node),
    ("priestley-chao", a_narrow_regression),
    *(
        (name, answers_with_a_quarter_of_the_noise)
        for name in (
            "linear-regression",
            "noisy-stats",
            "functional-logistic-regression",
            "k-means",
            "pca",
            "standard-scaler",
            "random-decision-forest",
            "decision-tree",
            "additive-boosting",
        )
    ),
    ("additive-boosting", half_the_sensitivity),
    ("additive-boosting", residuals_of_twice_the_size),
    ("additive-boosting", rounds_at_the_price_of_one),
    ("k-means-blocks", blocks_with_a_tenth_of_the_noise),
    ("histogram-m-estimator", half_the_laplace_noise),
    ("histogram-m-estimator", half_the_sensitivity),
    ("histogram-m-estimator", answers_with_a_quarter_of_the_noise),
    ("pca-exponential", directions_of_twice_the_epsilon),
    ("pca-exponential", directions_too_near_to_the_best),
    ("pca-exponential", rows_outside_the_ball),
    ("pca-exponential", half_the_laplace_noise),
    ("output-perturbation", half_the_laplace_noise),
    ("output-perturbation", half_the_gaussian_noise),
    ("objective-perturbation", half_the_noise_in_the_objective),
    ("norm-gamma-perturbation", half_the_norm_gamma_noise),
    ("ledger-filter", a_filter_that_lets_all_pass),
    ("charged-before-read", a_door_that_reads_first),
    ("charged-before-read", a_prepaid_door_that_reads_in_advance),
    ("trade-off-curves", curves_of_half_the_epsilon),
    ("randomised-response", fewer_lies),
    ("generalised-randomised-response", fewer_lies),
    ("unary-encoding", fewer_lies),
    ("local-hashing", fewer_lies),
    ("memoised-reports", reports_without_a_second_blur),
    ("one-bit-mean", fewer_lies),
    ("piecewise-mean", fewer_lies),
    ("hybrid-mean", fewer_lies),
    ("noise-never-comes-twice", a_stream_that_restarts),
    ("masked-data", a_fifth_of_the_laplace_noise),
    ("masked-data", masks_with_true_labels),
    ("masked-data", labels_beside_the_budget),
    ("input-perturbation", half_the_laplace_noise),
    ("input-perturbation", half_the_gaussian_noise),
    ("input-perturbation", labels_as_they_are),
    ("input-perturbation-norm-gamma", labels_as_they_are),
    ("input-perturbation-norm-gamma", noise_for_half_the_distance),
    ("cell-counts", half_the_laplace_noise),
    ("cell-counts", half_the_gaussian_noise),
    ("cell-counts", replaced_rows_counted_as_added),
    ("far-marginals", draws_of_twice_the_epsilon),
    ("far-marginals", scores_of_squared_distances),
    ("far-marginals", expectations_of_the_true_number_of_rows),
    ("synthetic-tables", half_the_gaussian_noise),
    ("synthetic-tables", answers_with_a_quarter_of_the_noise),
    ("synthetic-tables", rounds_beside_the_budget),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "weaken"), WEAKENED, ids=[f"{name}-{weaken.__name__}" for name, weaken in WEAKENED]
)
def test_a_weakened_copy_is_caught(name, weaken, monkeypatch):
    weaken(monkeypatch)
    fixed = nullcontext() if weaken is a_stream_that_restarts else testing.fixed_noise(30)
    with fixed:
        assert any(result.is_violated for result in run_attack(all_attacks()[name]))
