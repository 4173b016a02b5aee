"""Decision trees whose splits are chosen privately, level by level."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
import numpy.typing as npt

from discreet.columns import Tree
from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models import learned
from discreet.models.base import PrivateEstimator
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.shares import split as shared
from discreet.models.shares import together
from discreet.models.targets import PrivateClassifier
from discreet.models.tree.smoothing import chosen_shares, class_prior, node_shares, split_blocks
from discreet.models.tree.structure import (
    DEFAULT_ROWS,
    FEW_ROWS,
    VERY_FEW_ROWS,
    Integers,
    Splits,
    budget_shares,
    candidates,
    class_depth,
    free_name,
    leaves_of,
    strength,
)
from discreet.queries import Additive, BestSplit, Count, WithColumns
from discreet.rational import as_integer
from discreet.release import Release

Floats = npt.NDArray[np.float64]
#: The shares of classes in each node, and the blocks of nodes that get one split, if any do.
Expected = tuple[Floats, Integers | None]
Cuts = dict[str, tuple[float, ...]]

#: The leaves' share of the budget; for classes, where small nodes share their splits, choices take less.
LEAVES, LEAVES_OF_CLASSES = Fraction(1, 5), Fraction(1, 4)
#: Their share where ε·rows is small and splits find little.
LARGER_LEAVES = Fraction(2, 5)


@final
@dataclass(frozen=True)
class Seen:
    """How questions see the target: by a name, which may be that of a column derived for them."""

    name: str
    derived: Mapping[str, Any] = field(default_factory=dict)


@final
@dataclass(frozen=True, eq=False)
class _Recipe:
    """What is asked of the root, and the budgets in the order in which they are spent.

    Attributes
    ----------
    choice : BestSplit, optional
        Kept here, since a fit may be planned with a part of the model's ε; none where nothing is split.
    first : Measure, optional
        For what is asked about the target before anything else.
    levels : tuple of pairs
        For what is expected in the nodes of a level, where that is asked, and for their choices.
    leaves : Measure
    """

    choice: BestSplit | None
    first: Measure | None
    levels: tuple[tuple[Measure | None, Measure], ...]
    leaves: Measure


@with_parameters
class GreedyTree(PrivateEstimator):
    """What decision trees share: private choices level by level, then noised leaves.

    Parameters
    ----------
    max_depth : int, optional
        Levels of the tree, at most 12; by default from 1 to 8, for classes log2(ε·rows) less 6, rounded down
        (two thirds of it less 3 unless splits are scored by deviation), with √ε instead of an ε above 1, for
        means a third of it, rounded up. The tree is complete: nothing about the rows stops it early.
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
    def _seen(self, facts: Facts, first: Release | None = None) -> tuple[Seen, Seen]:
        """How splits and leaves see the target, given what was asked about it first."""

    @abstractmethod
    def _node_query(self, node: str | None, target: str) -> Additive:
        """What is asked of each node, so that something is expected there."""

    @abstractmethod
    def _expect(self, facts: Facts, target: Seen, told: Release, above: Floats | None) -> Expected:
        """What is expected in each node, from noised answers and the shares in the level above."""

    @abstractmethod
    def _leaf_query(self, leaf: str | None, target: str) -> Additive:
        """What is asked of each leaf."""

    @abstractmethod
    def _learn(self, facts: Facts, target: Seen, value: Floats, error: Floats) -> None:
        """What the leaves say, from their noised answers."""

    def _first_query(self, budget: Measure, facts: Facts) -> Additive | None:
        """What is asked about the target before anything else; nothing by default."""
        return None

    def _first_share(self, facts: Facts) -> Fraction:
        return Fraction(0)

    def _depth(self, facts: Facts) -> int:
        if not self._cuts(facts):
            return 0
        if self.max_depth is not None:
            depth = as_integer(self.max_depth, "max_depth", minimum=1)
            if depth > 12:
                raise ValueError("max_depth must be at most 12.")
            return depth
        return self._default_depth(facts)

    @abstractmethod
    def _default_depth(self, facts: Facts) -> int:
        """Levels, from public facts."""

    def _guess(self, facts: Facts) -> int:
        if self.expected_rows is not None:
            return as_integer(self.expected_rows, "expected_rows", minimum=1)
        return facts.rows if facts.rows else DEFAULT_ROWS

    def _leaf_share(self, facts: Facts) -> Fraction:
        """The leaves' share of the budget, from public facts."""
        return LEAVES

    def _cuts(self, facts: Facts) -> Cuts:
        return candidates(dict(zip(facts.features, facts.columns, strict=True)))

    def _pure(self) -> PureDP:
        """What is charged. A few choices cost less as pure DP than as zCDP, so a δ isn't used."""
        measure = self._measure()
        assert isinstance(measure, PureDP | ApproxDP)
        return PureDP(measure.epsilon)

    def _expects(self, facts: Facts) -> bool:
        """Whether each level asks what to expect in its nodes."""
        return bool(self._criterion(facts) == "deviation")

    def _parts(self, facts: Facts) -> tuple[Measure, ...]:
        """The budgets in the order in which they are spent, that of the leaves last."""
        depth, pure = self._depth(facts), self._pure()
        if depth == 0:
            return (pure,)
        first, leaves = self._first_share(facts), self._leaf_share(facts)
        return shared(pure, budget_shares(depth, first, leaves, self._expects(facts)))

    def _recipe(self, facts: Facts) -> _Recipe:
        *parts, leaves = self._parts(facts)
        first = parts.pop(0) if parts and self._first_share(facts) else None
        nothing: list[Measure | None] = [None] * len(parts)
        expected, choices = (parts[::2], parts[1::2]) if self._expects(facts) else (nothing, parts)
        levels = tuple(zip(expected, choices, strict=True))
        cuts, criterion = self._cuts(facts), self._criterion(facts)
        choice = self._choice(cuts, criterion, self._seen(facts)[0]) if levels else None
        return _Recipe(choice, first, levels, leaves)

    def _choice(self, cuts: Cuts, criterion: Any, target: Seen) -> BestSplit:
        """What is asked of the root; of the nodes below it the same, within them."""
        name, derived, classes = target.name, target.derived, self._target == "class"
        return BestSplit(name, cuts, criterion=criterion, derive=derived, classes=classes)

    @staticmethod
    def _nodes(facts: Facts, splits: Splits) -> dict[str, Tree]:
        """The column of the nodes that are to be split, or of leaves; none where there is the root alone."""
        return {free_name("node", facts.schema): Tree(splits)} if any(splits) else {}

    def _example(self, facts: Facts, choice: BestSplit, levels: int) -> dict[str, Tree]:
        """The column of the nodes below so many levels, for a plan: which splits these have costs nothing."""
        if not levels:
            return {}
        return self._nodes(facts, (choice.splits_of(facts.schema)[0], *[None] * (2**levels - 2)))

    def _sum_query(self, target: Seen, nodes: dict[str, Tree], is_last: bool) -> Additive:
        """What is asked of the leaves of the tree so far."""
        derived = {**target.derived, **nodes}
        query = (self._leaf_query if is_last else self._node_query)(
            next(iter(nodes), None), target.name
        )
        return WithColumns(query, derived) if derived else query

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        recipe, questions = self._recipe(facts), []
        for_splits, for_leaves = self._seen(facts)
        if recipe.first is not None:
            query = self._first_query(recipe.first, facts)
            assert query is not None
            questions.append(facts.ask(query, recipe.first))
        depth = len(recipe.levels)
        for level, (expected, budget) in enumerate(recipe.levels):
            assert recipe.choice is not None
            if level < 2:
                # nodes cost the same however many there are, so those of the last level stand for all
                nodes = self._example(facts, recipe.choice, depth - 1 if level else 0)
                told, choice = (
                    self._sum_query(for_splits, nodes, False),
                    recipe.choice.within(nodes),
                )
            if expected is not None:
                questions.append(facts.ask(told, expected))
            questions.append(facts.ask(choice, budget))
        leaves = {} if recipe.choice is None else self._example(facts, recipe.choice, depth)
        last = facts.ask(self._sum_query(for_leaves, leaves, is_last=True), recipe.leaves)
        questions.append(last)
        event = together(asked.event for asked in questions) if recipe.levels else last.event
        noise = {} if rows is None else {"leaf_values_": last.expected_error(rows)}
        measure = self._pure() if recipe.levels else last.measure
        queries = tuple(asked.query for asked in questions)
        return FitPlan(event, measure, noise, queries, facts, recipe)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        facts = plan.facts
        recipe: _Recipe = plan.recipe
        first: Release | None = None
        if recipe.first is not None:
            query = self._first_query(recipe.first, facts)
            assert query is not None
            first = door.release(query, recipe.first)
        for_splits, for_leaves = self._seen(facts, first)
        splits: Splits = ()
        nodes: dict[str, Tree] = {}
        shares: Floats | None = None
        blocks: Integers | None = None
        choice = recipe.choice
        if choice is not None and first is not None:
            choice = self._choice(choice.cuts, choice.criterion, for_splits)
        listed = choice.splits_of(facts.schema) if choice is not None else ()
        for expected, budget in recipe.levels:
            assert choice is not None
            if expected is not None:
                told = door.release(self._sum_query(for_splits, nodes, is_last=False), expected)
                shares, blocks = self._expect(facts, for_splits, told, shares)
            answer = door.release(choice.within(nodes, shares, blocks), budget)
            splits = (*splits, *(listed[int(one)] for one in np.atleast_1d(answer.value)))
            nodes = self._nodes(facts, splits)
        release = door.release(self._sum_query(for_leaves, nodes, is_last=True), recipe.leaves)
        self.tree_ = splits
        self.depth_ = len(recipe.levels)
        value, error = np.asarray(release.value, float), np.asarray(release.stderr, float)
        self._learn(facts, for_leaves, value, error)

    def _leaves(self, X: Any) -> npt.NDArray[np.int64]:
        rows = self._rows(X)
        return leaves_of([self.tree_], rows)[:, 0]


@final
@with_parameters
class DecisionTreeClassifier(GreedyTree, PrivateClassifier):
    """A decision tree whose splits are chosen privately, with noised class counts in its leaves.

    Level by level, each node gets the split that a private choice finds best among public candidates:
    cut points in the declared bounds, evenly spaced and halving towards the end near zero, or one
    category against the others. Nodes that have too few rows for a choice of their own, as noised counts
    tell, share one with those beside them (for deviations). Then the classes in the leaves are counted,
    with noise, and shrunk towards their ancestors, the more so where a split's sides differ no more than the
    best of many would by luck. (The idea is that of Friedman & Schuster 2010; here scores are integers with
    a sensitivity that doesn't depend on the number of rows, and no stopping rule looks at labels.)

    Parameters
    ----------
    criterion : {"deviation", "gini", "majority"}, optional
        What a split is scored by: Σ |n_c - p_c·n| with p_c the noised shares of classes in the node,
        Σ n_c²/n, or the largest class count max n_c, summed over its sides. For two classes a deviation is
        how far apart the split sets them (Kolmogorov and Smirnov's distance): small differences stay large
        beside its noise, where squares are lost in it. It is the default where ε·rows is at least 100;
        below that majority is, which buys no shares.

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
    Pure ε-DP: a share of ε for each level, 3/2 of that of the level above, and a quarter for the leaves,
    two fifths where ε·rows is below 250. A level is one event `PermuteAndFlip` for all its nodes, since a
    row is in one node; for deviations a sixth of its share counts the classes in its nodes before, one
    `DiscreteLaplace`. The leaves are one `DiscreteLaplace`. The plan is fixed in advance and charged once;
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

    def _strength(self, facts: Facts) -> float:
        return strength(self.epsilon, self._guess(facts))

    def _default_depth(self, facts: Facts) -> int:
        return class_depth(self.epsilon, self._guess(facts), self._expects(facts))

    def _leaf_share(self, facts: Facts) -> Fraction:
        return LARGER_LEAVES if self._strength(facts) < FEW_ROWS else LEAVES_OF_CLASSES

    def _criterion(self, facts: Facts) -> Any:
        if self.criterion is None:
            return "majority" if self._strength(facts) < VERY_FEW_ROWS else "deviation"
        if self.criterion not in ("deviation", "gini", "majority"):
            raise ValueError(
                f"criterion must be 'deviation', 'gini' or 'majority', got {self.criterion!r}. Information "
                "gain moves with the logarithm of the private number of rows, so it isn't offered."
            )
        return self.criterion

    def _seen(self, facts: Facts, first: Release | None = None) -> tuple[Seen, Seen]:
        assert facts.target is not None
        return Seen(facts.target), Seen(facts.target)

    def _node_query(self, node: str | None, target: str) -> Count:
        return self._leaf_query(node, target)

    def _expect(self, facts: Facts, target: Seen, told: Release, above: Floats | None) -> Expected:
        counts = np.asarray(told.value, np.float64).reshape(-1, len(facts.labels))
        noise = float(np.max(told.stderr))
        shares = node_shares(counts, noise, above)
        return shares, split_blocks(counts, noise, shares)

    def _leaf_query(self, leaf: str | None, target: str) -> Count:
        return Count(by=target if leaf is None else (leaf, target))

    def _learn(self, facts: Facts, target: Seen, value: Floats, error: Floats) -> None:
        order = self._by_class(facts)
        self.leaf_values_ = value.reshape(-1, len(order))[:, order]
        noise, leaves = float(error.max()), len(self.leaf_values_)
        self.class_prior_ = class_prior(self.leaf_values_.sum(axis=0), noise * math.sqrt(leaves))
        self.leaf_proba_ = chosen_shares(self.leaf_values_, noise, self.class_prior_)

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
