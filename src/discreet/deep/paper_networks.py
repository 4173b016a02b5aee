"""Networks that papers use, as torch modules."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["wavelet_paper_cnn"]


def wavelet_paper_cnn(classes: int = 10, dropout: tuple[float, float] | None = None) -> Any:
    """The convolutional network of the paper on wavelet masks, for grey images of 27 × 27 pixels.

    Two convolutions of 3 × 3 with 32 and 64 channels, the maximum of each 2 × 2, a layer of 128 and one of
    `classes`: 1,011,466 parameters for 10 classes. Input has shape (images, 1, 27, 27), output is scores.

    Parameters
    ----------
    classes : int
    dropout : pair of float, optional
        The rates of the paper's two dropout layers, behind the maximum and behind the layer of 128. It
        doesn't print them; the example of Keras that it names has (0.25, 0.5). Without it there are none.
    """
    nn = import_module("torch").nn
    first, second = [[nn.Dropout(rate)] for rate in dropout] if dropout else ([], [])
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        *first,
        nn.Flatten(),
        nn.Linear(64 * 11 * 11, 128),
        nn.ReLU(),
        *second,
        nn.Linear(128, classes),
    )
