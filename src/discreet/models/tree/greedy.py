"""Decision trees whose splits are chosen privately, level by level."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.columns import Numeric, Split, Tree
from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models import learned
from discreet.models.base import PrivateEstimator
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.shares import split as shared
from discreet.models.shares import together
from discreet.models.targets import PrivateClassifier, PrivateRegressor
from discreet.models.tree.forest import COUNT_WEIGHT
from discreet.models.tree.smoothing import class_prior, class_shares, leaf_means, whole_mean
from discreet.models.tree.structure import (
    DEFAULT_ROWS,
    FEW_ROWS,
    Splits,
    candidates,
    free_name,
    greedy_depth,
    leaves_of,
    strength,
)
from discreet.queries import Additive, BestSplit, CentredSums, Count, WithColumns
from discreet.rational import as_integer

Floats = npt.NDArray[np.float64]

#: The budget of each level's choices, relative to the level above: deeper nodes have fewer rows.
GROWTH = Fraction(3, 2)
#: The leaves' share of the budget.
LEAVES = Fraction(1, 5)
#: Their share where ε·rows is small and splits find little: for classes below FEW_ROWS, for means below this.
LARGER_LEAVES, FEW_ROWS_FOR_MEANS = Fraction(2, 5), 2000


@final
@dataclass(frozen=True, eq=False)
class _Recipe:
    """The candidates for splits, the budget of each level, and that of the leaves."""

    cuts: dict[str, tuple[float, ...]]
    levels: tuple[Measure, ...]
    leaves: Measure


@with_parameters
class GreedyTree(PrivateEstimator):
    """What decision trees share: private choices level by level, then noised leaves.

    Parameters
    ----------
    max_depth : int, optional
        Levels of the tree, at most 12; by default a third of log2(ε·rows), rounded up, from 1 to 8. The
        tree is complete: nothing about the rows stops it early.
    expected_rows : int, optional
        A public guess of the number of rows, 10000 by default; where the number is public, that one. It
        only decides the depth, how the budget is shared and, for classes, how splits are scored.
    """

    max_depth: Any = None
    expected_rows: Any = None

    _claims = ("decision-tree",)
    _learned = learned.attributes(tree_=learned.Splits("leaves"), depth_=learned.Count())

    @abstractmethod
    def _criterion(self, facts: Facts) -> Any:
        """How splits are scored."""

    @abstractmethod
    def _leaf_query(self, leaf: str | None, facts: Facts) -> Additive:
        """What is asked of each leaf."""

    @abstractmethod
    def _learn(self, facts: Facts, value: Floats, error: Floats) -> None:
        """What the leaves say, from their noised answers."""

    def _depth(self, facts: Facts) -> int:
        if not self._cuts(facts):
            return 0
        if self.max_depth is not None:
            depth = as_integer(self.max_depth, "max_depth", minimum=1)
            if depth > 12:
                raise ValueError("max_depth must be at most 12.")
            return depth
        return self._default_depth(facts)

    def _default_depth(self, facts: Facts) -> int:
        return greedy_depth(self.epsilon, self._guess(facts))

    def _guess(self, facts: Facts) -> int:
        if self.expected_rows is not None:
            return as_integer(self.expected_rows, "expected_rows", minimum=1)
        return facts.rows if facts.rows else DEFAULT_ROWS

    def _leaf_share(self, facts: Facts) -> Fraction:
        """The leaves' share of the budget, from public facts."""
        return LEAVES

    def _cuts(self, facts: Facts) -> dict[str, tuple[float, ...]]:
        return candidates(dict(zip(facts.features, facts.columns, strict=True)))

    def _pure(self) -> PureDP:
        """What is charged. A few choices cost less as pure DP than as zCDP, so a δ isn't used."""
        measure = self._measure()
        assert isinstance(measure, PureDP | ApproxDP)
        return PureDP(measure.epsilon)

    def _parts(self, facts: Facts) -> tuple[Measure, ...]:
        """The budgets of the levels and of the leaves."""
        depth, pure = self._depth(facts), self._pure()
        if depth == 0:
            return (pure,)
        weights = [GROWTH**level for level in range(depth)]
        total = sum(weights)
        leaves = self._leaf_share(facts)
        return shared(pure, [(1 - leaves) * w / total for w in weights] + [leaves])

    def _split_query(
        self, facts: Facts, cuts: dict[str, tuple[float, ...]], splits: Splits
    ) -> BestSplit:
        assert facts.target is not None
        leaf = free_name("node", facts.schema)
        inside: dict[str, Any] = {} if not any(splits) else {leaf: Tree(splits)}
        return BestSplit(
            facts.target,
            cuts,
            criterion=self._criterion(facts),
            by=leaf if inside else None,
            derive=inside,
        )

    def _last_query(self, facts: Facts, splits: Splits) -> Additive:
        leaf = free_name("node", facts.schema)
        if not any(splits):
            return self._leaf_query(None, facts)
        return WithColumns(self._leaf_query(leaf, facts), {leaf: Tree(splits)})

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        *levels, leaves = self._parts(facts)
        recipe = _Recipe(self._cuts(facts), tuple(levels), leaves)
        questions = []
        splits: Splits = ()
        for level, budget in enumerate(levels):
            query = self._split_query(facts, recipe.cuts, splits)
            questions.append(facts.ask(query, budget))
            any_split: Split = query.splits_of(facts.schema)[0]
            splits = (*splits, *([any_split] * 2**level))
        last = facts.ask(self._last_query(facts, splits), leaves)
        questions.append(last)
        event = together(asked.event for asked in questions) if levels else last.event
        noise = {} if rows is None else {"leaf_values_": last.expected_error(rows)}
        measure = self._pure() if levels else last.measure
        queries = tuple(asked.query for asked in questions)
        return FitPlan(event, measure, noise, queries, facts, recipe)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        facts = plan.facts
        recipe: _Recipe = plan.recipe
        splits: Splits = ()
        for budget in recipe.levels:
            query = self._split_query(facts, recipe.cuts, splits)
            chosen = np.atleast_1d(door.release(query, budget).value)
            listed = query.splits_of(facts.schema)
            splits = (*splits, *(listed[int(choice)] for choice in chosen))
        release = door.release(self._last_query(facts, splits), recipe.leaves)
        self.tree_ = splits
        self.depth_ = len(recipe.levels)
        self._learn(facts, np.asarray(release.value, float), np.asarray(release.stderr, float))

    def _leaves(self, X: Any) -> npt.NDArray[np.int64]:
        rows = self._rows(X)
        return leaves_of([self.tree_], rows)[:, 0]


@final
@with_parameters
class DecisionTreeClassifier(GreedyTree, PrivateClassifier):
    """A decision tree whose splits are chosen privately, with noised class counts in its leaves.

    Level by level, each node gets the split that a private choice finds best among public candidates:
    cut points in the declared bounds, evenly spaced and halving towards the end near zero, or one
    category against the others. Then the classes in the leaves are counted, with noise, and shrunk
    towards their ancestors. (The idea is that of Friedman & Schuster 2010; here scores are integers with
    a sensitivity that doesn't depend on the number of rows, and no stopping rule looks at labels.)

    Parameters
    ----------
    criterion : {"gini", "majority"}, optional
        What a split is scored by: Σ n_c²/n, or the largest class count max n_c, summed over its sides.
        Majority needs half the noise and sees less; by default it is taken where ε·rows is below 250. The
        tree then has a level less.

    Attributes
    ----------
    classes_, class_prior_ : arrays over classes
    tree_ : tuple
        The splits, as `schema.Tree` takes them.
    depth_ : int
    leaf_values_, leaf_proba_ : arrays of shape (leaves, classes)
        The noised counts, and the probabilities made of them.
    privacy_ : FitPrivacy

    Privacy
    -------
    Pure ε-DP: a share of ε for each level, 3/2 of that of the level above, and a fifth for the leaves,
    two fifths where ε·rows is below 250. A level is one event `PermuteAndFlip` for all its nodes, since a
    row is in one node; the leaves are one `DiscreteLaplace`. The plan is fixed in advance and charged once;
    a `delta` is neither needed nor charged. No rows, one class, constant columns, NaN (the fill) and
    unknown categories (left branches, in a fit as in predictions) are not special cases. Proof page:
    ``docs/proofs/tree.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.tree import DecisionTreeClassifier
    >>> draw = np.random.default_rng(0)
    >>> X = draw.random((2000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> tree = DecisionTreeClassifier(epsilon=1, bounds=(0, 1), classes=[0, 1], max_depth=2)
    >>> bool(tree.fit(X, y).score(X, y) > 0.9)
    True
    """

    criterion: Any = None

    _learned = learned.attributes(
        leaf_values_=learned.Array("leaves", "classes"),
        class_prior_=learned.Array("classes"),
        leaf_proba_=learned.Array("leaves", "classes"),
    )

    def _has_few_rows(self, facts: Facts) -> bool:
        return strength(self.epsilon, self._guess(facts)) < FEW_ROWS

    def _default_depth(self, facts: Facts) -> int:
        return max(1, super()._default_depth(facts) - self._has_few_rows(facts))

    def _leaf_share(self, facts: Facts) -> Fraction:
        return LARGER_LEAVES if self._has_few_rows(facts) else LEAVES

    def _criterion(self, facts: Facts) -> Any:
        if self.criterion is None:
            return "majority" if self._has_few_rows(facts) else "gini"
        if self.criterion not in ("gini", "majority"):
            raise ValueError(
                f"criterion must be 'gini' or 'majority', got {self.criterion!r}. Information gain moves "
                "with the logarithm of the private number of rows, so it isn't offered."
            )
        return self.criterion

    def _leaf_query(self, leaf: str | None, facts: Facts) -> Count:
        assert facts.target is not None
        return Count(by=facts.target if leaf is None else (leaf, facts.target))

    def _learn(self, facts: Facts, value: Floats, error: Floats) -> None:
        order = self._by_class(facts)
        self.leaf_values_ = value.reshape(-1, len(order))[:, order]
        noise, leaves = float(error.max()), len(self.leaf_values_)
        self.class_prior_ = class_prior(self.leaf_values_.sum(axis=0), noise * math.sqrt(leaves))
        self.leaf_proba_ = class_shares(self.leaf_values_, noise, self.class_prior_)

    def predict_proba(self, X: Any) -> Floats:
        """The classes' probabilities for each row."""
        leaves = self._leaves(X)
        return np.asarray(self.leaf_proba_[leaves])

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of the classes' probabilities for each row."""
        return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])


@final
@with_parameters
class DecisionTreeRegressor(GreedyTree, PrivateRegressor):
    """A decision tree whose splits are chosen privately, with noised means in its leaves.

    As `DecisionTreeClassifier`, with splits scored by S²/n, summed over their sides, S the sum of the target
    scaled to [-1, 1]: how much they reduce the variance. Leaves have a noised count and sum.

    Attributes
    ----------
    tree_ : tuple
        The splits, as `schema.Tree` takes them.
    depth_ : int
    leaf_values_ : array of shape (leaves, 2)
        The noised counts, and noised sums of the target scaled to [-1, 1].
    leaf_mean_ : array over leaves
    target_range_ : pair of float
    privacy_ : FitPrivacy

    Privacy
    -------
    As `DecisionTreeClassifier`; where ε·rows is below 2000, the leaves have two fifths of ε. Proof page:
    ``docs/proofs/tree.md``.

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

    def _leaf_share(self, facts: Facts) -> Fraction:
        few = strength(self.epsilon, self._guess(facts)) < FEW_ROWS_FOR_MEANS
        return LARGER_LEAVES if few else LEAVES

    def _criterion(self, facts: Facts) -> Any:
        return "variance"

    def _leaf_query(self, leaf: str | None, facts: Facts) -> CentredSums:
        assert facts.target is not None
        return CentredSums(facts.target, by=leaf, count_weight=COUNT_WEIGHT)

    def _learn(self, facts: Facts, value: Floats, error: Floats) -> None:
        column = facts.schema[facts.target]  # type: ignore[index]
        assert isinstance(column, Numeric)
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
