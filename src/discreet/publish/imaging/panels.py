"""Pictures of masks: complex ones have a modulus, a real and an imaginary part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["crop_images", "draw_panels", "parts"]

Array = npt.NDArray[Any]


def parts(image: Any) -> dict[str, npt.NDArray[np.float64]]:
    """The modulus, the real and the imaginary part of an image (Choi & Lee 2019, figure 4.16).

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.publish.imaging import parts
    >>> {name: part.item() for name, part in parts(np.array([[3 + 4j]])).items()}
    {'modulus': 5.0, 'real part': 3.0, 'imaginary part': 4.0}
    """
    given = np.asarray(image)
    return {
        "modulus": np.abs(given).astype(np.float64),
        "real part": given.real.astype(np.float64),
        "imaginary part": given.imag.astype(np.float64),
    }


def crop_images(images: Any, multiple: int = 27) -> Array:
    """Cut the last rows and columns of images so that both sides are multiples of `multiple`.

    Images of 28 × 28 pixels become 27 × 27, the length of a wavelet with three bands (Choi & Lee 2019, 4.1).

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.publish.imaging import crop_images
    >>> crop_images(np.zeros((5, 28, 28))).shape
    (5, 27, 27)
    """
    given = np.asarray(images)
    if given.ndim not in (2, 3) or min(given.shape[-2:]) < multiple:
        raise ValueError(
            f"images must have the shape (height, width) or (count, height, width), with sides of at "
            f"least {multiple} pixels."
        )
    height, width = (size - size % multiple for size in given.shape[-2:])
    return given[..., :height, :width]


def draw_panels(
    images: Mapping[str, Any],
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    columns: int = 4,
    size: tuple[float, float] = (2.4, 2.7),
) -> Any:
    """Draw grey images side by side, each with its title.

    Parameters
    ----------
    images : mapping of titles to arrays of shape (height, width)
    bounds : pair of numbers
        What black and white are.
    columns : int
        How many stand in a row.
    size : pair of numbers
        Width and height of one, in inches.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> from discreet.publish.imaging import draw_code, draw_panels
    >>> figure = draw_panels({"ward A": draw_code("ward A"), "ward B": draw_code("ward B")})
    >>> [axes.get_title() for axes in figure.axes]
    ['ward A', 'ward B']
    """
    try:
        from matplotlib.figure import Figure  # the rest of the toolkit doesn't need it
    except ImportError:
        raise ImportError('panels need matplotlib: pip install "discreet[imaging]".') from None
    across = min(columns, max(1, len(images)))
    down = -(-max(1, len(images)) // across)
    figure = Figure(figsize=(size[0] * across, size[1] * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for place in axes[len(images) :]:
        place.set_axis_off()
    for place, (title, image) in zip(axes, images.items(), strict=False):
        place.imshow(image, cmap="gray", vmin=bounds[0], vmax=bounds[1], interpolation="nearest")
        place.set_title(title, fontsize=9)
        place.set(xticks=[], yticks=[])
    return figure
