"""Attacks on masked images come near their claims, and catch each copy that was weakened in one place."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import noise, testing
from discreet.audit import run_attack
from discreet.coding import Sensitivity
from discreet.guarantees import all_attacks, claim
from discreet.mechanisms import GaussianDistribution, LaplaceDistribution
from discreet.publish.imaging import ImageMask, images, mask
from discreet.publish.wavelets import IntegerTransform


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


def noise_for_one_coefficient(patch):
    """As if a pixel moved one coefficient alone."""
    patch.setattr(
        IntegerTransform, "column_sums", lambda t, rows=slice(None): abs(t.dense[rows]).max(axis=0)
    )


def noise_for_one_column(patch):
    honest = ImageMask.sensitivity
    patch.setattr(ImageMask, "sensitivity", lambda m, size: honest(m, (size[0], 1)))


def exact_detail_bands(patch):
    """What the published masks do."""
    honest = ImageMask.blur

    def blur(m, levels):
        told = honest(m, levels)
        if m.transform is not None:
            lacking = m.transform.length - m.shape[0]
            columns = np.pad(np.swapaxes(levels, 1, 2), ((0, 0), (0, 0), (0, lacking)))
            band = m.transform.length // m.bank.bands
            told[..., band:] = m.transform.apply(columns, mask.LEVELS)[..., band:]
        return told

    patch.setattr(ImageMask, "blur", blur)


def half_the_squared_distance(patch):
    honest = mask._column_distance

    def distance(transform, height, rows):
        l1, l2_squared = honest(transform, height, rows)
        return l1, l2_squared // 2

    patch.setattr(mask, "_column_distance", distance)


def images_at_the_price_of_what_is_protected(patch):
    patch.setattr(ImageMask, "event_of_image", ImageMask.event)


def images_without_noise(patch):
    patch.setattr(ImageMask, "blur", lambda m, levels: levels)


def a_number_that_is_private(patch):
    patch.setattr(images.MaskedImages, "check_unit", lambda step, unit: None)


WEAKENED = [
    ("masked-image", half_the_laplace_noise),
    ("masked-image", half_the_gaussian_noise),
    ("masked-image", noise_for_one_coefficient),
    ("masked-image", noise_for_one_column),
    ("masked-image", exact_detail_bands),
    ("masked-image", half_the_squared_distance),
    ("published-images", images_at_the_price_of_what_is_protected),
    ("published-images", images_without_noise),
    ("published-images", a_number_that_is_private),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "weaken"), WEAKENED, ids=[weaken.__name__ for _, weaken in WEAKENED]
)
def test_a_weakened_image_mask_is_caught(name, weaken, monkeypatch):
    weaken(monkeypatch)
    with testing.fixed_noise(30):
        assert any(result.is_violated for result in run_attack(all_attacks()[name]))


@pytest.mark.long
@pytest.mark.parametrize(("name", "near"), [("masked-image", 0.8), ("published-images", 0.25)])
def test_attacks_on_images_come_near_and_find_nothing(name, near):
    with testing.fixed_noise(8):
        results = list(run_attack(all_attacks()[name], confidence=0.999))
    assert not [result for result in results if result.is_violated]
    assert max(r.floor / r.claimed for r in results if r.claimed > 0) > near
    assert claim(name).status == "proved"


def test_the_distance_of_images_is_a_pair_of_integers():
    moved = ImageMask((9, 9), epsilon=1, protects=(2, 3)).sensitivity((2, 3))
    assert moved == Sensitivity(6 * 2**12, 6 * 2**24)
