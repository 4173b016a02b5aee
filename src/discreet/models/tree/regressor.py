"""Decision trees of numbers: means in leaves, between bounds that are drawn closer first."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.columns import Clamped, Integer, Numeric, Real
from discreet.measures import Measure
from discreet.models import learned
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.targets import PrivateRegressor
from discreet.models.tree.greedy import LARGER_LEAVES, LEAVES, Expected, GreedyTree, Seen
from discreet.models.tree.smoothing import CHILD_SPREAD, leaf_means, whole_mean
from discreet.models.tree.structure import free_name, mean_depth, strength
from discreet.models.tree.target import COUNT_WEIGHT, read_target, target_query
from discreet.queries import Additive, CentredSums, Mean
from discreet.release import Release

Floats = npt.NDArray[np.float64]

#: ε·rows below which leaves have the larger share.
FEW_ROWS_FOR_MEANS = 2000
#: The share of the budget that buys mean and variance of the target.
MOMENTS = Fraction(1, 20)
#: How many standard deviations from its mean splits and leaves see the target: means of what is clamped are
#: biased, which hurts leaves more.
SPLIT_REACH, LEAF_REACH = 2.0, 3.0


def clamp(facts: Facts, first: Release | None, reach: float) -> Seen:
    """The target within some standard deviations of its noised mean; before that is known, as declared."""
    assert facts.target is not None
    column = facts.schema[facts.target]
    assert isinstance(column, Numeric)
    low, high = float(column.lower), float(column.upper)
    if first is not None:
        target, half = read_target(first, column), (high - low) / 2
        away = reach * half * math.hypot(target.deviation, target.mean_error)
        middle = low + half * (1 + target.mean)
        closer = max(low, middle - away), min(high, middle + away)
        if closer[0] < closer[1]:  # not so where rounding leaves nothing between them
            low, high = closer
    name = free_name("closer target", facts.schema)
    return Seen(name, {name: Clamped.from_column(facts.target, column, low, high)})


@final
@with_parameters
class DecisionTreeRegressor(GreedyTree, PrivateRegressor):
    """A decision tree whose splits are chosen privately, with noised means in its leaves.

    As `DecisionTreeClassifier`, with splits scored by |S - n·m|, summed over their sides, S the sum of the
    target and m its noised mean in the node. Mean and variance of the target are bought before: splits see
    it clamped at two standard deviations from its mean, leaves at three. Leaves have a noised count and sum.

    Attributes
    ----------
    tree_ : tuple
        The splits, as `schema.Tree` takes them.
    depth_ : int
    leaf_values_ : array of shape (leaves, 2)
        The noised counts, and noised sums of the target scaled from `target_range_` to [-1, 1].
    leaf_mean_ : array over leaves
    target_range_ : pair of float
        Between which bounds leaves see the target, from its noised mean and variance.
    privacy_ : FitPrivacy

    Privacy
    -------
    Pure ε-DP: a twentieth of ε for the target's mean and variance, one `DiscreteLaplace`; the rest as
    `DecisionTreeClassifier`, with two fifths of it for the leaves where ε·rows is below 2000. Closer bounds
    are made of noised answers alone. Proof page: ``docs/proofs/tree.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> model = DecisionTreeRegressor(epsilon=4, bounds=(-1, 1), target_bounds=(-1, 1)).fit(X, X[:, 0])
    >>> model.score(X, X[:, 0]) > 0.7
    True
    """

    _learned = learned.attributes(
        leaf_values_=learned.Array("leaves", 2),
        leaf_mean_=learned.Array("leaves"),
        target_range_=learned.Together(learned.Number(), learned.Number()),
    )

    def _default_depth(self, facts: Facts) -> int:
        return mean_depth(self.epsilon, self._guess(facts))

    def _leaf_share(self, facts: Facts) -> Fraction:
        few = strength(self.epsilon, self._guess(facts)) < FEW_ROWS_FOR_MEANS
        return LARGER_LEAVES if few else LEAVES

    def _criterion(self, facts: Facts) -> Any:
        return "deviation"

    def _can_clamp(self, facts: Facts) -> bool:
        """Whether the target has bounds that can be drawn closer."""
        column = facts.schema[facts.target]  # type: ignore[index]
        return isinstance(column, Real | Integer) and column.width > 0 and bool(self._cuts(facts))

    def _first_share(self, facts: Facts) -> Fraction:
        return MOMENTS if self._can_clamp(facts) else Fraction(0)

    def _first_query(self, budget: Measure, facts: Facts) -> Additive:
        return target_query(budget, facts)

    def _seen(self, facts: Facts, first: Release | None = None) -> tuple[Seen, Seen]:
        assert facts.target is not None
        if not self._can_clamp(facts):
            return Seen(facts.target), Seen(facts.target)
        return clamp(facts, first, SPLIT_REACH), clamp(facts, first, LEAF_REACH)

    def _node_query(self, node: str | None, target: str) -> Mean:
        return Mean(target, by=node)

    def _expect(self, facts: Facts, target: Seen, told: Release, above: Floats | None) -> Expected:
        column = self._column(facts, target)
        half = max(column.width / 2, 1e-300)
        own = np.clip((np.ravel(told.value) - float(column.lower)) / half - 1, -1.0, 1.0)
        if above is not None:  # normal prior about the parent's, normal noise
            noise = np.square(np.ravel(told.stderr) / half)
            parents = 2 * np.repeat(above[:, 1], 2) - 1
            own = parents + CHILD_SPREAD**2 / (CHILD_SPREAD**2 + noise) * (own - parents)
        return np.stack([1 - own, 1 + own], axis=1) / 2, None

    @staticmethod
    def _column(facts: Facts, target: Seen) -> Numeric:
        column = facts.schema.derive(**target.derived)[target.name]
        assert isinstance(column, Numeric)
        return column

    def _leaf_query(self, leaf: str | None, target: str) -> CentredSums:
        return CentredSums(target, by=leaf, count_weight=COUNT_WEIGHT)

    def _learn(self, facts: Facts, target: Seen, value: Floats, error: Floats) -> None:
        column = self._column(facts, target)
        self.target_range_ = (float(column.lower), float(column.upper))
        self.leaf_values_ = value.reshape(-1, 2)
        noise = tuple(error.reshape(-1, 2)[0].tolist())
        count, total = self.leaf_values_.sum(axis=0).tolist()
        spread = math.sqrt(len(self.leaf_values_))
        mean = whole_mean(count, total, (noise[0] * spread, noise[1] * spread))
        u = leaf_means(self.leaf_values_[:, 0], self.leaf_values_[:, 1], noise, mean)
        low, high = self.target_range_
        self.leaf_mean_ = low + (high - low) * ((u + 1.0) / 2)

    def predict(self, X: Any) -> Floats:
        """The expected target of each row."""
        leaves = self._leaves(X)
        return np.asarray(self.leaf_mean_[leaves])
