"""Synthetic tables: rows drawn from a model of privately measured marginals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from discreet.coding import CodedQuery, partial_codes
from discreet.coding.chunks import Chunk
from discreet.columns import MAX_CELLS, Categorical
from discreet.dataset import PrivateDataset
from discreet.expressions import Expression, parse
from discreet.measures import ApproxDP, PureDP
from discreet.models.facts import Facts
from discreet.models.plan import FitPlan
from discreet.models.privacy import FitPrivacy
from discreet.models.shares import together
from discreet.noise import entropy
from discreet.publish.synthetic.fitting import fit_joint, fit_marginals
from discreet.publish.synthetic.inside import Fitted, cell_shares, refine
from discreet.publish.synthetic.layout import Layout
from discreet.publish.synthetic.plan import default_bins, make_recipe
from discreet.rational import as_integer, rational
from discreet.schema import Schema
from discreet.show import name_several, native_frame
from discreet.unit import Unit

__all__ = ["Synthesizer"]

Array = npt.NDArray[Any]

#: The most cells of a model's tables, unless something else is asked for.
DEFAULT_MAX_CELLS = 2**17
#: Steps of mirror descent, at most.
DEFAULT_ITERATIONS = 1500
#: The most rows that are drawn unless their number is given.
MAX_DEFAULT_ROWS = 2**28
#: Of this many drawn rows one at least must satisfy the constraints.
MAX_REJECTED = 1000


@final
class Synthesizer:
    """Learn a table's marginals privately, and draw made-up rows that have them.

    Counts of each column are noised; a spanning tree of pairs, then further marginals, are drawn by how far
    the rows are from what the model expects, and measured with noise; a graphical model explains all of it
    (select, measure, generate, as in MST and AIM: McKenna, Miklau & Sheldon 2021, 2022). No row of the data
    is published.

    Parameters
    ----------
    epsilon, delta : number
        The budget of everything; pure DP if `delta` is 0, which costs accuracy. Infinite only on public rows.
    workload : {"all-2way", "all-3way", "joint"}, or names of columns
        The marginals that matter: all pairs, all triples, or a list of tuples of names, or a mapping of
        such tuples to whole weights. ``"joint"`` counts all combinations of cells at once, for few columns.
    target : str, optional
        A column of categories that the rows will be used to predict: every pair is measured with it.
    bins : int or mapping of name to int or cuts, optional
        Into how many cells columns of numbers are cut at most, or where; by default 16, or 128 with a large
        budget. In pairs, neighbouring cells form at most 16 groups. Cuts must be public, or bought.
    rounds : int, optional
        How many times six further marginals, or three with a large budget, are measured after the tree; by
        default 2, 4 with a large budget, or 0 where it is too small for them to pay.
    max_cells : int
        The most cells of the model's tables, up to 2^22: marginals that would make it larger aren't chosen.
    constraints : sequence of conditions
        What every row satisfies, such as ``"age >= 16 or income == 0"``: rows that don't are drawn again.
    iterations : int
        The most steps of the estimation.

    Attributes
    ----------
    model_ : JunctionModel
        The probabilities of the cells of each clique of columns.
    total_ : float
        The number of rows, estimated from noised counts; the public one under replace-one.
    layout_ : Layout
        The cells of each column.
    measured_ : tuple of tuples of str
        The marginals that were measured, in order.
    privacy_ : FitPrivacy

    Privacy
    -------
    Unit: any. Measure: PureDP(ε) or ApproxDP(ε, δ). Event: one noised vector of counts of each column; then,
    for the tree and each round, draws of the exponential mechanism and one noised vector of counts. The
    whole plan is fixed by public facts and charged once. Expected counts, groups of rare cells, the model and
    all rows are post-processing. The number of rows is never read. Rows without a declared value are a
    cell of their own. n = 0 gives rows that follow the noise. Proof page: ``docs/proofs/synthetic.md``.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dp
    >>> from discreet.publish import Synthesizer
    >>> schema = dp.Schema(smoker=dp.Categorical("no", "yes"), age=dp.Integer(18, 90))
    >>> rows = {"smoker": np.repeat(["no", "yes"], 500), "age": np.arange(1000) % 73 + 18}
    >>> data = dp.PrivateDataset(rows, schema, ledger=dp.Ledger(limit=dp.ApproxDP(1, 1e-6)))
    >>> made = Synthesizer(epsilon=1, delta=1e-6).fit(data).sample(200)
    >>> sorted(made), len(made["age"])
    (['age', 'smoker'], 200)
    """

    def __init__(
        self,
        epsilon: Any,
        delta: Any = 0,
        *,
        workload: Any = "all-2way",
        target: str | None = None,
        bins: int | Mapping[str, Any] | None = None,
        rounds: int | None = None,
        max_cells: int = DEFAULT_MAX_CELLS,
        constraints: Sequence[Expression | str] = (),
        iterations: int = DEFAULT_ITERATIONS,
    ) -> None:
        self.measure = _read_measure(epsilon, delta)
        self.workload, self.target, self.bins, self.rounds = workload, target, bins, rounds
        self.max_cells = as_integer(max_cells, "max_cells", minimum=1)
        if self.max_cells > MAX_CELLS:
            raise ValueError(f"max_cells must be at most {MAX_CELLS}, got {max_cells!r}.")
        self.iterations = as_integer(iterations, "iterations", minimum=1)
        self.constraints = _read_constraints(constraints)

    def plan(self, data: PrivateDataset) -> FitPlan:
        """Tell what a fit would ask and cost, without touching a row."""
        if not isinstance(data, PrivateDataset):
            raise TypeError(f"data must be a dp.PrivateDataset, not {type(data).__name__}.")
        return self._plan(data.schema, data.unit, data.rows)

    def _plan(self, schema: Schema, unit: Unit, rows: int | None) -> FitPlan:
        if self.measure.epsilon == math.inf and not unit.is_public:
            raise ValueError("epsilon may be infinite (no noise) only with unit=dp.PUBLIC.")
        names = tuple(name for name in schema.base if name != unit.id_column)
        for name in names:
            schema.base[name].code(name, schema)  # text and numbers without bounds say what to do
        if self.target is not None and not (
            self.target in names and isinstance(schema[self.target], Categorical)
        ):
            raise ValueError("target must be the name of a column of categories of this table.")
        for condition in self.constraints:
            condition.condition(schema)
        bins = default_bins(self.measure) if self.bins is None else self.bins
        layout = Layout.from_schema(schema, names, bins)
        features = tuple(name for name in names if name != self.target)
        facts = Facts(schema, unit, features, self.target, rows)
        recipe = make_recipe(facts, layout, self.measure, self.workload, self.rounds)
        questions = recipe.questions()
        event = together(question.event for question in questions)
        queries = tuple(question.query for question in questions)
        return FitPlan(event, self.measure, {}, queries, facts, recipe)

    def fit(self, data: PrivateDataset) -> Self:
        """Charge the plan, measure, and estimate the model."""
        plan = self.plan(data)
        unit, recipe = data.unit, plan.recipe
        rows = data.rows if unit.length_is_public else None
        goal = () if self.target is None else (self.target,)
        note = f"a synthetic table of {name_several((*plan.facts.features, *goal))}"
        with data.prepaid(plan.event, plan.measure, note=note) as door:
            fitted: Fitted
            if recipe.stages:
                fitted = fit_marginals(recipe, door, rows, self.max_cells, self.iterations)
            else:
                fitted = fit_joint(recipe, door, rows)
            entry = door.entry
        self._fitted, self.layout_, self._schema = fitted, recipe.layout, plan.facts.schema
        self.model_, self.total_ = fitted.model, fitted.total
        names = list(recipe.layout.columns)
        self.measured_ = tuple(tuple(names[c] for c in part.columns) for part in fitted.measured)
        is_private = not unit.is_public and not entropy.is_fixed()
        note = "the rows were declared public; nothing was charged" if unit.is_public else ""
        self.privacy_ = FitPrivacy(
            plan.event, plan.measure, unit, ("synthetic-tables",), entry, is_private, note
        )
        return self

    def sample(
        self, rows: int | None = None, *, random_state: Any = None, backend: Any = None
    ) -> Any:
        """Draw made-up rows; costs nothing, however often.

        Parameters
        ----------
        rows : int, optional
            By default the estimated number of rows, unless noise made it larger than 2^28.
        random_state : int or Generator, optional
            It plays no part in privacy.
        backend : str, optional
            "pandas", "polars" or "pyarrow" for a frame; a mapping of names to arrays by default.
        """
        self.check_fitted()
        count = round(self.total_) if rows is None else as_integer(rows, "rows")
        if rows is None and count > MAX_DEFAULT_ROWS:
            raise ValueError(
                f"rows must be given: with so much noise, {count} rows were estimated, which is too many to "
                "hold."
            )
        random = np.random.default_rng(random_state)
        made = self._draw(count, random)
        if backend is None:
            return made
        return native_frame({name: cells.tolist() for name, cells in made.items()}, backend)

    def _draw(self, count: int, random: np.random.Generator) -> dict[str, Array]:
        """Rows that satisfy all constraints."""
        found: list[dict[str, Array]] = []
        lacking, drawn = count, 0
        while lacking > 0 or not found:
            size = lacking if drawn == 0 else max(lacking, 1000)
            if drawn > MAX_REJECTED * max(count, 1000):
                raise ValueError(
                    "constraints: fewer than one of a thousand rows of the model satisfies them; are they "
                    "true of the table? The model is paid for: set other constraints and sample again."
                )
            groups = self._fitted.model.draw(size, random)
            cells = refine(self._fitted, groups, self._target_place(), random)
            made = self.layout_.decode(cells, random)
            kept = np.flatnonzero(self._satisfied(made, size))[:lacking]
            found.append({name: cells[kept] for name, cells in made.items()})
            lacking, drawn = lacking - len(kept), drawn + size
        return {name: np.concatenate([part[name] for part in found]) for name in found[0]}

    def _satisfied(self, made: Mapping[str, Array], size: int) -> npt.NDArray[np.bool_]:
        kept = np.ones(size, np.bool_)
        if not self.constraints or not size:
            return kept
        chunk = Chunk({name: _as_read(cells) for name, cells in made.items()})
        for condition in self.constraints:
            coded = condition.condition(self._schema)
            kept &= chunk.counted(CodedQuery((), (), coded, partial_codes(coded), None))
        return kept

    def marginal(self, *columns: str) -> npt.NDArray[np.float64]:
        """The model's probabilities of combinations of these columns' cells: an axis for each, in order."""
        self.check_fitted()
        names = list(self.layout_.columns)
        if not columns or len(set(columns)) != len(columns) or not set(columns) <= set(names):
            raise ValueError(f"columns must be different ones of: {', '.join(names)}.")
        places = [names.index(name) for name in columns]
        order = sorted(places)
        table = cell_shares(self._fitted, tuple(order), self._target_place())
        return np.transpose(table, [order.index(place) for place in places])

    def _target_place(self) -> int | None:
        return None if self.target is None else list(self.layout_.columns).index(self.target)

    def check_fitted(self) -> None:
        """Raise unless there is a model."""
        if not hasattr(self, "_fitted"):
            raise ValueError("this Synthesizer is not fitted yet: call fit(data) first.")

    def __repr__(self) -> str:
        return f"Synthesizer({self.measure!r}, workload={self.workload!r}, target={self.target!r})"


def _as_read(cells: Array) -> Array:
    """Cells of a type that codes are computed from."""
    return cells.astype(object) if cells.dtype.kind == "U" else cells


def _read_constraints(given: Any) -> tuple[Expression, ...]:
    if isinstance(given, str | Expression) or not isinstance(given, Iterable):
        raise TypeError("constraints must be a list of conditions, as in ['age >= 16'].")
    found = tuple(parse(c) if isinstance(c, str) else c for c in given)
    if not all(isinstance(condition, Expression) for condition in found):
        raise TypeError("constraints must be conditions, as in 'age >= 16' or dp.col('age') >= 16.")
    return found


def _read_measure(epsilon: Any, delta: Any) -> PureDP | ApproxDP:
    if isinstance(epsilon, bool) or epsilon is None:
        raise TypeError("epsilon must be a number greater than 0.")
    if not (epsilon == math.inf or rational(epsilon, "epsilon") > 0):
        raise ValueError(f"epsilon must be greater than 0, got {epsilon!r}.")
    exact = rational(delta, "delta")
    if not 0 <= exact < 1:
        raise ValueError(f"delta must be at least 0 and below 1, got {delta!r}.")
    return ApproxDP(epsilon, exact) if exact else PureDP(epsilon)
