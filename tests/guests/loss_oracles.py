"""Privacy losses computed anew: closed forms and quadrature in mpmath, exact sums on a lattice.

δ(ε) = E[max(0, 1 - e^(ε - L))] of the privacy loss L, for the neighbours that a mechanism is worst on.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from mpmath import mp, mpf

Delta = Callable[[float], mpf]


def gaussian_delta(mu: mpf, epsilon: mpf) -> mpf:
    """δ(ε) of Gaussian noise with sensitivity/σ = μ (Balle & Wang 2018, Theorem 8); for ε < 0, too."""
    with mp.workdps(40):
        near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return mp.ncdf(near) - mp.exp(epsilon) * mp.ncdf(far)


def laplace_losses(scale: Fraction, sensitivity: int, count: int) -> tuple[list[mpf], list[mpf]]:
    """The losses, and their probabilities, of `count` draws of discrete Laplace noise: exact, on a lattice.

    A draw k around the first of two totals, `sensitivity` apart, has the loss (|k - Δ| - |k|)/scale.
    """
    with mp.workdps(40):
        step = 1 / mpf(scale.numerator) * scale.denominator
        q = mp.exp(-step)
        inner = [(1 - q) / (1 + q) * q**k for k in range(1, sensitivity)]
        # the loss falls from Δ to -Δ by steps of two
        one = np.array([1 / (1 + q), *inner, q**sensitivity / (1 + q)], dtype=object)
        total = np.array([mpf(1)], dtype=object)
        for _ in range(count):
            total = np.convolve(total, one)
        losses = [(count * sensitivity - 2 * at) * step for at in range(len(total))]
        return losses, total.tolist()


def mixed_delta(
    mu_squared: Fraction, laplace: tuple[Fraction, int, int] | None, epsilon: float
) -> mpf:
    """δ(ε) of Gaussians with total μ² and some Laplace draws: a sum over the losses of the latter."""
    with mp.workdps(40):
        losses, chances = ([mpf(0)], [mpf(1)]) if laplace is None else laplace_losses(*laplace)
        if mu_squared == 0:
            parts = [
                c * (1 - mp.exp(epsilon - loss))
                for loss, c in zip(losses, chances, strict=True)
                if loss > epsilon
            ]
            return mp.fsum(parts)
        mu = mp.sqrt(mpf(mu_squared.numerator) / mu_squared.denominator)
        # 1 - e^(ε - l - G) with weight: a Gaussian's δ at what is left of ε
        return mp.fsum(
            c * gaussian_delta(mu, mpf(epsilon) - loss)
            for loss, c in zip(losses, chances, strict=True)
        )


def sampled_gaussian_delta(chance: float, sigma: float, epsilon: float) -> mpf:
    """δ(ε) of one Poisson-sampled Gaussian, the worse of both directions, by quadrature."""
    with mp.workdps(25):
        q, s, e = mpf(chance), mpf(sigma), mpf(epsilon)

        def plain(x: mpf) -> mpf:
            return mp.npdf(x, 0, s)

        def mixed(x: mpf) -> mpf:
            return (1 - q) * mp.npdf(x, 0, s) + q * mp.npdf(x, 1, s)

        # the ratio mixed/plain rises with x: one crossing bounds each integral
        def crossing(ratio: mpf) -> mpf | None:
            inside = (ratio - (1 - q)) / q
            return None if inside <= 0 else s**2 * mp.log(inside) + mpf(1) / 2

        def tails(at: mpf) -> tuple[mpf, mpf]:
            return mp.ncdf(-at / s), (1 - q) * mp.ncdf(-at / s) + q * mp.ncdf(-(at - 1) / s)

        high = crossing(mp.exp(e))
        assert high is not None
        above_plain, above_mixed = tails(high)
        come = above_mixed - mp.exp(e) * above_plain
        low = crossing(mp.exp(-e))
        gone = mpf(0)
        if low is not None:
            above_plain, above_mixed = tails(low)
            gone = (1 - above_plain) - mp.exp(e) * (1 - above_mixed)
        # quadrature of the same integral: the closed form must not be its own judge
        check = mp.quad(
            lambda x: mixed(x) - mp.exp(e) * plain(x), [high, high + 2 * s, high + 40 * s]
        )
        assert abs(check - come) <= mpf(10) ** -15
        return max(come, gone)
