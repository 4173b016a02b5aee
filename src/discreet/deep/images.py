"""MNIST and Fashion-MNIST from their standard idx files, checked against the checksums of their contents."""

from __future__ import annotations

import gzip
import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

__all__ = ["CACHE", "LabelledImages", "crop", "load_fashion_mnist", "load_mnist", "read_idx"]

#: The environment variable that names the folder with data sets; ``~/.cache/discreet`` without it.
CACHE = "DISCREET_CACHE"
#: The types of idx files by their third byte; all are big-endian.
_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}

Part = Literal["train", "test"]

#: SHA-256 of the files' contents, unpacked.
_MNIST = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
_FASHION_MNIST = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}


@final
@dataclass(frozen=True, repr=False)
class LabelledImages:
    """Grey images with a class each.

    Attributes
    ----------
    images : uint8 array of shape (images, rows, columns)
    labels : uint8 array
    """

    images: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.uint8]

    def __repr__(self) -> str:
        return f"LabelledImages({self.images.shape})"


def load_mnist(
    folder: str | os.PathLike[str] | None = None, part: Part = "train"
) -> LabelledImages:
    """Read MNIST's training or test part.

    Parameters
    ----------
    folder : path, optional
        Where the idx files are, packed (``.gz``) or not; by default ``mnist`` in the folder that the
        environment variable ``DISCREET_CACHE`` names, or in ``~/.cache/discreet``. Nothing is downloaded.
    part : {"train", "test"}

    Raises
    ------
    FileNotFoundError
        If a file is not there.
    ValueError
        If a file's content is not that of the data set (LeCun, Cortes & Burges 1998).
    """
    return _load("mnist", _MNIST, folder, part)


def load_fashion_mnist(
    folder: str | os.PathLike[str] | None = None, part: Part = "train"
) -> LabelledImages:
    """Read Fashion-MNIST's training or test part (Xiao, Rasul & Vollgraf 2017).

    Parameters are those of `load_mnist`; the default folder is ``fashion-mnist``. Debian's package
    ``dataset-fashion-mnist`` puts the files into ``/usr/share/datasets/fashion-mnist``.
    """
    return _load("fashion-mnist", _FASHION_MNIST, folder, part)


def crop(images: npt.NDArray[Any], size: int = 27) -> npt.NDArray[Any]:
    """Images without their last rows and columns, as the paper on wavelet masks cuts them to 27 × 27."""
    if images.ndim != 3 or not 0 < size <= min(images.shape[1:]):
        raise ValueError(
            f"images must be an array of images with at least {size} rows and columns; it is of shape "
            f"{images.shape}."
        )
    return images[:, :size, :size]


def read_idx(path: str | os.PathLike[str], checksum: str | None = None) -> npt.NDArray[Any]:
    """Read an array from an idx file, packed with gzip or not.

    Parameters
    ----------
    path : path
    checksum : str, optional
        SHA-256 of the unpacked content, in hexadecimal digits.
    """
    content = Path(path).read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError) as error:
            raise ValueError(f"path: {path} is a damaged gzip file: {error}.") from None
    if checksum is not None and (found := hashlib.sha256(content).hexdigest()) != checksum:
        raise ValueError(
            f"path: {path} is not the file that it should be. Its content has the SHA-256 {found[:16]}…, not "
            f"{checksum[:16]}…: get it again."
        )
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _TYPES:
        raise ValueError(f"path: {path} is not an idx file.")
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise ValueError(f"path: {path} is cut off.")
    shape = tuple(int(n) for n in np.frombuffer(content, ">u4", content[3], 4))
    kind = np.dtype(_TYPES[content[2]])
    if len(content) != start + math.prod(shape) * kind.itemsize:
        raise ValueError(f"path: {path} doesn't hold as many numbers as its head says.")
    values = np.frombuffer(content, kind, offset=start).reshape(shape)
    return values.astype(kind.newbyteorder("="))


def _load(
    name: str, checksums: Mapping[str, str], folder: str | os.PathLike[str] | None, part: Part
) -> LabelledImages:
    if part not in ("train", "test"):
        raise ValueError(f"part must be 'train' or 'test', got {part!r}.")
    place = _default_folder(name) if folder is None else Path(folder)
    start = "train" if part == "train" else "t10k"
    images, labels = (f"{start}-images-idx3-ubyte", f"{start}-labels-idx1-ubyte")
    return LabelledImages(
        *(read_idx(_find(place, file), checksums[file]) for file in (images, labels))
    )


def _default_folder(name: str) -> Path:
    cache = os.environ.get(CACHE)
    return (Path(cache) if cache else Path.home() / ".cache" / "discreet") / name


def _find(folder: Path, file: str) -> Path:
    for name in (f"{file}.gz", file):
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(
        f"folder: {folder} has neither {file}.gz nor {file}. Put the four idx files there, or "
        f"give the folder that has them, as in load_mnist('data/mnist'). Nothing is downloaded."
    )
