"""The exponential mechanism, drawn exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from discreet import events, noise
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.mechanisms.additive import Mechanism
from discreet.mechanisms.permute_and_flip import check_scores
from discreet.rational import square_root_above

Integers = npt.NDArray[np.int64]


@final
class Exponential(Mechanism):
    """The exponential mechanism: draws with probability ∝ exp(ε·score/(2·sensitivity)) that share a budget.

    Parameters
    ----------
    measure : PureDP, ApproxDP or ZCDP
        ε-DP, or ρ-zCDP by bounded range. A δ is not needed and not charged.

    Privacy
    -------
    McSherry & Talwar 2007; ρ by bounded range: Cesar & Rogers 2021. Proof page: ``docs/proofs/quantiles.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import measures, mechanisms
    >>> votes = [31, 900, 40]
    >>> mechanisms.Exponential(measures.PureDP(1)).run(votes, np.ones(3, int), sensitivity=1)
    1
    """

    _use = "it draws among candidates, as for dp.Quantile"

    def __init__(self, measure: Measure) -> None:
        if isinstance(measure, ApproxDP):
            measure = PureDP(measure.epsilon)
        if not isinstance(measure, PureDP | ZCDP):
            raise ValueError(
                "measure must be dp.PureDP(epsilon), dp.ApproxDP(epsilon, delta) or dp.ZCDP(rho), "
                f"not {type(measure).__name__}."
            )
        if (measure.epsilon if isinstance(measure, PureDP) else measure.rho) == 0:
            raise ValueError("epsilon (or rho) must be greater than 0.")
        self.measure: PureDP | ZCDP = measure

    def epsilon(self, draws: int = 1) -> Fraction | float:
        """The range ε of each of `draws` draws."""
        if isinstance(self.measure, PureDP):
            return self.measure.epsilon / draws
        if isinstance(self.measure.rho, float):
            return math.inf
        # ρ = draws·ε²/8; the root is taken from below
        return 8 * self.measure.rho / draws / square_root_above(8 * self.measure.rho / draws)

    def event(self, draws: int = 1) -> events.Event:
        """The event of `draws` draws, for the accountant."""
        event = events.Exponential(Fraction(self.epsilon(draws)))
        return event if draws == 1 else events.Repeat(event, draws)

    def run(
        self, scores: npt.ArrayLike, weights: Integers, sensitivity: int, draws: int = 1
    ) -> int:
        """Draw the index of one candidate; `weights` say how many candidates share a score."""
        epsilon = self.epsilon(draws)
        scores = check_scores(scores)
        if isinstance(epsilon, float) or sensitivity == 0:
            best = np.flatnonzero((scores == scores[weights > 0].max()) & (weights > 0))
            return int(best[len(best) // 2])
        return int(noise.select(scores, epsilon / (2 * sensitivity), weights))

    def expected_error(
        self, candidates: int, sensitivity: int, level: float, draws: int = 1
    ) -> float:
        """The most by which, with probability `level`, the drawn score falls short of the best.

        Source: McSherry & Talwar 2007, Lemma 7; (2·sensitivity/ε)·(log candidates + log 1/(1-level)).
        """
        epsilon = self.epsilon(draws)
        if math.isinf(epsilon):
            return 0.0
        return 2 * sensitivity / float(epsilon) * (math.log(candidates) - math.log1p(-level))

    def __repr__(self) -> str:
        return f"Exponential({self.measure!r})"
