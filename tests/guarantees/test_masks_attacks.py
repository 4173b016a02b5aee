"""Attacks on masks come near their claims, and catch each copy that was weakened in one place."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise, testing
from discreet.audit import run_attack
from discreet.coding import Sensitivity
from discreet.guarantees import all_attacks, all_claims, claim
from discreet.guarantees.masks.claims import CLAIMS
from discreet.mechanisms import GaussianDistribution, LaplaceDistribution
from discreet.publish.masks import angles, clamped_sigmoid, plan, releases, wavelet
from discreet.publish.wavelets import IntegerTransform

ATTACKS = all_attacks()
#: How near the best part comes: exact for Laplace noise and for the table.
NEAR = {
    "wavelet-laplace": 0.999,
    "wavelet-gaussian": 0.75,
    "wavelet-approximation": 0.999,
    "angle-embedding": 0.999,
    "clamped-sigmoid": 0.999,
}


@pytest.mark.parametrize("name", NEAR)
def test_attacks_come_near(name: str) -> None:
    with testing.fixed_noise(8):
        results = list(run_attack(ATTACKS[name], confidence=0.999))
    assert not [result for result in results if result.is_violated]
    assert max(r.floor / r.claimed for r in results if r.claimed > 0) > NEAR[name]
    sampled = [r for r in results if r.claimed > 0 and r.confidence < 1]
    assert max(r.floor / r.claimed for r in sampled) > 0.4


def half_the_laplace_noise(patch: Any) -> None:
    patch.setattr(
        LaplaceDistribution,
        "run",
        lambda self, t: t + noise.discrete_laplace(self.scale / 2, t.shape),
    )


def half_the_gaussian_noise(patch: Any) -> None:
    patch.setattr(
        GaussianDistribution,
        "run",
        lambda self, t: t + noise.rounded_gaussian(self.sigma / 2, t.shape),
    )


def an_orthogonal_matrix_taken_for_an_isometry_of_the_l1_norm(patch: Any) -> None:
    patch.setattr(IntegerTransform, "spread", lambda self, rows=slice(None): self.one)


def noise_for_one_column(patch: Any) -> None:
    honest = releases.move_rows
    for module in (releases, angles):
        patch.setattr(module, "move_rows", lambda t, columns, kept=None: honest(t, 1, kept))


def noise_for_one_unit_of_width(patch: Any) -> None:
    """A cell taken to move by ONE, not by twice that."""
    honest = releases.move_rows

    def moved(*given: Any) -> Sensitivity:
        right = honest(*given)
        return Sensitivity(right.l1 // 2, right.l2_squared // 4)

    for module in (releases, angles):
        patch.setattr(module, "move_rows", moved)


def details_that_stay(patch: Any) -> None:
    """As published: the bands without noise are there."""

    def run(release: Any, blocks: Any) -> Any:
        coefficients = release.transform.apply(blocks, releases.ONE)
        kept = coefficients[..., : release.kept]
        coefficients[..., : release.kept] = release.distribution.run(np.ascontiguousarray(kept))
        return release.transform.invert(coefficients)

    patch.setattr(releases.AdditiveRelease, "run", run)


def labels_as_they_are(patch: Any) -> None:
    patch.setattr(plan, "respond", lambda codes, k, lie: codes)


def labels_beside_the_budget(patch: Any) -> None:
    patch.setattr(plan, "satisfies", lambda event, measure: True)
    honest = plan.RowPerturbation.shares.func  # type: ignore[attr-defined]

    def shares(channel: Any) -> dict[str, Fraction]:
        return dict.fromkeys(honest(channel), channel.epsilon)

    patch.setattr(plan.RowPerturbation, "shares", property(shares))


def rows_that_come_and_go(patch: Any) -> None:
    patch.setattr(plan.MaskedRows, "check_unit", lambda step, unit: None)


def cosines_that_move_half_as_far(patch: Any) -> None:
    patch.setattr(angles, "SLOPE", angles.SLOPE / 3)


def a_table_of_half_the_loss(patch: Any) -> None:
    honest = clamped_sigmoid.SigmoidTable.loss.func  # type: ignore[attr-defined]
    patch.setattr(clamped_sigmoid.SigmoidTable, "loss", property(lambda table: honest(table) / 2))
    patch.setattr(clamped_sigmoid, "find_table", clamped_sigmoid.find_table.__wrapped__)


def one_step_for_all_coefficients(patch: Any) -> None:
    honest = clamped_sigmoid.SigmoidRelease.moved
    moved = staticmethod(lambda transform, columns: honest(transform, columns) // 5)
    patch.setattr(clamped_sigmoid.SigmoidRelease, "moved", moved)


WEAKENED: list[tuple[str, Callable[[Any], None]]] = [
    ("wavelet-laplace", half_the_laplace_noise),
    ("wavelet-laplace", an_orthogonal_matrix_taken_for_an_isometry_of_the_l1_norm),
    ("wavelet-laplace", noise_for_one_column),
    ("wavelet-laplace", noise_for_one_unit_of_width),
    ("wavelet-laplace", labels_as_they_are),
    ("wavelet-laplace", labels_beside_the_budget),
    ("wavelet-laplace", rows_that_come_and_go),
    ("wavelet-gaussian", half_the_gaussian_noise),
    ("wavelet-gaussian", noise_for_one_column),
    ("wavelet-gaussian", noise_for_one_unit_of_width),
    ("wavelet-gaussian", rows_that_come_and_go),
    ("wavelet-approximation", half_the_laplace_noise),
    ("wavelet-approximation", details_that_stay),
    ("wavelet-approximation", noise_for_one_unit_of_width),
    ("wavelet-approximation", rows_that_come_and_go),
    ("angle-embedding", half_the_laplace_noise),
    ("angle-embedding", noise_for_one_unit_of_width),
    ("angle-embedding", cosines_that_move_half_as_far),
    ("angle-embedding", labels_as_they_are),
    ("clamped-sigmoid", a_table_of_half_the_loss),
    ("clamped-sigmoid", one_step_for_all_coefficients),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "weaken"), WEAKENED, ids=lambda each: getattr(each, "__name__", each)
)
def test_a_weakened_copy_is_caught(name: str, weaken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clamped_sigmoid.find_table.cache_clear()
    weaken(monkeypatch)
    with testing.fixed_noise(30):
        results = list(run_attack(ATTACKS[name], effort=0.6))
    assert any(result.is_violated for result in results), results


def test_refuted_masks_name_these_as_their_repair() -> None:
    repairs = {entry.name: entry.repair for entry in all_claims() if entry.repair}
    assert repairs["wavelet-ls"] == "wavelet-approximation"
    assert repairs["wavelet-ls-plus"] == "wavelet-laplace"
    assert repairs["wavelet-pseudo-quantum"] == "angle-embedding"
    assert repairs["wavelet-free-multiplier"] == "clamped-sigmoid"
    assert {claim(each.name).status for each in CLAIMS} == {"proved"}
    assert {kind.__name__ for kind in plan.RowMask.__subclasses__()} == {
        *(name for name in wavelet.__all__),
        "AngleEmbedding",
        "ClampedSigmoid",
    }
