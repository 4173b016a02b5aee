"""Attacks that notice nothing are not let in, and the page shows what each one notices."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import discreet as dp
from discreet import noise, testing
from discreet.audit import Case, LaplaceLoss, audit
from discreet.cli import main
from discreet.guarantees import all_attacks, all_claims, draws
from discreet.guarantees.draws import laplace as textbook_laplace
from discreet.guarantees.findings import Finding, find, is_vacuous, render_page
from discreet.guarantees.power import FACTORS, measure_power, weakened_noise

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "audits.md"
CLAIMS = {claim.name: claim for claim in all_claims()}


def count(value, trials):
    return value + noise.discrete_laplace(1, trials)


HONEST = Case("a count", count, (0, 1), 1.0, 20_000)


def test_power_is_the_smallest_weakening_that_is_caught():
    assert measure_power(HONEST, 0.999) >= 0.75
    deaf = replace(HONEST, mechanism=lambda value, trials: noise.discrete_laplace(1, trials))
    assert measure_power(deaf, 0.999) == 0


def test_power_is_measured_where_a_smaller_weakening_is_caught_and_a_larger_one_is_not():
    class Odd(Case):
        def run(self, confidence, effort=1.0):
            asked.append(noise.discrete_laplace(10**6, 400))
            return SimpleNamespace(is_violated=len(asked) == 3)

    asked = []
    odd = Odd("odd", count, (0, 1), 1.0)
    assert measure_power(odd, 0.99) == FACTORS[2]
    sizes = [np.abs(drawn).mean() for drawn in asked]
    assert sizes[0] > 1.1 * sizes[2]


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (6, 0.5), (3, 2.0), (40, 1.0)])
@pytest.mark.parametrize("factor", [0.5, 0.75])
def test_weakened_responses_have_the_odds_of_a_larger_epsilon(k, epsilon, factor):
    with weakened_noise(factor, seed=5):
        told = dp.mechanisms.GeneralizedRandomizedResponse(epsilon, k).randomize(np.zeros(200_000))
    truth = np.exp(epsilon / factor) / (np.exp(epsilon / factor) + k - 1)
    assert (told == 0).mean() == pytest.approx(truth, abs=0.006)


def test_textbook_noise_is_weakened_however_it_was_imported():
    assert textbook_laplace is draws.laplace
    honest = np.abs(textbook_laplace(1.0, 20_000)).mean()
    with weakened_noise(0.25):
        weak = np.abs(textbook_laplace(1.0, 20_000)).mean()
        radius = np.linalg.norm(draws.norm_gamma(3, 1.0, 20_000), axis=1).mean()
    assert weak == pytest.approx(0.25 * honest, rel=0.06)
    assert radius == pytest.approx(0.75, rel=0.05)


def test_an_attack_that_notices_nothing_needs_a_reason():
    deaf = replace(HONEST, mechanism=lambda value, trials: noise.discrete_laplace(1, trials))
    with testing.fixed_noise(1):
        assert not is_vacuous(HONEST, HONEST.run(0.99))
        assert is_vacuous(deaf, deaf.run(0.99))
        assert not is_vacuous(replace(deaf, reason="both inputs are equal"), deaf.run(0.99))


#: Attacks whose drawn cases were once vacuous, and that take seconds.
ONCE_VACUOUS = [
    "k-means-blocks",
    "private-bounds",
    "output-perturbation",
    "masked-data",
    "masked-image",
    "standard-scaler",
]


def vacuous(name: str) -> list[str]:
    attack = all_attacks()[CLAIMS[name].audit]
    cases = [part for part in attack.parts() if isinstance(part, Case)]
    with testing.fixed_noise(31):
        return [case.title for case in cases if is_vacuous(case, case.run(1 - 1e-5))]


@pytest.mark.long
@pytest.mark.parametrize("name", ONCE_VACUOUS)
def test_drawn_cases_reach_half_of_their_claim(name):
    assert vacuous(name) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, c in CLAIMS.items() if c.status != "refuted"])
def test_drawn_cases_of_all_claims_reach_half_of_their_claim(name):
    assert vacuous(name) == []


def test_noise_is_weak_inside_the_block_alone():
    with weakened_noise(0.1, seed=3):
        weak = noise.discrete_laplace(1000, 4000)
        release = dp.PrivateDataset(
            {"x": np.zeros(3)}, dp.Schema(x=dp.Real(0, 1)), ledger=dp.Ledger(limit=dp.PureDP(1))
        ).release(dp.Count(), dp.PureDP(1))
    honest = noise.discrete_laplace(1000, 4000)
    assert 80 < np.abs(weak).mean() < 120
    assert 900 < np.abs(honest).mean() < 1100
    assert not release.is_private
    with pytest.raises(ValueError, match="factor"), weakened_noise(0.0):
        pass


@pytest.mark.parametrize("shifts", [(1,), (2, 5), (3, 3, 1)])
@pytest.mark.parametrize("scale", [1.0, 3.5])
def test_the_law_of_the_loss_is_that_of_the_slow_obvious_one(shifts, scale):
    at = np.arange(-80, 90)
    mass = [np.exp(-abs(at - c) / scale) * np.tanh(1 / (2 * scale)) for c in (0, *shifts)]
    p, q = np.ones(1), np.ones(1)
    for shifted in mass[1:]:
        p, q = np.outer(p, mass[0]).ravel(), np.outer(q, shifted).ravel()
    losses = LaplaceLoss(scale, shifts)
    for epsilon in np.linspace(0.1, 0.9, 5) * losses.largest:
        delta = np.maximum(p - np.exp(epsilon) * q, 0).sum()
        low, high = (losses._tails(up).delta(np.array([epsilon]))[0] for up in (False, True))
        assert low - 1e-9 <= delta <= high + 1e-9
        assert high - low < 0.01
    assert losses.largest == pytest.approx(sum(shifts) / scale)


@pytest.mark.parametrize(("factor", "caught"), [(1.0, False), (0.75, True)])
def test_draws_are_compared_with_the_curve_of_their_law(factor, caught):
    here, there = np.zeros(4, np.int64), np.full(4, 1000)
    losses = LaplaceLoss.between(4000, here, there)

    def ratio(centre, trials):
        drawn = centre + noise.discrete_laplace(int(4000 * factor), (trials, 4))
        return (abs(drawn - there) - abs(drawn - here)).sum(axis=1)

    with testing.fixed_noise(2):
        result = audit(ratio, (here, there), losses.curve, trials=40_000)
    assert result.is_violated is caught
    assert result.floor > 0.7 * losses.curve.mu
    assert losses.compare(dp.PureDP(1), "x").verdict == "consistent"
    assert losses.compare(dp.PureDP("0.99"), "x").verdict == "violated"


def test_one_claim_is_explained(capsys):
    assert main(["audit", "staircase", "--explain", "--effort", "0.1"]) == 0
    text = capsys.readouterr().out
    for word in ("staircase (proved)", "docs/proofs/", "floor", "caught", "mutants", "last look"):
        assert word in text


def test_an_unknown_claim_is_told(capsys):
    assert main(["audit", "stairkase", "--explain"]) == 2
    assert "staircase" in capsys.readouterr().err


def test_a_run_that_was_stopped_is_finished(tmp_path, capsys):
    first = ["audit", "staircase", "--explain", "--json", "--effort", "0.1"]
    assert main(first) == 0
    told = capsys.readouterr().out
    path = tmp_path / "findings"
    path.write_text(told)
    assert main(["audit", "staircase", "priestley-chao", *first[2:], "--from", str(path)]) == 0
    again = capsys.readouterr().out
    assert again.startswith(told)
    claims = [json.loads(line)["claim"] for line in again.splitlines()]
    assert set(claims) == {"staircase", "priestley-chao"}
    assert len(claims) == len(told.splitlines()) + claims.count("priestley-chao")


def test_findings_that_cannot_be_read_are_told(tmp_path, capsys):
    path = tmp_path / "findings"
    path.write_text("[1]\n")
    assert main(["audit", "staircase", "--explain", "--from", str(path)]) == 2
    assert main(["audit", "staircase", "--from", str(path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_findings_travel_and_make_a_page(tmp_path):
    entry = CLAIMS["staircase"]
    found = find(entry, all_attacks()["staircase"], 0.99, effort=0.1, power=False)
    again = [Finding.from_dict(json.loads(json.dumps(one.to_dict()))) for one in found]
    assert again == found
    page = render_page([entry], again, tmp_path)
    assert page.count("staircase") > 1
    assert "discreet audit all --explain" in page
    (tmp_path / "docs").mkdir()
    told = {"additive": {"tried": 7, "killed": 6, "equivalent": 1}}
    (tmp_path / "docs" / "mutants.json").write_text(json.dumps(told))
    assert "6 of 7 killed, 1 equivalent" in render_page([entry], again, tmp_path)


RECORD = ROOT / "docs" / "audits.jsonl"


@pytest.mark.slow
@pytest.mark.skipif(not RECORD.exists(), reason="made by `discreet audit all --explain --json`")
def test_the_page_is_made_from_the_findings_and_no_case_on_it_is_vacuous():
    found = [Finding.from_dict(json.loads(line)) for line in RECORD.read_text("utf-8").splitlines()]
    assert {one.claim for one in found} == set(CLAIMS)
    page = PAGE.read_text("utf-8")
    for one in found:
        if one.kind == "drawn" and CLAIMS[one.claim].status != "refuted":
            assert one.title.replace("|", "\\|") in page
            assert one.share is None or one.share >= 0.5 or one.reason, one
            assert one.power or one.reason, one
