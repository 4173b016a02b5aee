"""Images of a data set, one in each row, masked by a curator and published in a random order."""

from __future__ import annotations

from typing import final

import numpy as np
import numpy.typing as npt

from discreet import events, noise
from discreet.coding import VALUE_BITS
from discreet.columns import Numeric
from discreet.dataset import PrivateDataset
from discreet.publish.imaging.mask import LEVELS, ImageMask
from discreet.schema import Schema
from discreet.step import CodedRows, Step
from discreet.unit import Unit

__all__ = ["MaskedImages", "publish_images"]

#: The most pixels that are published at once: they are held in memory.
MAX_PIXELS = 2**28


def publish_images(data: PrivateDataset, mask: ImageMask) -> npt.NDArray[np.float64]:
    """Publish all images of a data set, each masked, in a random order.

    Parameters
    ----------
    data : PrivateDataset
        One image in each row: its columns are the pixels, line by line, each a number between the bounds of
        the mask. Its unit must be replace-one, with one row per person.
    mask : ImageMask

    Returns
    -------
    array of shape (images, height, width)

    Privacy
    -------
    The ledger charges what an image costs the person who gave it, whatever the mask protects: with
    ``protects="pixel"`` that is far more than its ε. Proof page: ``docs/proofs/imaging.md``.
    """
    if not isinstance(data, PrivateDataset):
        raise TypeError(
            f"data must be a dp.PrivateDataset, not {type(data).__name__}; to mask one's own image, use "
            "ImageMask.randomize."
        )
    step = MaskedImages(mask, data.rows)
    whole = mask.measure if mask.patch == mask.shape else None
    found: npt.NDArray[np.float64] = data.run(step, whole)
    return found


@final
class MaskedImages(Step):
    """Every image, masked, in a random order.

    Parameters
    ----------
    mask : ImageMask
    rows : int or None
        The public number of images: this many are published, however many there are. None on public rows.

    Privacy
    -------
    What one whole image costs, under replace-one with one row per person.
    Proof page: ``docs/proofs/imaging.md``.
    """

    def __init__(self, mask: ImageMask, rows: int | None) -> None:
        if not isinstance(mask, ImageMask):
            raise TypeError(f"mask must be an ImageMask, not {type(mask).__name__}.")
        self._mask, self._rows = mask, rows

    def event(self, schema: Schema, unit: Unit) -> events.Event:
        if not unit.is_public and (not unit.length_is_public or self._rows is None):
            raise ValueError(
                "images can be published under dp.REPLACE_ONE only, with one row per person: otherwise "
                "their number is private, and as many published images would reveal it."
            )
        height, width = self._mask.shape
        if self._rows is not None and self._rows * height * width > MAX_PIXELS:
            raise ValueError(f"rows: at most {MAX_PIXELS} pixels are published at once.")
        columns = tuple(schema.base.values())
        if len(columns) != height * width:
            raise ValueError(
                f"schema must have {height * width} columns, one for each pixel of the mask's shape, "
                f"not {len(columns)}."
            )
        for name, column in schema.base.items():
            bounds = (column.lower, column.upper) if isinstance(column, Numeric) else None
            if bounds != self._mask.bounds:
                raise ValueError(
                    f"column {name!r} must be a number between the bounds of the mask, "
                    f"{self._mask.bounds}."
                )
        return self._mask.event_of_image()

    def run(self, rows: CodedRows) -> npt.NDArray[np.float64]:
        steps = np.array(
            [column.steps(VALUE_BITS) for column in rows.schema.base.values()]  # type: ignore[union-attr]
        )
        levels = rows.codes * LEVELS // steps
        if self._rows is not None:  # a declared number is a constant, however many there are
            lacking = max(0, self._rows - len(levels))
            # if there are more, which ones are left out must not depend on an engine's order
            levels = levels[noise.permutation(len(levels))][: self._rows]
            grey = np.full((lacking, levels.shape[1]), LEVELS // 2, np.int64)
            levels = np.concatenate([levels, grey])
        reports = self._mask.blur(levels.reshape(len(levels), *self._mask.shape))
        return self._mask.decode(reports[noise.permutation(len(reports))])

    def __repr__(self) -> str:
        return f"MaskedImages({self._mask.shape}, protects={self._mask.protects!r})"
