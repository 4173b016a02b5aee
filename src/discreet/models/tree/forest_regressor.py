"""The forest for numbers."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.columns import Numeric
from discreet.models import learned
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.targets import PrivateRegressor
from discreet.models.tree.calibration import FEWEST_FOR_NUMBERS, Line, mean_line
from discreet.models.tree.forest import RandomForest
from discreet.models.tree.smoothing import (
    leaf_means,
    likely_rows,
    own_mean_parts,
    whole_mean,
)
from discreet.models.tree.structure import leaves_of, regression_forest
from discreet.models.tree.target import COUNT_WEIGHT
from discreet.queries import CentredSums

Floats = npt.NDArray[np.float64]


@final
@with_parameters
class RandomDecisionForestRegressor(RandomForest, PrivateRegressor):
    """Random trees with public structure, and noised means of the target in their leaves.

    As `RandomDecisionForest`, with a count and a sum of the target in each leaf and in each bin of the score.

    Attributes
    ----------
    trees_ : list of tuples
        The splits of each tree, as `schema.Tree` takes them.
    leaf_values_ : list of arrays of shape (leaves, 2)
        The noised counts, and noised sums of the target scaled to [-1, 1].
    mean_ : float
        The mean of all rows, on that scale.
    target_range_ : pair of float
    calibration_ : pair of float
        Shift and slope of the line from what trees say to means of the target, on that scale; 0 and 1 where
        there is none.
    privacy_ : FitPrivacy

    Privacy
    -------
    One vector: 5/8 of a count and the sum of the scaled target, for each leaf of each tree. Otherwise as
    `RandomDecisionForest`. Proof page: ``docs/proofs/tree.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.tree import RandomDecisionForestRegressor
    >>> X = np.random.default_rng(0).random((2000, 2))
    >>> bounds = {"bounds": (0, 1), "target_bounds": (0, 1)}
    >>> forest = RandomDecisionForestRegressor(epsilon=4, n_estimators=5, random_state=0, **bounds)
    >>> bool(forest.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.5)
    True
    """

    _learned = learned.attributes(
        leaf_values_=learned.Each(learned.Array("leaves", 2), "trees"),
        mean_=learned.Number(),
        target_range_=learned.Together(learned.Number(), learned.Number()),
        _evidence=learned.Each(learned.Array("leaves"), "trees"),
    )

    _fewest_to_calibrate = FEWEST_FOR_NUMBERS

    def _default_size(self, facts: Facts) -> tuple[int, int]:
        return regression_forest(self.epsilon, self._guess(facts))

    def _leaf_query(self, leaf: str, facts: Facts) -> CentredSums:
        assert facts.target is not None
        return CentredSums(facts.target, by=leaf, count_weight=COUNT_WEIGHT)

    def _rootless(self, facts: Facts) -> CentredSums:
        assert facts.target is not None
        return CentredSums(facts.target, count_weight=COUNT_WEIGHT)

    def _learn(self, facts: Facts, values: list[Floats], error: Floats, pool: float) -> float:
        column = facts.schema[facts.target]  # type: ignore[index]
        assert isinstance(column, Numeric)
        self.target_range_ = (float(column.lower), float(column.upper))
        self.leaf_values_ = [value.reshape(-1, 2) for value in values]
        noise = tuple(error.reshape(-1, 2)[0].tolist())
        count, total = np.mean([value.sum(axis=0) for value in self.leaf_values_], axis=0)
        spread = math.sqrt(len(self.leaf_values_[0]) / len(self.leaf_values_))
        mean = whole_mean(float(count), float(total), (noise[0] * spread, noise[1] * spread))
        self.mean_ = mean
        trees = len(self.leaf_values_)
        counts, sums = np.concatenate(self.leaf_values_).T
        evidence = pool * (leaf_means(counts, sums, noise, mean, trees) - mean)
        self._evidence = np.split(evidence, trees)
        own = own_mean_parts(counts, sums, noise, trees)
        return pool * float(own @ likely_rows(counts, noise[0], trees))

    def _scores(self) -> tuple[list[Floats], list[Floats]]:
        return [leaves[:, 0] for leaves in self.leaf_values_], self._evidence

    def _draw_line(
        self, facts: Facts, value: Floats, error: Floats, middles: Floats, fitted: float
    ) -> Line:
        counts, sums = value.reshape(-1, 2).T
        noise = tuple(error.reshape(-1, 2)[0].tolist())
        return mean_line(counts, sums, noise, self.mean_, middles, fitted)

    def predict(self, X: Any) -> Floats:
        """The expected target of each row."""
        rows = self._rows(X)
        leaves = leaves_of(self.trees_, rows)
        found = np.zeros(len(leaves))
        for tree, evidence in enumerate(self._evidence):
            found += evidence[leaves[:, tree]]
        shift, slope = self.calibration_
        u = np.clip(self.mean_ + shift + slope * found, -1.0, 1.0)
        low, high = self.target_range_
        return np.asarray(low + (high - low) * ((u + 1.0) / 2))
