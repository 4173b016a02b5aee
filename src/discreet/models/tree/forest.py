"""Forests of random public trees with noised leaves: what they share, and the one for classes."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from discreet.columns import Base, Parts, Tree
from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models import learned
from discreet.models.base import PrivateEstimator
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.seeds import random_generator
from discreet.models.shares import split_for, together
from discreet.models.targets import PrivateClassifier
from discreet.models.tree.calibration import (
    FEWEST_FOR_CLASSES,
    SHARE,
    Line,
    ScoreBins,
    class_line,
)
from discreet.models.tree.random_trees import any_split, random_trees
from discreet.models.tree.smoothing import (
    class_prior,
    class_shares,
    likely_rows,
    own_class_parts,
    signal_share,
)
from discreet.models.tree.structure import (
    DEFAULT_ROWS,
    Splits,
    candidates,
    forest_size,
    free_name,
    leaves_of,
    strength,
    stretch,
    tree_of_trees,
)
from discreet.queries import Additive, Count, Joint, WithColumns
from discreet.queries.several import ask_each
from discreet.rational import as_integer
from discreet.schema import Derived

Floats = npt.NDArray[np.float64]


@final
@dataclass(frozen=True)
class Forest:
    """How many trees there are, how deep, and whether each has rows of its own.

    Attributes
    ----------
    trees, depth : int
    splits_rows : bool
    pool : float
        What averaged evidence is multiplied by.
    leaves : Measure
        What is asked of all leaves may cost this.
    line : Measure, optional
        And what is asked of bins of the score; nothing where that isn't asked.
    """

    trees: int
    depth: int
    splits_rows: bool
    pool: float
    leaves: Measure
    line: Measure | None = None


@with_parameters
class RandomForest(PrivateEstimator):
    """What forests of random trees share: the public trees, one noised vector of their leaves.

    Parameters
    ----------
    n_estimators : int, optional
        The number of trees. By default a power of two up to 32 (for classes up to 16 from 2000 rows on): 2
        where ε·rows is below 100 (4 with more than 16 columns), then 8, or more where ε·rows is at least 50
        times as large; for regression as many as ε·rows is 100 times as large.
    max_depth : int, optional
        Levels of each tree, at most 12; by default log2(ε·rows) - 2, with √ε instead of an ε above 1, for
        regression log2(ε·rows) - 6, rounded down, from 2 to 8; for classes a level more where ε·rows is
        below 100 (at least 5 with more than 16 columns). Each tree is complete: the depth stops nothing
        early.
    share : {"budget", "rows"}, optional
        Whether trees share the budget, which is the default, or each gets its own part of the rows, by a
        public hash of the row (then `n_estimators` must be a power of two).
    expected_rows : int, optional
        A public guess of the number of rows, 10000 by default; where the number is public, that one. It
        only decides the defaults of the other parameters.
    calibrate : bool, optional
        Whether a twentieth of the budget tells how sure the forest may be: a line from its score to what
        rows say of it. By default where ε·rows is at least 1000, for regression 10000. For more than two
        classes there is none.
    random_state : int, Generator or RandomState, optional
        Only for the public structure of the trees. Noise never depends on it.
    """

    n_estimators: Any = None
    max_depth: Any = None
    share: Any = None
    expected_rows: Any = None
    calibrate: Any = None
    random_state: Any = None

    _claims = ("random-decision-forest",)
    _learned = learned.attributes(
        trees_=learned.Each(learned.Splits("leaves"), "trees"),
        calibration_=learned.Together(learned.Number(), learned.Number()),
    )
    #: ε·rows from which calibration is the default.
    _fewest_to_calibrate: ClassVar[int]

    @abstractmethod
    def _leaf_query(self, leaf: str, facts: Facts) -> Additive:
        """What is asked of each leaf of a tree."""

    def _size(self, facts: Facts) -> tuple[int, int]:
        """The number of trees and their depth, from public facts alone."""
        if not candidates(_columns(facts)):
            return 1, 0
        trees, depth = self._default_size(facts)
        if self.n_estimators is not None:
            trees = as_integer(self.n_estimators, "n_estimators", minimum=1)
        if self.max_depth is not None:
            depth = as_integer(self.max_depth, "max_depth", minimum=1)
        if depth > 12 or trees > 1024:
            raise ValueError("max_depth must be at most 12, and n_estimators at most 1024.")
        return trees, depth

    @abstractmethod
    def _default_size(self, facts: Facts) -> tuple[int, int]:
        """The number of trees and their depth where parameters don't say it."""

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

    def _queries(self, facts: Facts, forest: Forest, trees: list[Tree]) -> Joint:
        """One vector: a block for each tree, or one block for a tree of trees."""
        leaf, part = free_name("leaf", facts.schema), free_name("part", facts.schema)
        if not forest.depth:
            return Joint(self._rootless(facts))
        query = self._leaf_query(leaf, facts)
        if not forest.splits_rows:
            # a plan's example is one tree many times: asked about once
            return Joint(*ask_each(trees, lambda tree: WithColumns(query, {leaf: tree})))
        every = [*facts.features, *([facts.target] if facts.target else [])]
        columns: dict[str, Derived] = {
            part: Parts(every, len(trees)),
            leaf: Tree(tree_of_trees(part, [tree.splits for tree in trees])),
        }
        return Joint(WithColumns(query, columns))

    @abstractmethod
    def _rootless(self, facts: Facts) -> Additive:
        """What is asked where no column can be split."""

    @staticmethod
    def _draw_forest(facts: Facts, forest: Forest, draw: np.random.Generator) -> list[Tree]:
        """The trees; none where there is nothing to split."""
        if not forest.depth:
            return []
        return list(map(Tree, random_trees(_columns(facts), forest.depth, forest.trees, draw)))

    def _calibrates(self, facts: Facts, depth: int) -> bool:
        """Whether a part of the budget is for a line from the score to what rows say."""
        if self.calibrate not in (None, True, False):
            raise ValueError(f"calibrate must be None, True or False, got {self.calibrate!r}.")
        if not depth or not self._has_score(facts):
            return False
        if self.calibrate is None:
            return strength(self.epsilon, self._guess(facts)) >= self._fewest_to_calibrate
        return bool(self.calibrate)

    def _has_score(self, facts: Facts) -> bool:
        """Whether what trees say of a row is one number."""
        return True

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        trees, depth = self._size(facts)
        splits_rows = depth > 0 and self._splits_rows(trees)
        measure = self._measure()
        assert isinstance(measure, PureDP | ApproxDP)
        pool = stretch(self.epsilon, self._guess(facts), trees, depth, len(facts.features))
        forest = Forest(trees, depth, splits_rows, pool, measure)
        # all trees of this size cost the same, so the example has one split alone
        example = [Tree((any_split(_columns(facts)), *[None] * (2**depth - 2)))] if depth else []
        query = self._queries(facts, forest, example * trees)
        if not self._calibrates(facts, depth):
            asked = facts.ask(query, measure)
            noise = {} if rows is None else {"leaf_values_": asked.expected_error(rows)[0]}
            return FitPlan.from_question(facts, asked, noise, forest)
        sensitivity = query.sensitivity(facts.schema, facts.unit)
        measure, (leaves, line) = split_for(sensitivity, measure, (1 - SHARE, SHARE), 0)
        nothing = [np.zeros(2**depth)]
        asked = facts.ask(query, leaves)
        line_query = self._line_query(facts, example, nothing, ScoreBins(0.0, 1.0))
        noise = {} if rows is None else {"leaf_values_": asked.expected_error(rows)[0]}
        event = together((asked.event, facts.ask(line_query, line).event))
        forest = replace(forest, leaves=leaves, line=line)
        return FitPlan(event, measure, noise, (query, line_query), facts, forest)

    def _line_query(
        self, facts: Facts, trees: list[Tree], scores: list[Floats], bins: ScoreBins
    ) -> Joint:
        """What is asked of bins of the score: the same as of leaves."""
        places = [f"leaf {place}" for place in range(len(trees))]
        names = [free_name(name, facts.schema) for name in (*places, "score", "bin")]
        columns = bins.columns(trees, scores, names)
        return Joint(WithColumns(self._leaf_query(names[-1], facts), columns))

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        facts = plan.facts
        forest: Forest = plan.recipe
        trees = self._draw_forest(facts, forest, random_generator(self.random_state))
        release = door.release(self._queries(facts, forest, trees), forest.leaves)
        values, errors = list(release.value), list(release.stderr)
        if len(values) < forest.trees:  # one block: the trees one after the other
            values = np.split(np.asarray(values[0]), forest.trees)
            errors = [np.split(np.asarray(errors[0]), forest.trees)[0]] * forest.trees
        self.trees_: list[Splits] = [tree.splits for tree in trees] or [(None,)]
        leaves = [np.asarray(value, float) for value in values]
        fitted = self._learn(
            facts, leaves, np.asarray(errors[0], float), forest.pool / forest.trees
        )
        line = Line()
        if forest.line is not None:
            rows, scores = self._scores()
            bins = ScoreBins.from_leaves(rows, scores)
            told = door.release(self._line_query(facts, trees, scores, bins), forest.line)
            value, error = (np.asarray(part[0], float) for part in (told.value, told.stderr))
            line = self._draw_line(facts, value, error, bins.middles, fitted)
        self.calibration_ = line.shift, line.slope

    @abstractmethod
    def _learn(self, facts: Facts, values: list[Floats], error: Floats, pool: float) -> float:
        """What the leaves add to the score, from their noised answers; and what `fitted_excess` asks for."""

    @abstractmethod
    def _scores(self) -> tuple[list[Floats], list[Floats]]:
        """Of each tree the noised numbers of rows in its leaves, and what they add to the score."""

    @abstractmethod
    def _draw_line(
        self, facts: Facts, value: Floats, error: Floats, middles: Floats, fitted: float
    ) -> Line:
        """The line through what was told of the bins of the score."""


def _columns(facts: Facts) -> dict[str, Base]:
    return dict(zip(facts.features, facts.columns, strict=True))


@final
@with_parameters
class RandomDecisionForest(RandomForest, PrivateClassifier):
    """Random trees with public structure, and noised class counts in their leaves.

    Each node of each tree cuts a random column at random within its declared bounds; no row is looked at
    for that. All that is asked is one joint vector: how many rows of each class are in each leaf
    (Jagannathan, Pillaipakkamnatt & Wright 2009). Leaves are shrunk towards their ancestors; the trees'
    evidence, the logarithm of a leaf's share of a class over that of all rows, is averaged and scaled: down
    by the share of it that is noise, up because a random tree sees only a part of what the columns show. Of
    two classes the score, the averaged evidence for the second, is calibrated where the table is large
    enough: classes are counted in bins of it, and a line is drawn through their log-odds.

    Attributes
    ----------
    classes_, class_prior_ : arrays over classes
    trees_ : list of tuples
        The splits of each tree, as `schema.Tree` takes them.
    leaf_values_ : list of arrays of shape (leaves, classes)
        The noised counts.
    calibration_ : pair of float
        Shift and slope of the line; 0 and 1 where there is none.
    privacy_ : FitPrivacy

    Privacy
    -------
    One vector of T histograms: sensitivity T in L1 and √T in L2 under add/remove, 2T and √(2T) under
    replace-one, times `max_rows` (with ``share="rows"``: as for one tree). Event: `DiscreteLaplace`, or
    `Gaussian` with a δ; with calibration two of them, the second, for one histogram, with a twentieth of ε
    (of ρ = μ²/2 with Gaussian noise). Trees, depth and defaults come from public facts. No rows, one class,
    constant columns, NaN (the fill) and unknown categories (left branches, in a fit as in predictions) are
    not special cases. Proof page: ``docs/proofs/tree.md``.

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

    _fewest_to_calibrate = FEWEST_FOR_CLASSES

    def _default_size(self, facts: Facts) -> tuple[int, int]:
        return forest_size(self.epsilon, self._guess(facts), len(facts.features))

    def _has_score(self, facts: Facts) -> bool:
        return len(facts.labels) == 2

    def _leaf_query(self, leaf: str, facts: Facts) -> Count:
        assert facts.target is not None
        return Count(by=(leaf, facts.target))

    def _rootless(self, facts: Facts) -> Count:
        return Count(by=facts.target)

    def _learn(self, facts: Facts, values: list[Floats], error: Floats, pool: float) -> float:
        order, noise = self._by_class(facts), float(error.max())
        counts = [value.reshape(-1, len(order))[:, order] for value in values]
        self.leaf_values_ = counts
        total = np.mean([each.sum(axis=0) for each in counts], axis=0)
        spread = noise * math.sqrt(len(counts[0]) / len(counts))
        prior = self.class_prior_ = class_prior(total, spread)
        pool *= signal_share(counts, noise, prior)
        leaves = np.concatenate(counts)
        shares = class_shares(leaves, noise, prior, len(counts))
        self._evidence = np.split(pool * (np.log(shares) - np.log(prior)), len(counts))
        own = own_class_parts(leaves, noise, len(counts))
        rows = likely_rows(leaves.sum(axis=1), noise * math.sqrt(len(order)), len(counts))
        return pool * float(own @ rows)

    def _scores(self) -> tuple[list[Floats], list[Floats]]:
        rows = [leaves.sum(axis=1) for leaves in self.leaf_values_]
        return rows, [evidence[:, 1] - evidence[:, 0] for evidence in self._evidence]

    def _draw_line(
        self, facts: Facts, value: Floats, error: Floats, middles: Floats, fitted: float
    ) -> Line:
        order = self._by_class(facts)
        counts = value.reshape(-1, len(order))[:, order]
        odds = np.log(self.class_prior_)
        return class_line(counts, float(error.max()), float(odds[1] - odds[0]), middles, fitted)

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of the classes' probabilities for each row."""
        rows = self._rows(X)
        leaves = leaves_of(self.trees_, rows)
        scores = np.zeros((len(leaves), len(self.classes_)))
        for tree, evidence in enumerate(self._evidence):
            scores += evidence[leaves[:, tree]]
        shift, slope = self.calibration_
        scores = np.log(self.class_prior_) + scores * slope
        scores[:, -1] += shift
        scores -= scores.max(axis=1, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))

    def predict_proba(self, X: Any) -> Floats:
        """The classes' probabilities for each row."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        scores = self.predict_log_proba(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])
