"""Right mechanisms with a wrong price."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet import accounting, events
from discreet.audit.exact import gaussian_cells
from discreet.guarantees.bugs.broken_noise import integer_laplace
from discreet.ledger.amounts import Amounts
from discreet.ledger.caps import order_cap
from discreet.ledger.filters import RenyiFilter
from discreet.measures import ApproxDP, Measure

Floats = npt.NDArray[np.float64]


class WholeDeltaFilter(RenyiFilter):
    """A Rényi filter that lets a charge pass while *one* order is within the *whole* δ.

    For a plan that is fixed in advance the best order may be chosen afterwards. An analyst who chooses
    questions by earlier answers can use up another order on each branch, and each branch adds its δ.
    """

    def caps(self, limit: Measure) -> Amounts:
        assert isinstance(limit, ApproxDP)
        whole = {
            f"{order:g}": order_cap(order, Fraction(limit.epsilon), limit.delta)
            for order in self.orders
        }
        return {**whole, "delta": Fraction(0)}


def poisson_price(rate: float, sigma: float, delta: float) -> ApproxDP:
    """The cost of a sum over a Poisson sample with Gaussian noise: add/remove, sensitivity 1."""
    event = events.Poisson(str(rate), events.Gaussian(Fraction(str(sigma))))
    return accounting.cost(event, ApproxDP, delta=delta)


def fixed_batch_distributions(rate: float, sigma: float, edges: Floats) -> tuple[Floats, Floats]:
    """The distributions of a noisy sum over a batch of *fixed* size, with and without one more row.

    All rows contribute -1, the additional one +1. It is in the batch with probability `rate`, and then
    it takes the place of another: the sum moves by 2. Probabilities of the cells between `edges`,
    where 0 is the sum without it.
    """
    without, moved = (gaussian_cells(at, sigma, edges) for at in (0.0, 2.0))
    return without, (1 - rate) * without + rate * moved


def threshold_without_its_mass(scale: float, delta: float) -> int:
    """The least τ with P(1 + K > τ) <= δ, for keys that are released at 1 + K >= τ.

    The mass at the threshold is forgotten: δ is e^(1/scale) times as large.
    """
    q = math.exp(-1 / scale)
    return math.ceil(-scale * math.log((1 + q) * delta))


def sum_with_the_sensitivity_of_one_row(
    totals: npt.ArrayLike, trials: int, *, rows_per_person: int, epsilon: float
) -> npt.NDArray[np.int64]:
    """A count of rows where a person has many, with noise for only one. `rows_per_person` is not used."""
    return np.asarray(totals, np.int64) + integer_laplace(1 / epsilon, trials)
