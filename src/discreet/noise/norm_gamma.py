"""Vectors whose length has a Gamma distribution: noise for bounds in L2, as in the papers.

Directions and lengths are made in floating point: the distribution is the stated one in real arithmetic
only. What rests on it is *assumed*, not proved, and the ledger is told so. Proof page:
``docs/proofs/erm.md``.
"""

from __future__ import annotations

import numpy as np

from discreet.noise.arrays import Floats
from discreet.noise.gaussian import rounded_gaussian
from discreet.noise.laplace import geometric

__all__ = ["check_norm_gamma", "norm_gamma"]

#: How many parts directions and radii are drawn in.
_PARTS = 2**30


def check_norm_gamma(size: int, scale: float, longest: float) -> None:
    """Raise if vectors of this many coordinates can be longer than `longest`, beyond which they are cut.

    A radius Gamma(size, scale) exceeds 2·(size + 64)·scale less than once in e^64 times.
    """
    if not 2 * (size + 64) * scale <= longest:
        raise ValueError(
            f"this would need norm-Gamma noise of scale {scale:.3g}, which can't be drawn in full: "
            "give a larger budget."
        )


def norm_gamma(count: int, size: int, scale: float) -> Floats:
    """Draw `count` vectors of density ∝ exp(-‖b‖/scale): a radius Gamma(size, scale), any direction."""
    shape = count, size
    radius = (geometric(_PARTS, shape) + 0.5).sum(axis=1) * (scale / _PARTS)
    normal = rounded_gaussian(_PARTS, shape).astype(np.float64)
    length = np.maximum(np.linalg.norm(normal, axis=1), 1.0)
    return np.asarray(normal * (radius / length)[:, None])
