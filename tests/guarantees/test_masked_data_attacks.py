"""Attacks on published rows come near their claims, and catch each thing that must not be told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import testing
from discreet.audit.registry import Case, run_attack
from discreet.guarantees import all_attacks, all_claims, claim
from discreet.guarantees.masked_data import attacks
from discreet.publish import MaskedData
from discreet.publish.true_labels import TrueLabels


@pytest.mark.parametrize(
    ("name", "near"), [("input-perturbation", 0.85), ("input-perturbation-norm-gamma", 0.75)]
)
def test_attacks_come_near(name: str, near: float) -> None:
    with testing.fixed_noise(8):
        results = list(run_attack(all_attacks()[name], confidence=0.999))
    assert not [result for result in results if result.is_violated]
    assert max(r.floor / r.claimed for r in results if r.claimed > 0) > near


def test_weights_come_as_near_as_logistic_loss_lets_them() -> None:
    """The noise is for a slope of 1; at small weights that of the logistic loss is 1/2."""
    asked = attacks.estimator()
    with testing.fixed_noise(9):
        told = attacks.weights(1)(np.array([[2**20, 0]]), 3000)
    moved, spread = -float(np.mean(told)), float(np.std(told))
    slope = 0.5 * (1 / 3) ** 0.5  # of a row scaled down to the default norm
    assert moved == pytest.approx(slope / asked.alpha, abs=4 * spread / 3000**0.5)
    assert moved > 4 * spread / 3000**0.5  # or nothing would be seen at all
    losses = attacks.weights_losses(1)  # for the row as it is scaled down, not for one of norm 1
    assert moved / spread == pytest.approx(losses.largest / 2**0.5, abs=5 / 3000**0.5)


def test_true_labels_in_masks_are_found_in_the_output_too(monkeypatch: Any) -> None:
    honest = MaskedData._train

    def train(masks: Any, plan: Any, door: Any) -> None:
        honest(masks, plan, door)
        unpaid = dp.PrivateDataset(door._engine, door.schema, unit=dp.PUBLIC)
        masks.y_ = masks.classes_[unpaid.run(TrueLabels(plan.facts.target))]

    few = [(0.5, 1), (-0.5, 0)] * 8
    pair = attacks.table(*few), attacks.table((0.5, 0), *few[1:])
    case = Case("labels", lambda rows: attacks.masks(rows)[16:], pair, 1.0, 100, {"reuse": False})
    assert not case.run(0.99).is_violated
    monkeypatch.setattr(MaskedData, "_train", train)
    assert case.run(0.99).is_violated


def test_refuted_claims_name_these_as_their_repair() -> None:
    repairs = {entry.name: entry.repair for entry in all_claims() if entry.repair}
    assert repairs["masking-true-labels"] == repairs["masking-real-start"] == "masked-data"
    assert repairs["masking-input-perturbation"] == "input-perturbation"
    assert claim("masked-data").status == claim("input-perturbation").status == "proved"
    assert claim("input-perturbation-norm-gamma").status == "assumed"
