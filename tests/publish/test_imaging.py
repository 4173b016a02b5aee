"""Images: what a mask protects, what it charges, and which QR codes are still read."""

from __future__ import annotations

import gzip
import math
import os
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dp
from discreet import testing
from discreet.accounting import satisfies
from discreet.audit.denoise import read_back_pairs
from discreet.publish.imaging import (
    ImageMask,
    crop_images,
    draw_code,
    draw_panels,
    parts,
    publish_images,
    scan_code,
)
from discreet.publish.masks import PseudoQuantum
from discreet.publish.wavelets import DAUBECHIES_4, HAAR, THREE_BAND, IntegerTransform

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[3] / "shared" / "data"))
TEXT = "https://example.org/discreet"


def read_digits(count: int) -> np.ndarray:
    """MNIST, cut to 27 × 27, or scikit-learn's digits enlarged to that size; from 0 to 255."""
    path = DATA / "mnist" / "t10k-images-idx3-ubyte.gz"
    if path.is_file():
        with gzip.open(path) as file:
            raw = file.read(16 + count * 784)[16:]
        return crop_images(np.frombuffer(raw, np.uint8).reshape(count, 28, 28))
    from sklearn.datasets import load_digits

    small = load_digits().images[:count]
    return crop_images(np.kron(small, np.ones((4, 4))) * 15.9375, 3)[:, :27, :27]


def data_set(images: np.ndarray, upper: float, limit: dp.PureDP) -> dp.PrivateDataset:
    names = [f"p{place}" for place in range(images[0].size)]
    schema = dp.Schema({name: dp.Real(0, upper) for name in names})
    return dp.PrivateDataset(
        images.reshape(len(images), -1),
        schema,
        unit=dp.Unit(dp.REPLACE_ONE),
        ledger=dp.Ledger(limit=limit, unit=dp.Unit(dp.REPLACE_ONE)),
    )


@pytest.mark.parametrize("bank", [None, THREE_BAND, HAAR, DAUBECHIES_4])
def test_without_noise_to_speak_of_an_image_returns(bank) -> None:
    image = read_digits(1)[0]
    mask = ImageMask(image.shape, epsilon=10**6, protects="pixel", bounds=(0, 255), bank=bank)
    assert np.abs(mask.randomize(image) - image).max() < 255 / 2000


@pytest.mark.parametrize("bank", [None, THREE_BAND])
def test_the_spread_is_that_of_the_noise(bank) -> None:
    mask = ImageMask((30, 30), epsilon=1, protects=(2, 2), bounds=(0, 255), bank=bank)
    with testing.fixed_noise(1):
        found = mask.randomize(np.full((40, 30, 30), 127.5))
    assert np.std(found) == pytest.approx(mask.spread(), rel=0.03)


def test_a_pixel_moves_its_coefficients_by_k_and_an_image_costs_no_more_than_its_pixels() -> None:
    """K = 2.2011206 for every length of the 3-band bank (here with taps over 2^16)."""
    wave = ImageMask((27, 27), epsilon=1, protects="pixel", bank=THREE_BAND)
    plain = ImageMask((27, 27), epsilon=1, protects="pixel")
    assert wave.sensitivity((1, 1)).l1 / 2**28 == pytest.approx(2.2011206, abs=1e-4)
    assert wave.sensitivity((1, 1)).l2_squared / 2**56 == pytest.approx(1, abs=1e-4)
    for mask, one in ((wave, 2**28), (plain, 2**12)):
        image = mask.sensitivity((27, 27))
        assert image.l1 / one == pytest.approx(729, rel=2e-3)  # Cauchy and Schwarz, not 729·K
        assert image.l2_squared / one**2 == pytest.approx(729, rel=2e-3)


def test_the_distance_is_that_of_the_matrix_that_is_applied() -> None:
    """All corners of a rectangle of 4 × 1 in a column of 9: none is further apart, and one is near."""
    mask = ImageMask((9, 3), epsilon=1, protects=(4, 2), bank=THREE_BAND)
    matrix = IntegerTransform(THREE_BAND, 9, bits=16).dense
    signs = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1)
    far = max(int(np.abs(matrix[:, s : s + 4] @ signs).sum(axis=0).max()) for s in range(6))
    moved = mask.sensitivity(mask.patch)
    assert 2 * far * 2**12 <= moved.l1 < 1.25 * 2 * far * 2**12


def test_the_event_is_for_what_is_protected_and_a_person_pays_for_the_whole_image() -> None:
    mask = ImageMask((4, 5), epsilon=2, protects="pixel")
    assert satisfies(mask.event(), dp.PureDP(2))
    assert not satisfies(mask.event_of_image(), dp.PureDP("39.9"))
    assert satisfies(mask.event_of_image(), dp.PureDP(40))
    images = np.zeros((3, 4, 5))
    data = data_set(images, 1.0, dp.PureDP(100))
    assert publish_images(data, mask).shape == (3, 4, 5)
    assert data.ledger.spent() == dp.PureDP(40)
    whole = ImageMask((4, 5), epsilon=2, protects="image")
    publish_images(data, whole)
    assert data.ledger.spent() == dp.PureDP(42)
    with pytest.raises(dp.BudgetExceeded):
        publish_images(data_set(images, 1.0, dp.PureDP(39)), mask)


def test_a_declared_number_of_images_is_published_and_their_order_is_random() -> None:
    images = np.zeros((5, 3, 3))
    images[0] = 1.0
    mask = ImageMask((3, 3), epsilon=10**5, protects="image")
    seen = set()
    for _ in range(40):
        found = publish_images(data_set(images, 1.0, dp.PureDP(10**6)), mask)
        seen.add(int(found.mean(axis=(1, 2)).argmax()))
    assert len(seen) > 2
    names = [f"p{place}" for place in range(9)]
    schema = dp.Schema({name: dp.Real(0, 1) for name in names})
    unit = dp.Unit(dp.REPLACE_ONE)
    for declared in (2, 9):
        columns = dict(zip(names, images.reshape(5, -1).T, strict=True))
        ledger = dp.Ledger(limit=dp.PureDP(10**6), unit=unit)
        data = dp.PrivateDataset(columns, schema, unit=unit, ledger=ledger, rows=declared)
        assert len(publish_images(data, mask)) == declared


def test_images_of_integers_are_read_like_images_of_numbers() -> None:
    image = np.array([[0, 255], [51, 204]], np.uint8)
    schema = dp.Schema({f"p{place}": dp.Integer(0, 255) for place in range(4)})
    data = dp.PrivateDataset(image.reshape(1, 4), schema, unit=dp.PUBLIC)
    mask = ImageMask((2, 2), epsilon=10**6, protects="image", bounds=(0, 255))
    for found in (publish_images(data, mask)[0], mask.randomize(image)):
        assert np.abs(found - image).max() < 0.3


@pytest.mark.parametrize("bank", [None, THREE_BAND])
def test_no_pixel_makes_it_raise_or_changes_a_shape(bank) -> None:
    mask = ImageMask((7, 2), epsilon=10**6, protects="pixel", bank=bank)
    odd = np.full((7, 2), math.nan)
    odd[0] = math.inf
    odd[1] = -math.inf
    found = mask.randomize(odd)
    assert found.shape == (7, 2)
    expected = np.where(np.isnan(odd), 0.5, np.clip(odd, 0, 1))
    assert np.abs(found - expected).max() < 1e-3
    assert mask.randomize(np.zeros((0, 7, 2))).shape == (0, 7, 2)
    assert mask.randomize(np.zeros((7, 2), bool)).shape == (7, 2)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"protects": "person"}, ValueError, "'pixel', 'image' or a pair"),
        ({"protects": (4, 1)}, ValueError, "fits into the image"),
        ({"protects": 3}, TypeError, "pair"),
        ({"bounds": (1, 0)}, ValueError, "smaller one first"),
        ({"bounds": (0, math.inf)}, ValueError, "finite"),
        ({"bounds": 1}, TypeError, "pair of numbers"),
        ({"delta": 1}, ValueError, "below 1"),
        ({"epsilon": 0}, ValueError, "epsilon"),
        ({"bank": "haar"}, TypeError, "FilterBank"),
        ({"shape": (2**12, 2**12)}, ValueError, "at most"),
        ({"shape": (0, 3)}, ValueError, "at least 1"),
    ],
)
def test_wrong_parameters_are_refused_in_words(options, error, words: str) -> None:
    with pytest.raises(error, match=words):
        ImageMask(**{"shape": (3, 3), "epsilon": 1, "protects": "pixel", **options})


def test_what_does_not_fit_is_refused_before_anything_is_charged() -> None:
    mask = ImageMask((2, 2), epsilon=1, protects="image")
    with pytest.raises(ValueError, match="shape"):
        mask.randomize(np.zeros((3, 2)))
    with pytest.raises(TypeError, match="real numbers"):
        mask.randomize(np.zeros((2, 2), complex))
    with pytest.raises(TypeError, match=r"ImageMask\.randomize"):
        publish_images(np.zeros((2, 2)), mask)
    for images, upper, words in (
        (np.zeros((1, 3, 3)), 1.0, "4 columns"),
        (np.zeros((1, 2, 2)), 2.0, "bounds of the mask"),
    ):
        data = data_set(images, upper, dp.PureDP(5))
        with pytest.raises(ValueError, match=words):
            publish_images(data, mask)
        assert data.ledger.spent() == dp.PureDP(0)
    schema = dp.Schema({f"p{place}": dp.Real(0, 1) for place in range(4)})
    open_number = dp.PrivateDataset(np.zeros((1, 4)), schema, ledger=dp.Ledger(limit=dp.PureDP(5)))
    with pytest.raises(ValueError, match="REPLACE_ONE"):
        publish_images(open_number, mask)


def test_gaussian_noise_is_less_for_whole_images() -> None:
    pure = ImageMask((27, 27), epsilon=1, protects="image")
    soft = ImageMask((27, 27), epsilon=1, delta="1e-6", protects="image")
    assert soft.spread() < pure.spread() / 5
    assert soft.measure == dp.ApproxDP(1, Fraction(1, 10**6))


def test_images_are_cut_to_whole_blocks() -> None:
    assert crop_images(np.zeros((2, 28, 28))).shape == (2, 27, 27)
    assert crop_images(np.zeros((28, 30)), 3).shape == (27, 30)
    with pytest.raises(ValueError, match="at least 27"):
        crop_images(np.zeros((8, 8)))


def test_panels_show_modulus_real_and_imaginary_part() -> None:
    pytest.importorskip("matplotlib")
    image = np.array([[3 + 4j, 1], [1j, 0]])
    shown = parts(image)
    assert shown["modulus"][0, 0] == 5
    assert shown["imaginary part"][1, 0] == 1
    figure = draw_panels({"original": np.ones((2, 2)), **shown, "more": np.ones((2, 2))})
    assert [place.get_title() for place in figure.axes][:5] == ["original", *shown, "more"]


def test_a_code_is_drawn_and_read() -> None:
    pytest.importorskip("segno")
    pytest.importorskip("zxingcpp")
    for pixels in (1, 3, 8):
        image = draw_code(TEXT, pixels=pixels, multiple=3)
        assert image.shape[0] % 3 == 0
        assert scan_code(image, pixels=pixels) == TEXT
        assert scan_code(255 * image, pixels=pixels, bounds=(0, 255)) == TEXT
    assert scan_code(np.random.default_rng(0).random((39, 39))) is None
    assert scan_code(np.full((39, 39), math.nan)) is None


@pytest.mark.parametrize("intensity", [0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0])
def test_a_pseudo_quantum_code_is_read_back_whole_at_every_intensity(intensity: float) -> None:
    """Choi & Lee 2019, section 4.6: unscannable from δ = 0.7 on. Its detail bands tell every pixel."""
    pytest.importorskip("segno")
    pytest.importorskip("zxingcpp")
    image = draw_code(TEXT, multiple=3)
    masked = PseudoQuantum(1, intensity).apply(image, unit=dp.PUBLIC, random_state=0)
    seen = {name: scan_code(part) for name, part in parts(masked).items()}
    assert (seen["real part"] == TEXT) is (intensity <= 0.1)
    if intensity >= 0.3:
        assert set(seen.values()) == {None}
    back = read_back_pairs(masked, likely=1.0)  # the quiet zone is white
    assert (back == image).all()
    assert scan_code(back) == TEXT


def test_the_unit_decides_whether_a_code_is_still_read() -> None:
    """Eight pixels a module, ε = 8: hidden pixel by pixel it is read, hidden module by module it isn't."""
    pytest.importorskip("segno")
    pytest.importorskip("zxingcpp")
    image = draw_code(TEXT, pixels=8, multiple=3)
    for bank in (None, THREE_BAND):
        pixel = ImageMask(image.shape, epsilon=8, protects="pixel", bank=bank)
        module = ImageMask(image.shape, epsilon=8, protects=(8, 8), bank=bank)
        with testing.fixed_noise(2):
            assert scan_code(pixel.randomize(image), pixels=8) == TEXT
            assert scan_code(module.randomize(image), pixels=8) is None


def test_a_missing_library_is_named_with_what_to_install(monkeypatch) -> None:
    for library, call in (
        ("segno", lambda: draw_code(TEXT)),
        ("zxingcpp", lambda: scan_code(np.ones((39, 39)))),
        ("matplotlib.figure", lambda: draw_panels({})),
    ):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=r"discreet\[imaging\]"):
            call()
