"""One budget for several answers that are planned together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from discreet import events
from discreet.accounting import calibrate
from discreet.coding import Sensitivity
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.rational import Number, rational

__all__ = ["split", "split_for", "together"]

#: How much less of ρ is split than one Gaussian mechanism may have.
ROUNDING = Fraction(1, 2**30)


def split(measure: PureDP | ApproxDP | Measure, weights: Sequence[Number]) -> tuple[Measure, ...]:
    """What each of several answers may cost so that all together cost `measure`.

    Pure ε is split by `weights`. For (ε, δ) all answers must be sums with Gaussian noise: a composition
    of Gaussian mechanisms is one with the sum of their squared signal-to-noise ratios (Dong, Roth & Su
    2022, Corollary 3.3), so that sum is calibrated to (ε, δ) once and split by `weights`; nothing is
    lost against one answer.

    Parameters
    ----------
    measure : PureDP or ApproxDP
    weights : positive numbers
        Shares of ε, or of ρ = μ²/2; public.
    """
    shares = [rational(weight, "weights") for weight in weights]
    total = sum(shares, Fraction(0))
    if not isinstance(measure, PureDP | ApproxDP):
        raise TypeError("measure must be dp.PureDP or dp.ApproxDP.")
    if isinstance(measure.epsilon, float):  # public rows
        return (PureDP(math.inf),) * len(shares)
    if isinstance(measure, PureDP) or not measure.delta:
        return tuple(PureDP(measure.epsilon * share / total) for share in shares)
    rho = _find_rho(measure)
    return tuple(ZCDP(rho * share / total) for share in shares)


def split_for(
    sensitivity: Sensitivity, measure: PureDP | ApproxDP, weights: Sequence[Number], at: int
) -> tuple[PureDP | ApproxDP, tuple[Measure, ...]]:
    """What is charged for several answers, and what each of them may cost.

    For (ε, δ) the smaller of Laplace noise, which then costs no δ, and Gaussian noise on one of the answers.

    Parameters
    ----------
    sensitivity : Sensitivity
        That of the answer on which noise is to be small.
    measure : PureDP or ApproxDP
    weights : positive numbers
        Shares as for `split`.
    at : int
        The place of that answer among the weights.
    """
    pure = PureDP(measure.epsilon)
    laplace = split(pure, weights)
    if isinstance(measure, PureDP) or not measure.delta or isinstance(measure.epsilon, float):
        return pure, laplace
    normal, exact = split(measure, weights), laplace[at]
    own = normal[at]
    assert isinstance(own, ZCDP)
    assert isinstance(exact, PureDP)
    if 2 * (sensitivity.l1 / exact.epsilon) ** 2 <= sensitivity.l2_squared / (2 * own.rho):
        return pure, laplace
    return measure, normal


def together(parts: Iterable[events.Event]) -> events.Compose:
    """One event for several; those that cost nothing are left out."""
    return events.Compose(*(part for part in parts if part != events.Compose()))


@lru_cache(maxsize=256)
def _find_rho(target: ApproxDP) -> Fraction:
    """The largest known ρ = μ²/2 of a Gaussian mechanism that is (ε, δ)-DP."""
    sigma = calibrate(lambda sigma: events.Gaussian(sigma), target).sigma
    # the noise of parts is rounded on its own, and recounted together it must not cost a hair more
    return (1 - ROUNDING) / (2 * Fraction(sigma) ** 2)
