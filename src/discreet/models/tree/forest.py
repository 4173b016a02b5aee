"""Forests of random public trees with noised leaves."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.columns import Categorical, Numeric, Parts, Split, Tree
from discreet.dataset import PrivateDataset
from discreet.measures import Measure
from discreet.models import learned
from discreet.models.base import PrivateEstimator
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.targets import PrivateClassifier, PrivateRegressor
from discreet.models.tree.random_trees import random_trees
from discreet.models.tree.smoothing import (
    class_prior,
    class_shares,
    leaf_means,
    signal_share,
    whole_mean,
)
from discreet.models.tree.structure import (
    DEFAULT_ROWS,
    Splits,
    candidates,
    coverage,
    forest_size,
    free_name,
    leaves_of,
    random_generator,
    regression_forest,
)
from discreet.queries import Additive, CentredSums, Count, Joint, WithColumns
from discreet.queries.several import ask_each
from discreet.rational import as_integer
from discreet.schema import Derived

Floats = npt.NDArray[np.float64]

#: A target's sum gets more of the noise budget than its count: (1 + w)²(1 + m²/w²) is least at w³ = m².
COUNT_WEIGHT = "5/8"
#: Averaged evidence is multiplied by no more, or by the root of what trees don't see.
MAX_STRETCH = 2.0


@final
@dataclass(frozen=True)
class Forest:
    """How many trees there are, how deep, whether each has rows of its own, and what all may cost."""

    trees: int
    depth: int
    splits_rows: bool
    budget: Measure


@with_parameters
class RandomForest(PrivateEstimator):
    """What forests of random trees share: the public trees, one noised vector of their leaves.

    Parameters
    ----------
    n_estimators : int, optional
        The number of trees. By default a power of two up to 32: 2 where ε·rows is below 100, then 8, or more
        where ε·rows is at least 50 times as large; for regression as many as ε·rows is 100 times as large.
    max_depth : int, optional
        Levels of each tree, at most 12; by default log2(ε·rows) - 2, with √ε instead of an ε above 1, for
        regression log2(ε·rows) - 6, rounded down, from 2 to 8; for classes a level more where ε·rows is
        below 100. Each tree is complete: the depth stops nothing early.
    share : {"budget", "rows"}, optional
        Whether trees share the budget, which is the default, or each gets its own part of the rows, by a
        public hash of the row (then `n_estimators` must be a power of two).
    expected_rows : int, optional
        A public guess of the number of rows, 10000 by default; where the number is public, that one. It
        only decides the defaults above.
    random_state : int, Generator or RandomState, optional
        Only for the public structure of the trees. Noise never depends on it.
    """

    n_estimators: Any = None
    max_depth: Any = None
    share: Any = None
    expected_rows: Any = None
    random_state: Any = None

    _claims = ("random-decision-forest",)
    _learned = learned.attributes(
        trees_=learned.Each(learned.Splits("leaves"), "trees"),
        _pool=learned.Number(),
    )

    @abstractmethod
    def _leaf_query(self, leaf: str, facts: Facts) -> Additive:
        """What is asked of each leaf of a tree."""

    def _size(self, facts: Facts) -> tuple[int, int]:
        """The number of trees and their depth, from public facts alone."""
        if not candidates(dict(zip(facts.features, facts.columns, strict=True))):
            return 1, 0
        trees, depth = self._default_size(self._guess(facts))
        if self.n_estimators is not None:
            trees = as_integer(self.n_estimators, "n_estimators", minimum=1)
        if self.max_depth is not None:
            depth = as_integer(self.max_depth, "max_depth", minimum=1)
        if depth > 12 or trees > 1024:
            raise ValueError("max_depth must be at most 12, and n_estimators at most 1024.")
        return trees, depth

    @abstractmethod
    def _default_size(self, rows: int) -> tuple[int, int]:
        """The number of trees and their depth where parameters don't say it, for this many rows."""

    def _guess(self, facts: Facts) -> int:
        if self.expected_rows is not None:
            return as_integer(self.expected_rows, "expected_rows", minimum=1)
        return facts.rows if facts.rows else DEFAULT_ROWS

    def _splits_rows(self, trees: int) -> bool:
        """Whether each tree gets a part of the rows, instead of a part of the budget."""
        if self.share not in (None, "budget", "rows"):
            raise ValueError(f"share must be None, 'budget' or 'rows', got {self.share!r}.")
        if self.share == "rows" and trees & (trees - 1):
            raise ValueError("n_estimators must be a power of two with share='rows'.")
        return bool(self.share == "rows")

    def _queries(self, facts: Facts, forest: Forest, trees: list[Splits]) -> Joint:
        """One vector: a block for each tree, or one block for a tree of trees."""
        leaf, part = free_name("leaf", facts.schema), free_name("part", facts.schema)
        if not forest.depth:
            return Joint(self._rootless(facts))
        query = self._leaf_query(leaf, facts)
        if not forest.splits_rows:
            # a plan's example is one tree many times: asked about once
            return Joint(*ask_each(trees, lambda tree: WithColumns(query, {leaf: Tree(tree)})))
        every = [*facts.features, *([facts.target] if facts.target else [])]
        columns: dict[str, Derived] = {
            part: Parts(every, len(trees)),
            leaf: Tree(_tree_of_trees(part, trees)),
        }
        return Joint(WithColumns(query, columns))

    @abstractmethod
    def _rootless(self, facts: Facts) -> Additive:
        """What is asked where no column can be split."""

    @staticmethod
    def _draw_forest(facts: Facts, forest: Forest, draw: np.random.Generator) -> list[Splits]:
        if not forest.depth:
            return [(None,)]
        columns = dict(zip(facts.features, facts.columns, strict=True))
        return random_trees(columns, forest.depth, forest.trees, draw)

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        trees, depth = self._size(facts)
        splits_rows = depth > 0 and self._splits_rows(trees)
        forest = Forest(trees, depth, splits_rows, self._measure())
        # all trees of this size cost the same, so the example has one split alone
        example = (_any_split(facts) if depth else None, *[None] * (2**depth - 2))
        asked = facts.ask(self._queries(facts, forest, [example] * trees), forest.budget)
        noise = {} if rows is None else {"leaf_values_": asked.expected_error(rows)[0]}
        return FitPlan.from_question(facts, asked, noise, forest)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        facts = plan.facts
        forest: Forest = plan.recipe
        trees = self._draw_forest(facts, forest, random_generator(self.random_state))
        release = door.release(self._queries(facts, forest, trees), forest.budget)
        values, errors = list(release.value), list(release.stderr)
        if len(values) < len(trees):  # one block: the trees one after the other
            values = np.split(np.asarray(values[0]), len(trees))
            errors = [np.split(np.asarray(errors[0]), len(trees))[0]] * len(trees)
        self.trees_ = trees
        self._pool = 1.0
        if forest.depth:
            unseen = min(len(trees), 1.0 / coverage(len(facts.features), forest.depth))
            # not all of it: columns tell much the same, and forests would be too sure
            self._pool = min(unseen, max(MAX_STRETCH, math.sqrt(unseen)))
        self._learn(facts, [np.asarray(v, float) for v in values], np.asarray(errors[0], float))

    @abstractmethod
    def _learn(self, facts: Facts, values: list[Floats], error: Floats) -> None:
        """What the leaves say, from their noised answers."""


def _any_split(facts: Facts) -> Split:
    """A split of the first column that can be split: whatever is asked costs the same for all trees."""
    for name, column in zip(facts.features, facts.columns, strict=True):
        for points in candidates({name: column}).values():
            return name, column.values[:1] if isinstance(column, Categorical) else points[0]
    raise AssertionError("no column can be split")


def _tree_of_trees(part: str, trees: list[Splits]) -> Splits:
    """One tree whose first levels split the rows into parts, with a tree of its own below each part."""
    above = len(trees).bit_length() - 1
    depth = len(trees[0]).bit_length()
    splits: list[Any] = []
    for level in range(above):
        size = len(trees) >> level
        for node in range(2**level):
            right = range(node * size + size // 2, (node + 1) * size)
            splits.append((part, tuple(right)))
    for level in range(depth):
        for tree in trees:
            splits += tree[2**level - 1 : 2 ** (level + 1) - 1]
    return tuple(splits)


@final
@with_parameters
class RandomDecisionForest(RandomForest, PrivateClassifier):
    """Random trees with public structure, and noised class counts in their leaves.

    Each node of each tree cuts a random column at random within its declared bounds; no row is looked at
    for that. All that is asked is one joint vector: how many rows of each class are in each leaf
    (Jagannathan, Pillaipakkamnatt & Wright 2009). Leaves are shrunk towards their ancestors; the trees'
    evidence, the logarithm of a leaf's share of a class over that of all rows, is averaged and scaled: down
    by the share of it that is noise, up because a random tree sees only a part of what the columns show.

    Attributes
    ----------
    classes_, class_prior_ : arrays over classes
    trees_ : list of tuples
        The splits of each tree, as `schema.Tree` takes them.
    leaf_values_ : list of arrays of shape (leaves, classes)
        The noised counts.
    privacy_ : FitPrivacy

    Privacy
    -------
    One vector of T histograms: sensitivity T in L1 and √T in L2 under add/remove, 2T and √(2T) under
    replace-one, times `max_rows` (with ``share="rows"``: as for one tree). Event: `DiscreteLaplace`, or
    `Gaussian` with a δ. Trees, depth and defaults come from public facts. No rows, one class, constant
    columns, NaN (the fill) and unknown categories (left branches, in a fit as in predictions) are not
    special cases. Proof page: ``docs/proofs/tree.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.tree import RandomDecisionForest
    >>> draw = np.random.default_rng(0)
    >>> X = draw.random((2000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> forest = RandomDecisionForest(epsilon=1, bounds=(0, 1), classes=[0, 1], random_state=0)
    >>> bool(forest.fit(X, y).score(X, y) > 0.9)
    True
    """

    _learned = learned.attributes(
        leaf_values_=learned.Each(learned.Array("leaves", "classes"), "trees"),
        class_prior_=learned.Array("classes"),
        _evidence=learned.Each(learned.Array("leaves", "classes"), "trees"),
    )

    def _default_size(self, rows: int) -> tuple[int, int]:
        return forest_size(self.epsilon, rows)

    def _leaf_query(self, leaf: str, facts: Facts) -> Count:
        assert facts.target is not None
        return Count(by=(leaf, facts.target))

    def _rootless(self, facts: Facts) -> Count:
        return Count(by=facts.target)

    def _learn(self, facts: Facts, values: list[Floats], error: Floats) -> None:
        order, noise = self._by_class(facts), float(error.max())
        counts = [value.reshape(-1, len(order))[:, order] for value in values]
        self.leaf_values_ = counts
        total = np.mean([leaves.sum(axis=0) for leaves in counts], axis=0)
        spread = noise * math.sqrt(len(counts[0]) / len(counts))
        prior = self.class_prior_ = class_prior(total, spread)
        signal = signal_share(counts, noise, prior)
        shares = class_shares(np.concatenate(counts), noise, prior, len(counts))
        self._evidence = np.split(signal * (np.log(shares) - np.log(prior)), len(counts))

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of the classes' probabilities for each row."""
        rows = self._rows(X)
        leaves = leaves_of(self.trees_, rows)
        scores = np.zeros((len(leaves), len(self.classes_)))
        for tree, evidence in enumerate(self._evidence):
            scores += evidence[leaves[:, tree]]
        scores = np.log(self.class_prior_) + scores * (self._pool / len(self.trees_))
        scores -= scores.max(axis=1, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))

    def predict_proba(self, X: Any) -> Floats:
        """The classes' probabilities for each row."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        scores = self.predict_log_proba(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])


@final
@with_parameters
class RandomDecisionForestRegressor(RandomForest, PrivateRegressor):
    """Random trees with public structure, and noised means of the target in their leaves.

    As `RandomDecisionForest`, with a count and a sum of the target in each leaf.

    Attributes
    ----------
    trees_ : list of tuples
        The splits of each tree, as `schema.Tree` takes them.
    leaf_values_ : list of arrays of shape (leaves, 2)
        The noised counts, and noised sums of the target scaled to [-1, 1].
    mean_ : float
        The mean of all rows, on that scale.
    target_range_ : pair of float
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

    def _default_size(self, rows: int) -> tuple[int, int]:
        return regression_forest(self.epsilon, rows)

    def _leaf_query(self, leaf: str, facts: Facts) -> CentredSums:
        assert facts.target is not None
        return CentredSums(facts.target, by=leaf, count_weight=COUNT_WEIGHT)

    def _rootless(self, facts: Facts) -> CentredSums:
        assert facts.target is not None
        return CentredSums(facts.target, count_weight=COUNT_WEIGHT)

    def _learn(self, facts: Facts, values: list[Floats], error: Floats) -> None:
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
        self._evidence = np.split(leaf_means(counts, sums, noise, mean, trees) - mean, trees)

    def predict(self, X: Any) -> Floats:
        """The expected target of each row."""
        rows = self._rows(X)
        leaves = leaves_of(self.trees_, rows)
        found = np.zeros(len(leaves))
        for tree, evidence in enumerate(self._evidence):
            found += evidence[leaves[:, tree]]
        u = np.clip(self.mean_ + found * (self._pool / len(self.trees_)), -1.0, 1.0)
        low, high = self.target_range_
        return np.asarray(low + (high - low) * ((u + 1.0) / 2))
