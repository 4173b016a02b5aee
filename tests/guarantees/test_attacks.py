"""Every claim is attacked, and what the attack finds is what the claim's status says."""

from __future__ import annotations

import pytest

from discreet import testing
from discreet.audit import run_attack
from discreet.guarantees import all_attacks, all_claims

ATTACKS = all_attacks()
CLAIMS = {claim.name: claim for claim in all_claims()}

#: Runs of proved claims in the fast suite, as a share of what `discreet audit` makes. Refuted claims
#: are always attacked in full: a bug must never be missed because a test was in a hurry.
HURRY = 0.3


#: How near to its claim the best part of an attack comes, at least: one that stays far away would not
#: notice much. Sums of many noises, and selections on few candidates, are private beyond their claim.
NEAR = {
    "discrete-laplace": 0.9,
    "rounded-gaussian": 0.9,
    "noisy-max": 0.99,
    "permute-and-flip": 0.99,
    "best-of-runs": 0.99,
    "sparse-vector": 0.7,
    "coded-sums": 0.8,
    "exponential-quantile": 0.55,
    "discovered-keys": 0.95,
    "private-bounds": 0.8,
    "checked-table": 0.8,
    "counted-people": 0.8,
    "bernstein": 0.7,
    "ledger-filter": 0.99,
    "randomised-response": 0.99,
    "generalised-randomised-response": 0.99,
    "unary-encoding": 0.99,
    "local-hashing": 0.8,
    "memoised-reports": 0.8,
    "one-bit-mean": 0.85,
    "piecewise-mean": 0.75,
    "hybrid-mean": 0.8,
    "pca-exponential": 0.95,
    "histogram-m-estimator": 0.8,
}


def marked(name: str) -> object:
    claim = CLAIMS[name]
    is_slow = claim.audit in ATTACKS and ATTACKS[claim.audit].is_slow
    return pytest.param(name, marks=[pytest.mark.slow] if is_slow else [])


def found(name: str, effort: float = 1.0, confidence: float = 0.99) -> list:
    with testing.fixed_noise(20):  # the toolkit's own noise; broken mechanisms draw from numpy
        return list(run_attack(ATTACKS[CLAIMS[name].audit], confidence=confidence, effort=effort))


def test_every_claim_has_an_attack_and_every_attack_a_claim():
    assert {claim.audit for claim in CLAIMS.values()} == set(ATTACKS)


@pytest.mark.parametrize("name", [marked(n) for n, c in CLAIMS.items() if c.status == "refuted"])
def test_a_refuted_claim_is_caught(name):
    results = found(name)
    assert any(result.is_violated for result in results), results
    if CLAIMS[name].proof == "bugs.md":  # there every part shows the bug
        assert all(result.is_violated for result in results), results


@pytest.mark.parametrize("name", [marked(n) for n, c in CLAIMS.items() if c.status != "refuted"])
def test_a_claim_that_stands_is_not_caught(name):
    results = found(name, HURRY, confidence=0.999)
    assert results
    assert not [result for result in results if result.is_violated]
    if name in NEAR:
        assert max(r.floor / r.claimed for r in results if r.claimed > 0) > NEAR[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, c in CLAIMS.items() if c.status != "refuted"])
def test_a_claim_that_stands_is_not_caught_by_all_runs_either(name):
    assert not [result for result in found(name, 1.0, confidence=0.999) if result.is_violated]


def test_a_repair_is_a_claim_that_stands():
    repaired = [claim for claim in CLAIMS.values() if claim.repair]
    assert repaired
    for claim in repaired:
        assert claim.status == "refuted"
        assert CLAIMS[claim.repair].status in ("proved", "assumed"), claim.name
