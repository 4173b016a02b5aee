"""k-means from noised sums, or by sample and aggregate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.mechanisms import Distribution, mechanism_for
from discreet.models import learned
from discreet.models.cluster.blocks import SIZE, BlockCentres, block_sensitivity
from discreet.models.cluster.box import Box, Floats, nearest, spread
from discreet.models.cluster.lloyd import Lloyd, count_weight
from discreet.models.cluster.starts import GRID_BITS, Fixed, GridStart, Space, SplitStart, Start
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.reading import column_array, column_names
from discreet.models.rows import Rows
from discreet.models.seeds import random_generator
from discreet.models.shares import together
from discreet.models.targets import BoundedEstimator
from discreet.queries import Additive
from discreet.rational import as_integer
from discreet.release import Release

#: Rounds of Lloyd after each start; after a grid more, where ε times the rows (this many, if their number is
#: not public) is at least as large: with less, noise takes more than further rounds give.
_ROUNDS = {GridStart: 2, SplitStart: 3, Fixed: 5}
_MORE_ROUNDS, _MANY_ROWS = 4, 5000
#: How often each block of sample and aggregate starts anew.
_STARTS = 4
#: By default there are as many blocks as bring the noise down to this share of a column's width.
_BLOCK_NOISE = 0.05
_MAX_BLOCKS = 4096


@final
@dataclass(frozen=True, eq=False)
class _Recipe:
    """The start and the rounds of Lloyd, and what each of their answers may cost."""

    lloyd: Lloyd
    budgets: tuple[Measure, ...]


@final
@with_parameters
class KMeans(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BoundedEstimator,
):
    """k-means with private centres.

    Distances are Euclidean between columns scaled by their declared bounds to [0, 1].

    Parameters
    ----------
    n_clusters : int
    method : {"lloyd", "sample_aggregate"}
        ``"lloyd"``: rounds of noised counts and sums per cluster (DPLloyd of Su et al. 2016), on every
        engine. ``"sample_aggregate"``: k-means in disjoint blocks of rows, averaged with noise (GUPT,
        Mohan et al. 2012); it collects the rows, and is mostly useful for comparison.
    init : {"auto", "grid", "split", "spread"} or array of shape (n_clusters, n_features)
        Where Lloyd starts. ``"grid"`` spends three tenths of the budget on a noised histogram over a
        coarse grid (at most 2^12 cells, so at most 12 columns) and starts at its k-means; ``"split"``
        spends as much on halving clusters along their widest column; ``"spread"`` takes well-spread
        public points and spends nothing; an array is taken as it is and must be public. ``"auto"`` is
        ``"grid"`` up to 12 columns, else ``"split"``.
    rounds : int, optional
        Rounds of Lloyd; by default 4 after a grid (2 where the expected number of rows times ε is below
        5000), 3 after splits, else 5. Each costs its share.
    expected_rows : int, optional
        A public guess of the number of rows, 5000 by default; where the number is public, that one. It
        only decides the rounds: give it for a small table.
    blocks : int, optional
        Blocks of sample and aggregate; by default as many as bring the noise of a coordinate to a
        twentieth of its column's width, at least 8 and at most 4096.
    random_state : int, optional
        Seed of the public draws (spread points, k-means of noised cells); 0 if not given.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        In the units of the columns.
    cluster_sizes_ : array of shape (n_clusters,)
        Noised numbers of rows, from the last round (zeros where none was asked); not clipped.
    n_iter_ : int
        The number of rounds.
    labels_ : array
        Only for rows declared public: a private row's label would tell about that row.
    privacy_ : FitPrivacy

    Privacy
    -------
    One prepaid charge for all rounds. A round is one vector per cluster, (count, sums), with one noise;
    clusters are disjoint, so a row moves one of them. No row decides the number of rounds, the start's
    price or a restart. Null and NaN count as the column's fill; empty clusters stay where they are.
    With ``sample_aggregate`` a row changes one block, a replaced row two.
    Proof page: ``docs/proofs/cluster.md``.

    Examples
    --------
    >>> from discreet.models.cluster import KMeans
    >>> model = KMeans(3, epsilon=1.0, bounds=(0, 1))
    >>> model.plan(n_features=2).measure
    PureDP(epsilon=1)
    """

    _numbers_only = True

    n_clusters: int = field(default=8, kw_only=False)
    method: str = "lloyd"
    init: Any = "auto"
    rounds: int | None = None
    expected_rows: Any = None
    blocks: int | None = None
    random_state: int | None = None

    _learned = learned.attributes(
        cluster_centers_=learned.Array("clusters", "features"),
        cluster_sizes_=learned.Array("clusters"),
        n_iter_=learned.Count(),
    )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        target: str | None = None,
        check: bool | float = False,
        features: Sequence[str] | None = None,
    ) -> KMeans:
        """Find centres, privately.

        Parameters
        ----------
        X : array, data frame, mapping of names to arrays, or PrivateDataset
        y : ignored
        groups : array, optional
            The person each row belongs to, for a unit with ``max_rows``.
        target : str, optional
            A column of the schema to leave out.
        check : bool or float
            Whether, and with which share of the budget, the features are checked first.
        features : sequence of str, optional
            The columns to learn from; derived ones, too.
        """
        super().fit(X, y, groups=groups, target=target, check=check, features=features)
        self.__dict__.pop("labels_", None)
        if self.privacy_.unit.is_public and not isinstance(X, PrivateDataset):
            with suppress(TypeError):  # a lazy frame has no cells yet
                self.labels_ = self._labels(X)
        return self

    def _labels(self, X: Any) -> npt.NDArray[np.int32]:
        """The labels of public rows that were fitted; a frame may have further columns."""
        if column_names(X) is None:
            return self.predict(X)
        if hasattr(self, "derived_"):
            return self.predict(X)
        cells = tuple(column_array(X, name) for name in self.columns_)
        columns = tuple(self.columns_.values())
        rows = Rows(cells, columns, tuple(self.columns_), len(cells[0]))
        return nearest(*self._place(rows))[0].astype(np.int32)

    def fit_predict(self, X: Any, y: Any = None, **options: Any) -> npt.NDArray[np.int32]:
        """`fit`, then `predict` for the same rows. The labels themselves are not private."""
        return self.fit(X, y, **options).predict(X)

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """The nearest centre of each row."""
        return nearest(*self._scale(X))[0].astype(np.int32)

    def transform(self, X: Any) -> Floats:
        """The distance of each row to each centre, columns scaled to [0, 1]."""
        rows, centres = self._scale(X)
        distances = [np.sqrt(((rows - centre) ** 2).sum(axis=1)) for centre in centres]
        return np.stack(distances, axis=1)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the sum of squared distances to the nearest centre, columns scaled to [0, 1]."""
        return -float(nearest(*self._scale(X))[1].sum())

    def _scale(self, X: Any) -> tuple[Floats, Floats]:
        """Rows and centres with each column between 0 and 1."""
        return self._place(self._rows(X))

    def _place(self, rows: Rows) -> tuple[Floats, Floats]:
        box = Box.of(rows.columns)  # type: ignore[arg-type]
        return (box.scale(rows.numbers()) + 1) / 2, (box.scale(self.cluster_centers_) + 1) / 2

    @property
    def _claims(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("k-means",) if self.method == "lloyd" else ("k-means-blocks",)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _draw(self) -> np.random.Generator:
        return random_generator(0 if self.random_state is None else self.random_state)

    def _space(self, facts: Facts) -> Space:
        clusters = as_integer(self.n_clusters, "n_clusters", minimum=1)
        columns = facts.numeric("KMeans")
        return Space(facts, columns, clusters, count_weight(len(columns), self._measure()))

    def _lloyd(self, facts: Facts) -> Lloyd:
        space, start = self._space(facts), self._start(facts)
        if self.rounds is None:
            return Lloyd(space, start, self._default_rounds(start, facts))
        least = 0 if start.queries(space) else 1
        return Lloyd(space, start, as_integer(self.rounds, "rounds", minimum=least))

    def _default_rounds(self, start: Start, facts: Facts) -> int:
        """How many rounds public facts suggest."""
        measure = self._measure()
        assert isinstance(measure, PureDP | ApproxDP)
        rows = _MANY_ROWS if facts.rows is None else facts.rows
        if self.expected_rows is not None:
            rows = as_integer(self.expected_rows, "expected_rows", minimum=1)
        if isinstance(start, GridStart) and measure.epsilon * max(rows, 1) >= _MANY_ROWS:
            return _MORE_ROUNDS
        return _ROUNDS[type(start)]

    def _start(self, facts: Facts) -> Start:
        d = len(facts.features)
        if not isinstance(self.init, str):
            points = np.asarray(self.init, np.float64)
            if points.shape != (self.n_clusters, d) or not np.isfinite(points).all():
                raise ValueError(
                    f"init must be one of 'auto', 'grid', 'split', 'spread', or {self.n_clusters} finite "
                    f"public points of {d} numbers, got an array of shape {points.shape}."
                )
            return Fixed(points)
        if self.init == "grid" and d > GRID_BITS:
            raise ValueError(
                f"init='grid' takes at most {GRID_BITS} columns, X has {d}: use init='split'."
            )
        if self.init == "auto":
            return GridStart() if d <= GRID_BITS else SplitStart()
        starts: dict[str, Start] = {
            "grid": GridStart(),
            "split": SplitStart(),
            "spread": Fixed(),
        }
        if self.init not in starts:
            raise ValueError(
                "init must be 'auto', 'grid', 'split', 'spread' or an array of public points, "
                f"got {self.init!r}."
            )
        return starts[self.init]

    def _is_lloyd(self) -> bool:
        if self.method not in ("lloyd", "sample_aggregate"):
            raise ValueError(f"method must be 'lloyd' or 'sample_aggregate', got {self.method!r}.")
        return self.method == "lloyd"

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        if not self._is_lloyd():
            return self._plan_blocks(facts)
        lloyd = self._lloyd(facts)
        queries, budgets = lloyd.queries(), lloyd.measures(self._measure())
        asked = [facts.ask(q, budget) for q, budget in zip(queries, budgets, strict=True)]
        event = together(part.event for part in asked)
        noise = {}
        if rows is not None and lloyd.rounds:
            spread_ = asked[-1].expected_error(rows)[:, 1:] / max(rows / self.n_clusters, 1.0)
            noise = {"cluster_centers_": np.minimum(spread_, 1.0) * lloyd.space.box.width / 2}
        return FitPlan(event, self._measure(), noise, queries, facts, _Recipe(lloyd, budgets))

    def _plan_blocks(self, facts: Facts) -> FitPlan:
        """The plan of sample and aggregate: one step."""
        step = self._step(facts)
        error = step.distribution.expected_error() / (SIZE * step.blocks)
        width = Box.of(facts.numeric("KMeans")).width
        noise = {"cluster_centers_": np.tile(error * width, (self.n_clusters, 1))}
        event = step.event(facts.schema, facts.unit)
        return FitPlan(event, self._measure(), noise, (step,), facts, step)

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        if isinstance(plan.recipe, BlockCentres):
            shares = door.run(plan.recipe)
            box = Box.of(plan.facts.numeric("KMeans"))
            self.cluster_centers_ = box.units(2 * shares - 1)
            self.cluster_sizes_ = np.zeros(len(shares))
            self.n_iter_ = 1
            return
        recipe: _Recipe = plan.recipe
        budgets = iter(recipe.budgets)

        def ask(query: Additive) -> Release:
            return door.release(query, next(budgets))

        centres, self.cluster_sizes_ = recipe.lloyd.run(ask, self._draw())
        self.cluster_centers_ = recipe.lloyd.space.box.units(centres)
        self.n_iter_ = recipe.lloyd.rounds

    def _step(self, facts: Facts) -> BlockCentres:
        """Sample and aggregate with its noise, from public facts."""
        space = self._space(facts)
        draw = self._draw()
        starts = [spread(space.clusters, space.dimensions, draw) for _ in range(_STARTS)]
        distribution, blocks = self._dealt(facts, space)
        return BlockCentres(facts.features, (np.array(starts) + 1) / 2, blocks, distribution)

    def _dealt(self, facts: Facts, space: Space) -> tuple[Distribution, int]:
        """The noise and the number of blocks."""

        def noise(blocks: int) -> Distribution:
            sensitivity = block_sensitivity(
                facts.schema, facts.unit, facts.features, space.clusters, blocks
            )
            return mechanism_for(self._measure(), sensitivity).distribution(sensitivity)

        if self.blocks is not None:
            blocks = as_integer(self.blocks, "blocks", minimum=1)
        else:
            error = noise(_MAX_BLOCKS).expected_error() / SIZE
            blocks = min(max(math.ceil(error / _BLOCK_NOISE), 8), _MAX_BLOCKS)
        return noise(blocks), blocks
