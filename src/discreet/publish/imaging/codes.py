"""QR codes as images: drawn by segno, read by zxing-cpp. Both are optional (the extra ``imaging``)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.rational import as_integer

__all__ = ["draw_code", "scan_code"]

Floats = npt.NDArray[np.float64]

#: The quiet zone that the standard asks for, in modules (ISO/IEC 18004).
_BORDER = 4
#: How many pixels of a module a reader is shown.
_ENLARGED = 8


def draw_code(text: str, *, pixels: int = 1, version: int = 3, multiple: int = 1) -> Floats:
    """Draw a QR code: 0 is black, 1 is white.

    Parameters
    ----------
    text : str
    pixels : int
        The side of a module.
    version : int
        From 1 to 40; a code of version 3 has 29 × 29 modules.
    multiple : int
        White rows and columns are added below and on the right up to a multiple of this, as a wavelet
        transform needs it.

    Examples
    --------
    >>> from discreet.publish.imaging import draw_code, scan_code
    >>> code = draw_code("ward A", pixels=4)
    >>> code.shape, scan_code(code, pixels=4)
    ((148, 148), 'ward A')
    """
    segno = _import("segno")
    side = as_integer(pixels, "pixels", minimum=1)
    modules = np.array(
        segno.make_qr(text, version=as_integer(version, "version", minimum=1)).matrix, np.float64
    )
    image = np.kron(1 - np.pad(modules, _BORDER), np.ones((side, side)))
    lacking = -len(image) % as_integer(multiple, "multiple", minimum=1)
    return np.pad(image, (0, lacking), constant_values=1.0)


def scan_code(
    image: Any, *, pixels: int = 1, bounds: tuple[float, float] = (0.0, 1.0)
) -> str | None:
    """The text of the QR code in an image, or None if it can't be read.

    Parameters
    ----------
    image : array of shape (height, width)
    pixels : int
        The side of a module, which is public: noise is averaged over each module before the code is read.
    bounds : pair of numbers
        What black and white are. The image is clamped to them and enlarged; it is read as it is, and again
        with each module set to black or white.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.publish.imaging import draw_code, scan_code
    >>> scan_code(draw_code("ward A", pixels=4), pixels=4)
    'ward A'
    >>> scan_code(np.ones((116, 116)), pixels=4) is None
    True
    """
    zxingcpp = _import("zxingcpp")
    lower, upper = bounds
    given = np.asarray(image, np.float64)
    if given.ndim != 2 or not lower < upper:
        raise ValueError("image must have the shape (height, width), and bounds an order.")
    side = as_integer(pixels, "pixels", minimum=1)
    height, width = (size // side for size in given.shape)
    known = np.nan_to_num(given[: height * side, : width * side], nan=lower)
    modules = known.reshape(height, side, width, side).mean(axis=(1, 3))
    grey = np.clip((modules - lower) / (upper - lower), 0, 1)
    for shown in (grey, (grey >= 0.5).astype(np.float64)):
        large = np.kron(shown * 255, np.ones((_ENLARGED, _ENLARGED))).astype(np.uint8)
        for found in zxingcpp.read_barcodes(large, formats=zxingcpp.BarcodeFormat.QRCode):
            if found.valid:
                return str(found.text)
    return None


def _import(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f'QR codes need {name}: pip install "discreet[imaging]".') from None
