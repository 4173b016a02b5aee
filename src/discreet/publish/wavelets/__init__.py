"""The discrete M-band wavelet transform: filter banks, transforms in linear time, exact integer forms.

>>> from discreet.publish.wavelets import DAUBECHIES_4, HAAR, THREE_BAND
>>> [(bank.bands, bank.length) for bank in (HAAR, DAUBECHIES_4, THREE_BAND)]
[(2, 2), (2, 4), (3, 6)]

>>> from discreet.publish.wavelets import FOUR_BAND, FOUR_BAND_REGULAR
>>> [(bank.bands, bank.length) for bank in (FOUR_BAND, FOUR_BAND_REGULAR)]
[(4, 4), (4, 12)]
"""

from discreet.publish.wavelets.banks import (
    DAUBECHIES_4,
    FOUR_BAND,
    FOUR_BAND_REGULAR,
    HAAR,
    THREE_BAND,
    FilterBank,
    haar,
)
from discreet.publish.wavelets.integers import IntegerTransform
from discreet.publish.wavelets.transform import (
    Bands,
    bands,
    forward,
    forward_blocks,
    inverse,
    inverse_blocks,
    padded_length,
)

__all__ = [
    "DAUBECHIES_4",
    "FOUR_BAND",
    "FOUR_BAND_REGULAR",
    "HAAR",
    "THREE_BAND",
    "Bands",
    "FilterBank",
    "IntegerTransform",
    "bands",
    "forward",
    "forward_blocks",
    "haar",
    "inverse",
    "inverse_blocks",
    "padded_length",
]
