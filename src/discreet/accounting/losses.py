"""Privacy losses of events. Proof page: ``docs/proofs/accounting.md``."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from discreet.accounting.counts import GAUSSIAN, PAIR, PURE, Accountant, NoBound
from discreet.events import DiscreteGaussian, Event, Gaussian, RepeatAndSelect
from discreet.measures import ApproxDP, GaussianDP, Measure, PrivacyLoss, PureDP
from discreet.measures.loss import identity
from discreet.measures.loss_atoms import DiscreteNormal, Normal, Response

__all__ = ["loss_of"]

#: Pure guarantees beyond this are not put on a grid: they say next to nothing.
_LARGEST_LOSS = 50
#: Discrete Gaussian distributions are summed integer by integer, for σ between these.
_SMALLEST_SIGMA, _LARGEST_SIGMA = Fraction(1, 10), 2**14


class _LossCount(Accountant[PrivacyLoss]):
    kind = PrivacyLoss
    zero = identity()

    def leaf(self, event: Event) -> PrivacyLoss:
        if isinstance(event, Gaussian):
            return self._gaussian(event.sensitivity_squared / event.sigma**2, Fraction(1))
        if isinstance(event, DiscreteGaussian) and event.sensitivity_squared:
            return self._discrete_gaussian(event)
        # discrete Laplace noise at sensitivity 1 and randomised response *are* the worst of their ε
        return self._pair(self._pure(event))

    def _pair(self, epsilon: Fraction | float, delta: Fraction = Fraction(0)) -> PrivacyLoss:
        if epsilon > _LARGEST_LOSS:
            raise NoBound(f"privacy-loss distributions are not made for ε above {_LARGEST_LOSS}.")
        loss = PrivacyLoss(((Response(Fraction(epsilon)), 1),)) if epsilon else identity()
        return loss + PrivacyLoss((), ((delta, 1),) if delta else ())

    def _gaussian(self, mu_squared: Fraction, chance: Fraction) -> PrivacyLoss:
        return PrivacyLoss(((Normal(mu_squared, chance), 1),)) if mu_squared else identity()

    def _discrete_gaussian(self, event: DiscreteGaussian) -> PrivacyLoss:
        # an integer vector with a squared distance of 1 moves in one coordinate, by 1
        if event.sensitivity_squared != 1:
            raise NoBound(
                "the privacy loss of discrete Gaussian noise is known only for a sensitivity of 1: "
                "it depends on the direction of a longer vector. Use the Rényi curve."
            )
        if not _SMALLEST_SIGMA <= event.sigma <= _LARGEST_SIGMA:
            raise NoBound(
                "the privacy loss of discrete Gaussian noise is summed for σ from "
                f"{float(_SMALLEST_SIGMA):g} to {_LARGEST_SIGMA} only."
            )
        return PrivacyLoss(((DiscreteNormal(event.sigma, 1), 1),))

    def largest(self, branches: list[PrivacyLoss], reach: int) -> PrivacyLoss:
        if len(branches) > reach:
            raise NoBound("losses of different branches have no largest: use the Rényi curve.")
        total = self.zero
        for branch in branches:
            total = total + branch
        return total

    def external(self, measure: Measure) -> PrivacyLoss:
        if isinstance(measure, PureDP | ApproxDP):
            delta = measure.delta if isinstance(measure, ApproxDP) else Fraction(0)
            return self._pair(measure.epsilon, delta)
        if isinstance(measure, GaussianDP):
            return self._gaussian(measure.mu_squared, Fraction(1))
        raise NoBound(f"{type(measure).__name__} gives no privacy-loss distribution.")

    def poisson(self, chance: Fraction, event: Event) -> PrivacyLoss:
        try:
            mu_squared = GAUSSIAN.total(event).mu_squared
        except NoBound:
            pair = PAIR.poisson(chance, event)
            return self._pair(pair.epsilon, pair.delta)
        return self._gaussian(mu_squared, chance)

    def select(self, event: RepeatAndSelect) -> PrivacyLoss:
        return self._pair(PURE.select(event).epsilon)


_LOSS = _LossCount()


@lru_cache(maxsize=1024)
def loss_of(event: Event) -> PrivacyLoss:
    """What the privacy loss of an event is made of."""
    return _LOSS.total(event)
