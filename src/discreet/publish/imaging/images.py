"""Images of a data set, one in each row, masked by a curator and published in a random order."""

from __future__ import annotations

from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet import events
from discreet.coding import VALUE_BITS
from discreet.columns import Numeric
from discreet.dataset import PrivateDataset
from discreet.publish.imaging.mask import LEVELS, ImageMask
from discreet.publish.row_release import SeparateRows
from discreet.publish.tables.sinks import open_sink
from discreet.publish.tables.writing import release_rows
from discreet.schema import Schema

__all__ = ["MaskedImages", "publish_images"]


def publish_images(
    data: PrivateDataset,
    mask: ImageMask,
    *,
    to: Any = None,
    order_by: str | None = None,
    private: str | Path | None = None,
) -> Any:
    """Publish all images of a data set, each masked, in a random order.

    Parameters
    ----------
    data : PrivateDataset
        One image in each row: its columns are the pixels, line by line, each a number between the bounds of
        the mask. Its unit must be replace-one, with one row per person.
    mask : ImageMask
    to : path or URL, optional
        A folder for Parquet files, or the address of a table: images are written there once, in bounded
        memory and in their public order, one column for each pixel, and not returned.
    order_by, private
        As for `write_rows`.

    Returns
    -------
    array of shape (images, height, width), or Written

    Privacy
    -------
    The ledger charges what an image costs the person who gave it, whatever the mask protects: with
    ``protects="pixel"`` that is far more than its ε. Proof page: ``docs/proofs/imaging.md``.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dp
    >>> from discreet.publish.imaging import ImageMask, publish_images
    >>> mask = ImageMask((9, 9), epsilon=4, delta=1e-6, protects="image")
    >>> schema = dp.Schema(**{f"p{i}": dp.Real(0, 1) for i in range(81)})
    >>> ledger = dp.Ledger(limit=dp.ApproxDP(4, 1e-6), unit=dp.REPLACE_ONE)
    >>> data = dp.PrivateDataset(np.zeros((5, 81)), schema, ledger=ledger)
    >>> publish_images(data, mask).shape
    (5, 9, 9)
    """
    to = None if to is None else open_sink(to)
    if not isinstance(data, PrivateDataset):
        raise TypeError(
            f"data must be a dp.PrivateDataset, not {type(data).__name__}; to mask one's own image, use "
            "ImageMask.randomize."
        )
    step = MaskedImages(mask, data.schema, data.rows)
    whole = mask.measure if mask.patch == mask.shape else None
    return release_rows(data, step, whole, to, order_by, private)


@final
class MaskedImages(SeparateRows):
    """Every image, masked, in a random order.

    Parameters
    ----------
    mask : ImageMask
    schema : Schema
        One column for each pixel.
    rows : int or None
        As for `RowRelease`.

    Privacy
    -------
    What one whole image costs, under replace-one with one row per person.
    Proof page: ``docs/proofs/imaging.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.publish.imaging import ImageMask, MaskedImages
    >>> mask = ImageMask((9, 9), epsilon=4, protects="pixel")
    >>> schema = dp.Schema(**{f"p{i}": dp.Real(0, 1) for i in range(81)})
    >>> len(MaskedImages(mask, schema, rows=100).columns)
    81
    """

    title = "images"

    def __init__(self, mask: ImageMask, schema: Schema, rows: int | None) -> None:
        if not isinstance(mask, ImageMask):
            raise TypeError(f"mask must be an ImageMask, not {type(mask).__name__}.")
        super().__init__(schema, rows)
        self._mask = mask

    def check_columns(self, schema: Schema) -> None:
        super().check_columns(schema)
        height, width = self._mask.shape
        if len(self.columns) != height * width:
            raise ValueError(
                f"schema must have {height * width} columns, one for each pixel of the mask's shape, "
                f"not {len(self.columns)}."
            )
        for name, column in schema.base.items():
            bounds = (column.lower, column.upper) if isinstance(column, Numeric) else None
            if bounds != self._mask.bounds:
                raise ValueError(
                    f"column {name!r} must be a number between the bounds of the mask, "
                    f"{self._mask.bounds}."
                )

    def event_of_row(self) -> events.Event:
        return self._mask.event_of_image()

    def blur(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        steps = np.array([column.steps(VALUE_BITS) for column in self.schema.base.values()])  # type: ignore[union-attr]
        levels = codes * LEVELS // steps
        reports = self._mask.blur(levels.reshape(len(levels), *self._mask.shape))
        return self._mask.decode(reports)

    def as_columns(self, blurred: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[Any]]:
        return dict(zip(self.columns, blurred.reshape(len(blurred), -1).T, strict=True))

    def __repr__(self) -> str:
        return f"MaskedImages({self._mask.shape}, protects={self._mask.protects!r})"
