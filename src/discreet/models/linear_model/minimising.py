"""A line by noise in the objective: apart because it reads rows, where the others have noised sums alone.

With few rows or many features the products of columns drown in noise; the gradient of a bounded loss, which
has as many entries as there are features, doesn't. The target's mean and variance are bought first, and
residuals are told in its deviations, so that a fit which learns nothing predicts about the mean: without its
outliers, where the target is skewed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from discreet.accounting import satisfies
from discreet.dataset import PrivateDataset
from discreet.events import Event
from discreet.measures import ApproxDP, PureDP
from discreet.models.erm.features import MAX_FEATURES, FeatureMap
from discreet.models.erm.losses import HuberSquare
from discreet.models.erm.perturbation import ObjectivePerturbation
from discreet.models.erm.regulariser import GUESSED_ROWS
from discreet.models.erm.step import MinimisedRisk
from discreet.models.erm.task import Task
from discreet.models.facts import Facts, Question
from discreet.models.linear_model.asking import MIN_FEATURES, Scales
from discreet.models.linear_model.shrinking import MEAN_VARIANCE, MIN_VARIANCE, Bought
from discreet.models.linear_model.solving import Solution, entry_noise
from discreet.models.shares import together
from discreet.queries import Moments
from discreet.rational import positive

Floats = npt.NDArray[np.float64]

#: Residuals are told in units of this many deviations of the target.
REACH = 2.0
#: Up to this share of a unit they are squared, and from twice that on they grow linearly; or, with little
#: noise, up to a whole one, so that skewed targets are predicted nearer to their mean than to their median.
WIDTH, WIDE = Fraction(1, 2), Fraction(1)
#: There is little noise where ε·rows is at least this for each feature.
WIDE_ROWS = 600
#: Mean and variance of the target are bought for the share of ε that is this over ε·rows, within limits.
TARGET_ROWS = 100
MIN_TARGET_SHARE, MAX_TARGET_SHARE = Fraction(1, 10), Fraction(1, 2)
#: Noised sums are better where rows are at least this times the deviation of a sum's noise, times the root of
#: the number of features; and beyond so many rows every engine adds them up faster than rows can be read.
ROWS_FOR_SUMS, MANY_ROWS = 250, 2**20


@final
@dataclass(frozen=True, eq=False)
class Minimised:
    """What is asked of the target, and the step on rows that follows.

    Attributes
    ----------
    facts : Facts
    moments : Question
    step : MinimisedRisk
    """

    facts: Facts
    moments: Question
    step: MinimisedRisk

    @property
    def event(self) -> Event:
        """Both, for the accountant."""
        step = self.step.event(self.facts.schema, self.facts.unit)
        return together([self.moments.event, step])

    def charged(self, measure: PureDP | ApproxDP) -> PureDP | ApproxDP:
        """What is charged of a budget: no δ where Laplace noise on both needs none."""
        pure = PureDP(measure.epsilon)
        return pure if satisfies(self.event, pure) else measure

    def run(self, door: PrivateDataset, target: Scales) -> Solution:
        """Ask for both, in this order; the line in scaled units."""
        bought = Bought.of(self.moments.release(door), target)
        kept = MEAN_VARIANCE / (MEAN_VARIANCE + bought.mean_error**2)
        middle = float(np.clip(kept * bought.mean, -1.0, 1.0))
        # a variance that may be larger by its error: with a unit that is too small more residuals are bent
        variance = float(np.clip(bought.variance + bought.variance_error, MIN_VARIANCE, 1.0))
        unit = REACH * math.sqrt(variance)
        weights = door.run(self.step.with_target(middle, unit))[0]
        return Solution(
            middle + unit * float(weights[-1]), unit * weights[:-1], float(self.step.regulariser)
        )


def plan_minimised(
    facts: Facts, measure: PureDP | ApproxDP, rows: int | None, penalty: float
) -> Minimised:
    """What is asked, and the step, by public facts.

    Parameters
    ----------
    facts : Facts
    measure : PureDP or ApproxDP
        The budget of both.
    rows : int or None
        A public guess of their number.
    penalty : float
        The largest ridge that was asked for; no less than this is used for all slopes.
    """
    assert facts.target is not None
    guess = GUESSED_ROWS if rows is None else max(1, rows)
    first, second = _divide(measure, guess)
    width = WIDTH
    if measure.epsilon * guess >= WIDE_ROWS * len(facts.features):
        width = WIDE
    features = FeatureMap(facts.columns, True)
    if features.width > MAX_FEATURES:
        raise ValueError(
            f"X has {features.width - 1} features: method='objective' takes less than {MAX_FEATURES}."
        )

    def perturbation(alpha: Fraction | None) -> ObjectivePerturbation:
        return ObjectivePerturbation(
            Task(
                HuberSquare(width),
                features.width,
                features.radius,
                features.length,
                second,
                facts.unit,
                alpha,
                guess,
                features.directions,
            )
        )

    found = perturbation(None)
    if penalty > found.task.most_regulariser:
        raise ValueError(
            "alpha is too large for method='objective': in columns scaled to their bounds it is more than "
            "the solver can tell from an infinite one. Give a smaller one, or method='sufficient_statistics'."
        )
    if penalty > found.regulariser:
        found = perturbation(positive(penalty, "alpha"))
    names = (*facts.features, facts.target)
    step = MinimisedRisk(names, facts.declare_rows(), features, found)
    return Minimised(facts, facts.ask(Moments(facts.target), first), step)


def _divide(measure: PureDP | ApproxDP, rows: int) -> tuple[PureDP | ApproxDP, PureDP | ApproxDP]:
    """The budgets of the target's moments and of the step: ε adds up, and the step has all of δ."""
    if isinstance(measure.epsilon, float):  # public rows
        return measure, measure
    share = min(MAX_TARGET_SHARE, max(MIN_TARGET_SHARE, TARGET_ROWS / (measure.epsilon * rows)))
    rest = measure.epsilon * (1 - share)
    return PureDP(measure.epsilon * share), (
        ApproxDP(rest, measure.delta) if isinstance(measure, ApproxDP) else PureDP(rest)
    )


def has_few_rows(facts: Facts, rows: int | None, question: Question) -> bool:
    """Whether so few rows are expected that they should be read, rather than `question` be asked."""
    features = len(facts.features)
    if rows is None or rows > MANY_ROWS or not MIN_FEATURES <= features < MAX_FEATURES:
        return False
    noise = entry_noise(np.asarray(question.expected_error(max(1, rows))))
    return bool(rows < ROWS_FOR_SUMS * math.sqrt(features) * noise)
