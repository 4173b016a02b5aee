"""Runs with and without one record: floors that are valid, and one outlier that gives a forest away."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, norm
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from test_membership import RISK, allowed

from discreet.audit import membership
from discreet.audit.membership import MembershipReport, audit_scores


def published_gaussian_estimate(inside, outside, delta, risk=RISK):
    """μ from |Φ⁻¹(1 - FPR) - Φ⁻¹(FNR)| with *upper* bounds of both rates, as one peer computed it."""
    thresholds = np.union1d(inside, outside)
    fn = np.array([(inside < t).sum() for t in thresholds])
    fp = np.array([(outside >= t).sum() for t in thresholds])
    share = risk / (2 * len(thresholds))

    def upper(k, n):
        return np.where(k < n, beta.ppf(1 - share, k + 1, np.maximum(n - k, 1e-9)), 1.0)

    fnr, fpr = upper(fn, len(inside)), upper(fp, len(outside))
    fine = np.maximum(fnr, fpr) < 1 - delta
    return float(np.max(np.abs(norm.isf(fpr[fine]) - norm.ppf(fnr[fine])), initial=0.0))


@pytest.mark.parametrize(("runs", "seed"), [(1000, 0), (1000, 1), (40, 2), (40, 3)])
def test_no_signal_gives_zero_where_a_peer_gives_much(runs, seed):
    rng = np.random.default_rng(seed)
    inside, outside = rng.normal(size=runs), rng.normal(size=runs)
    estimate = published_gaussian_estimate(inside, outside, 1e-5)
    peer = float(dp_epsilon(estimate, 1e-5))
    assert peer > 3  # no signal at all
    audit = audit_scores(inside, outside, delta=1e-5)
    assert audit.epsilon == 0.0
    assert audit.mu == 0.0
    scores = np.concatenate([inside, outside])[None]
    included = rng.random(scores.shape) < 0.5
    report = MembershipReport("none", scores, included, 1e-5)
    assert report.epsilon == 0.0
    assert report.audit.mu == 0.0


def dp_epsilon(mu, delta):
    from discreet.measures.gaussian import gaussian_epsilon
    from discreet.rational import rational

    return gaussian_epsilon(rational(mu, "mu") ** 2, rational(delta, "delta"))


def test_floors_from_runs_are_valid_and_need_their_two_halves():
    rng = np.random.default_rng(6)
    runs, wrong, careless, found = 400, 0, 0, []
    for _ in range(runs):
        inside, outside = rng.normal(size=60), rng.normal(size=60)  # no signal: any floor is wrong
        wrong += audit_scores(inside, outside, confidence=0.7).epsilon > 0
        same = np.tile(inside, 2), np.tile(outside, 2)  # the runs that choose are those that test
        careless += audit_scores(*same, confidence=0.7).epsilon > 0
    assert wrong <= allowed(runs, 0.3)
    assert careless > allowed(runs, 0.3)
    for _ in range(100):
        audit = audit_scores(rng.normal(1, 1, 2000), rng.normal(0, 1, 2000))
        found.append(audit.mu)
    assert sum(mu > 1 for mu in found) <= allowed(100)
    assert np.mean(found) > 0.55


def test_a_low_score_in_runs_with_the_record_is_found_too():
    rng = np.random.default_rng(7)
    audit = audit_scores(rng.normal(-3, 1, 400), rng.normal(0, 1, 400))
    assert audit.epsilon > 2
    assert "score" in repr(audit)
    assert "confidence 95.0%" in repr(audit)


def test_one_outlier_gives_a_forest_away():
    rng = np.random.default_rng(8)
    X = np.concatenate([rng.normal(size=(60, 2)), [[6.0, 6.0]]])
    y = np.concatenate([(X[:60, 0] > 0).astype(int), [0]])  # far on the other side

    def forest(X, y):
        return RandomForestClassifier(3, random_state=int(rng.integers(2**31))).fit(X, y)

    audit = membership.audit_record(forest, X, y, 60, runs=60)
    assert audit.epsilon > 0.7
    assert audit.outcomes.trials == 30
    constant = membership.audit_record(DummyClassifier(), X, y, 60, runs=20, score=lambda m: 0.0)
    assert constant.epsilon == 0.0
