"""Images from idx files: what is in them is what should be, or an error says why not."""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from discreet.deep import images
from discreet.deep.images import crop, load_fashion_mnist, load_mnist, read_idx

DATA = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[3] / "shared" / "data"))


def idx_bytes(values: np.ndarray, kind: int) -> bytes:
    head = bytes([0, 0, kind, values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
    return head + values.astype(values.dtype.newbyteorder(">")).tobytes()


@pytest.mark.parametrize(
    ("kind", "dtype"), [(8, "u1"), (9, "i1"), (11, "i2"), (12, "i4"), (13, "f4"), (14, "f8")]
)
def test_arrays_of_every_type_come_back(tmp_path, kind, dtype):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    plain, packed = tmp_path / "plain", tmp_path / "packed.gz"
    plain.write_bytes(idx_bytes(values, kind))
    packed.write_bytes(gzip.compress(idx_bytes(values, kind)))
    for path in (plain, packed):
        found = read_idx(path)
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an idx file"),
        (b"\0\0\x07\1\0\0\0\0", "not an idx file"),
        (b"\0\0\x08\3\0\0", "cut off"),
        (idx_bytes(np.zeros((2, 2), np.uint8), 8)[:-1], "as many numbers"),
        (idx_bytes(np.zeros((2, 2), np.uint8), 8) + b"\0", "as many numbers"),
        (b"\0\0\x08\3" + b"\xff" * 12, "as many numbers"),
        (gzip.compress(b"\0" * 1000, mtime=0)[:-9], "damaged"),
    ],
)
def test_a_file_that_is_something_else_is_refused_in_words(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_idx(path)


def test_a_changed_pixel_is_noticed_by_the_checksum(tmp_path):
    content = bytearray(idx_bytes(np.zeros((2, 2), np.uint8), 8))
    checksum = hashlib.sha256(content).hexdigest()
    path = tmp_path / "file"
    path.write_bytes(content)
    assert read_idx(path, checksum).shape == (2, 2)
    content[-1] = 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="SHA-256"):
        read_idx(path, checksum)


def test_files_are_looked_for_in_the_cache_folder_and_a_missing_one_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(images.CACHE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"fashion-mnist has neither t10k-images"):
        load_fashion_mnist(part="test")
    values = {"images": np.arange(18).reshape(2, 3, 3), "labels": np.array([1, 0])}
    names = {"images": "train-images-idx3-ubyte", "labels": "train-labels-idx1-ubyte"}
    contents = {n: idx_bytes(values[k].astype(np.uint8), 8) for k, n in names.items()}
    monkeypatch.setattr(
        images, "_MNIST", {n: hashlib.sha256(c).hexdigest() for n, c in contents.items()}
    )
    (tmp_path / "mnist").mkdir()
    for name, content in contents.items():
        (tmp_path / "mnist" / f"{name}.gz").write_bytes(gzip.compress(content))
    found = load_mnist()
    np.testing.assert_array_equal(found.images, values["images"])
    np.testing.assert_array_equal(found.labels, values["labels"])
    assert "0" not in repr(found).removeprefix("LabelledImages((2, 3, 3))")
    with pytest.raises(ValueError, match="part must be"):
        load_mnist(part="validation")


def test_cropping_leaves_out_the_last_row_and_column():
    pictures = np.arange(2 * 28 * 28).reshape(2, 28, 28)
    np.testing.assert_array_equal(crop(pictures), pictures[:, :27, :27])
    with pytest.raises(ValueError, match="at least 29"):
        crop(pictures, 29)


@pytest.mark.skipif(not (DATA / "mnist").is_dir(), reason="MNIST is not here; set DISCREET_DATA")
def test_mnist_is_read_and_has_its_usual_numbers_of_digits():
    for part, count in (("train", 60_000), ("test", 10_000)):
        found = load_mnist(DATA / "mnist", part)
        assert found.images.shape == (count, 28, 28)
        assert found.images.dtype == np.uint8
    # as counted in the literature
    assert np.bincount(found.labels).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
