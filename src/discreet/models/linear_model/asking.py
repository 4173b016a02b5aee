"""Which normal equations are asked for, on which grid: decided by public facts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.accounting import satisfies
from discreet.columns import Numeric
from discreet.events import Gaussian
from discreet.measures import ZCDP, ApproxDP, Measure, PureDP
from discreet.mechanisms import mechanism_for
from discreet.models.facts import Facts, Question
from discreet.models.shares import split_for, together
from discreet.queries import Moments, NormalEquations
from discreet.rational import square_root_above

Floats = npt.NDArray[np.float64]

#: Grids, finest first. A coarser one is used where the noise would exceed what the samplers can draw.
GRIDS = (15, 12, 9, 6)
#: The part of the budget that buys the target's mean and variance apart: three sums for the price of one. It
#: grows with the features: the equations' noise does too, until only the mean can be learned from few rows,
#: while on many rows the equations' share hardly counts. Chosen on training rows of Adult, bank, Pima, WDBC,
#: COMPAS and credit approval, with up to three targets each; 1/30 for a feature, about as good there, became
#: 1/35 after a look at training rows of law school.
TARGET_SHARE, TARGET_SHARE_OF_A_FEATURE, MAX_TARGET_SHARE = (
    Fraction(1, 5),
    Fraction(1, 35),
    Fraction(3, 5),
)
#: Above ε = 1 it falls like 1/ε, but not below this: more than enough for a mean leaves less for slopes.
MIN_TARGET_SHARE = Fraction(1, 10)
#: With fewer features the equations themselves tell them more exactly than that part would.
MIN_FEATURES = 2


@dataclass(frozen=True)
class Scales:
    """Midpoints and half-widths of columns: x = middle + half·u."""

    middle: Floats
    half: Floats

    @classmethod
    def of(cls, columns: tuple[Numeric, ...]) -> Scales:
        """The scales of some columns' declared bounds."""
        half = np.array([column.width / 2 for column in columns])
        return cls(np.array([float(column.lower) for column in columns]) + half, half)

    def divide(self, values: Floats) -> Floats:
        """values/half, and 0 for a column of equal bounds."""
        safe = np.where(self.half > 0, self.half, 1.0)
        with np.errstate(over="ignore"):
            found = np.where(self.half > 0, values / safe, 0.0)
        return np.nan_to_num(found, posinf=1e300, neginf=-1e300)


def equations(
    facts: Facts,
    measure: Measure,
    features: tuple[str, ...],
    target: str | None,
    *,
    square: bool,
    by: str | None = None,
) -> NormalEquations:
    """The query, on the finest grid whose noise can be drawn."""
    for bits in GRIDS:
        query = NormalEquations(features, target, square=square, bits=bits, by=by)
        sensitivity = query.sensitivity(facts.schema, facts.unit)
        try:
            mechanism_for(measure, sensitivity).distribution(sensitivity)
        except ValueError:
            continue
        break
    return query


def target_share(facts: Facts, epsilon: Fraction | float) -> Fraction:
    """The part of the budget that buys the target's moments, by the number of features and ε."""
    share = TARGET_SHARE_OF_A_FEATURE * len(facts.features)
    share = min(MAX_TARGET_SHARE, max(TARGET_SHARE, share))
    if isinstance(epsilon, float):  # public rows
        return share
    return max(MIN_TARGET_SHARE, share / max(Fraction(1), epsilon))


def split_with_target(
    facts: Facts, measure: PureDP | ApproxDP, query: NormalEquations
) -> tuple[PureDP | ApproxDP, tuple[Measure, Measure]]:
    """What is charged, and what the target's moments and the equations may cost of it.

    For (ε, δ) the smaller of Laplace noise, which then costs no δ, and Gaussian noise on the equations. With
    Gaussian noise there, the moments, which are few numbers, may still have less with Laplace noise: for a
    part of ε that leaves the equations the same noise, by basic composition.
    """
    share = target_share(facts, measure.epsilon)
    sensitivity = query.sensitivity(facts.schema, facts.unit)
    charged, (target, equations) = split_for(sensitivity, measure, (share, 1 - share), 1)
    if isinstance(target, ZCDP) and isinstance(measure, ApproxDP):
        assert facts.target is not None
        part = 1 - square_root_above(1 - share)
        moved = Moments(facts.target).sensitivity(facts.schema, facts.unit)
        exact = PureDP(measure.epsilon * part)
        rest = ApproxDP(measure.epsilon - exact.epsilon, measure.delta)
        is_less = 2 * (moved.l1 / exact.epsilon) ** 2 < moved.l2_squared / (2 * target.rho)
        if is_less and _costs_at_most(measure, facts, exact, rest, query):
            return charged, (exact, rest)
    return charged, (target, equations)


def _costs_at_most(
    measure: ApproxDP, facts: Facts, exact: PureDP, rest: ApproxDP, query: NormalEquations
) -> bool:
    """Whether a ledger's accountant, too, finds that Laplace noise and Gaussian noise cost no more.

    It knows mixtures by their privacy losses, which are too coarse for extreme budgets.
    """
    assert facts.target is not None
    try:
        asked = [facts.ask(Moments(facts.target), exact), facts.ask(query, rest)]
    except ValueError:  # that noise can't be drawn
        return False
    is_mixed = isinstance(asked[1].event, Gaussian)
    return is_mixed and satisfies(together(each.event for each in asked), measure)


def ask_with_target(
    facts: Facts, measure: PureDP | ApproxDP, query: NormalEquations
) -> tuple[PureDP | ApproxDP, Question, Question] | None:
    """What is charged for the target's moments and the equations, and both questions.

    None with too few features, or where noise of one of these sizes can't be drawn.
    """
    if len(facts.features) < MIN_FEATURES:
        return None
    assert facts.target is not None
    try:
        charged, (target, rest) = split_with_target(facts, measure, query)
        after = equations(facts, rest, facts.features, facts.target, square=query.square)
        return charged, facts.ask(Moments(facts.target), target), facts.ask(after, rest)
    except ValueError:
        return None
