"""Masks of tables with wavelets: as they were published, for public rows, and repaired, for private ones."""

from discreet.publish.masks.angles import AngleEmbedding
from discreet.publish.masks.clamped_sigmoid import ClampedSigmoid
from discreet.publish.masks.published import LS, LSPlus, PseudoQuantum
from discreet.publish.masks.wavelet import WaveletApproximation, WaveletGaussian, WaveletLaplace

__all__ = [
    "LS",
    "AngleEmbedding",
    "ClampedSigmoid",
    "LSPlus",
    "PseudoQuantum",
    "WaveletApproximation",
    "WaveletGaussian",
    "WaveletLaplace",
]
