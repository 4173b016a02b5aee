"""What the additive boosting estimators share: the plan, the rounds, the scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from discreet import events
from discreet.columns import Base, Categorical
from discreet.dataset import PrivateDataset
from discreet.measures import Measure, PureDP
from discreet.models import learned
from discreet.models.base import PrivateEstimator
from discreet.models.boosting.export import read_into, text_of
from discreet.models.boosting.layout import (
    Layout,
    add_cells,
    cells_joined,
    join_columns,
    public_layout,
)
from discreet.models.boosting.learning import Learned, Start, boost, stretch
from discreet.models.boosting.pairs import (
    PAIR,
    ROUNDS,
    PairQueries,
    add_to,
    number_of_candidates,
)
from discreet.models.boosting.plots import draw_shape
from discreet.models.boosting.schedule import (
    DEFAULT_ROUNDS,
    PURE_ROUNDS,
    Costs,
    Groups,
    Schedule,
    TargetQuery,
    fold,
    public_groups,
    split_costs,
)
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.shares import together
from discreet.queries import Additive, Cells, Joint, Residuals, WithColumns
from discreet.rational import as_integer
from discreet.release import Release

Floats = npt.NDArray[np.float64]

#: Public cells of a numeric column.
DEFAULT_CELLS = 128


@with_parameters
class AdditiveBoosting(PrivateEstimator):
    """Cyclic boosting of shapes by cells from noised sums of residuals.

    Parameters
    ----------
    rounds : int, optional
        Rounds of residuals; 6 by default, 3 if `delta` is 0, where each costs its share of ε. In a round,
        columns are asked one after the other; in groups, where the rows would be scanned more than 64 times.
    cells : int
        Public cells of a numeric column before its noised counts decide which to join: evenly spaced, some
        of them halving towards the end that is nearer to zero.
    interactions : int
        How many pairs of columns to add. They are sought among the eight columns that matter most, each in
        four parts, and cost three tenths of the budget; on the real tables we tried they didn't help, so
        there are none by default.
    """

    rounds: Any = None
    cells: Any = DEFAULT_CELLS
    interactions: Any = 0

    _claims = ("additive-boosting",)
    #: What is asked of the target alone, before its cells; None if nothing is.
    _target_query: ClassVar[TargetQuery | None] = None
    _lag = 0.0
    _learned = learned.attributes(
        cuts_=learned.Each(
            learned.IfSet(learned.Each(learned.Number(), container=tuple)), container=dict
        ),
        pairs_=learned.Each(PAIR),
        term_names_=learned.Texts(),
        intercept_=learned.Array("outputs"),
        term_scores_=learned.Each(learned.Array("cells", "outputs"), "terms", fresh=("cells",)),
        term_errors_=learned.Each(learned.Array("cells", "outputs"), "terms", fresh=("cells",)),
        term_counts_=learned.Each(learned.Array("cells"), "terms", fresh=("cells",)),
    )

    @abstractmethod
    def _first_query(self, by: str | None, facts: Facts) -> Additive:
        """The query about the target, in each cell of a column or over all rows."""

    @abstractmethod
    def _residuals(
        self, values: dict[str, Floats], intercept: Floats, clip: float, cells: Cells, facts: Facts
    ) -> tuple[Residuals, float]:
        """The query about residuals in the cells of a column, and the size of one unit of its answer."""

    @abstractmethod
    def _counts(self, answer: Floats) -> Floats:
        """Numbers of rows by cell in a first answer."""

    @abstractmethod
    def _count_error(self, noise: Floats) -> float:
        """The standard deviation of the noise in such a number."""

    @abstractmethod
    def _start(
        self,
        answers: list[Floats],
        cells: list[Floats],
        errors: Floats,
        target: Release | None,
        is_ordered: list[bool],
        facts: Facts,
    ) -> Start:
        """The first shapes, from first answers in joined cells and what is known of the target."""

    @abstractmethod
    def _outputs(self, facts: Facts) -> int:
        """How many scores a row has."""

    @abstractmethod
    def _default_clip(self) -> float:
        """Roughly where residuals will be clipped."""

    def _number_of_rounds(self) -> int:
        if self.rounds is not None:
            return as_integer(self.rounds, "rounds", minimum=0)
        return PURE_ROUNDS if isinstance(self._measure(), PureDP) else DEFAULT_ROUNDS

    def _public_layout(self, facts: Facts) -> Layout:
        most = as_integer(self.cells, "cells", minimum=2)
        if most > 1024:
            raise ValueError(f"cells must be at most 1024, got {self.cells!r}.")
        return public_layout(facts, most)

    def _first(self, layout: Layout, facts: Facts) -> Joint:
        """One vector: the target in the cells of every column; over all rows, if no column has cells."""
        if not layout.cuts:
            return Joint(self._first_query(None, facts))
        blocks: list[Additive] = []
        for name in layout.cuts:
            query, cells = self._first_query(layout.by[name], facts), layout.by[name]
            derived = layout.cells.columns
            blocks.append(
                WithColumns(query, {cells: derived[cells]}) if cells in derived else query
            )
        return Joint(*blocks)

    def _round(
        self,
        values: Sequence[Floats],
        intercept: Floats,
        clip: float,
        group: Sequence[int],
        layout: Layout,
        facts: Facts,
    ) -> tuple[Joint, float]:
        """One vector: the residuals in the cells of a group of columns; and its unit."""
        tables = {layout.by[n]: value for n, value in zip(layout.cuts, values, strict=True)}
        query, unit = self._residuals(tables, intercept, clip, layout.cells, facts)
        names = list(layout.cuts)
        return Joint(*(query.at(layout.by[names[at]]) for at in group)), unit

    def _number_of_pairs(self, layout: Layout) -> int:
        asked = as_integer(self.interactions, "interactions", minimum=0)
        return min(asked, number_of_candidates(len(layout.cuts)))

    def _groups(self, layout: Layout) -> Groups:
        """Who is asked for residuals when."""
        return public_groups(len(layout.cuts), self._number_of_rounds()) if layout.cuts else ()

    def _costs(self, layout: Layout) -> Costs:
        """What each answer may cost."""
        return split_costs(
            self._measure(),
            self._groups(layout),
            with_target=self._target_query is not None,
            with_pairs=self._number_of_pairs(layout) > 0,
        )

    def _plan(self, facts: Facts, rows: int | None) -> FitPlan:
        layout = self._public_layout(facts)
        costs, groups = self._costs(layout), self._groups(layout)
        target = None
        if self._target_query is not None and costs.target is not None:
            target = facts.ask(self._target_query(costs.target, facts), costs.target)
        first = facts.ask(self._first(layout, facts), costs.first)
        schedule = Schedule(layout, target, first, groups, costs, self._number_of_pairs(layout))
        asked = [first] if target is None else [target, first]
        parts, queries = [one.event for one in asked], [one.query for one in asked]
        noise: dict[str, Any] = {}
        if rows is not None:
            noise["first_answer"] = float(np.max(first.expected_error(rows)[0]))

        def ask(query: Joint, budget: Measure, times: int) -> float:
            question = facts.ask(query, budget)
            if question.event != events.Compose():  # public rows cost nothing
                parts.append(events.Repeat(question.event, times) if times > 1 else question.event)
            queries.append(query)
            return float(np.max(question.expected_error(1 if rows is None else rows)[0]))

        nothing, clip = np.zeros(self._outputs(facts)), self._default_clip()
        zeros = [np.zeros((n, len(nothing))) for n in layout.sizes.values()]
        for round_, budgets in zip(groups, costs.rounds, strict=True):
            sizes = fold([(len(g), budget) for g, budget in zip(round_, budgets, strict=True)])
            for (size, budget), times in sizes:
                query, unit = self._round(zeros, nothing, clip, range(size), layout, facts)
                noise["residual_sums"] = ask(query, budget, times) * unit
            noise["term_scores_"] = self._expected_noise(noise["residual_sums"], rows or 1)
        if schedule.pairs:
            pairs = PairQueries(self, layout, Learned(zeros, zeros, nothing), clip, facts)
            for at, query in enumerate(pairs.plan(schedule.pairs)):
                ask(query, costs.pairs[at], ROUNDS if at == 2 else 1)
        told = {} if rows is None else noise
        return FitPlan(together(parts), self._measure(), told, tuple(queries), facts, schedule)

    @abstractmethod
    def _expected_noise(self, residual: float, rows: int) -> float:
        """The approximate noise of a shape's value in a cell with a twentieth of the rows."""

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        facts = plan.facts
        schedule: Schedule = plan.recipe
        layout = schedule.layout
        target = None if schedule.target is None else schedule.target.release(door)
        told = schedule.first.release(door)
        answers = [np.asarray(value, np.float64) for value in told.value]
        errors = np.asarray(told.stderr[0], np.float64)
        if not layout.cuts:
            answers = [np.reshape(answers[0], (1, -1))]
            errors = np.reshape(errors, (1, -1))
        answers = [answer.reshape(-1, *self._shape(facts)) for answer in answers]
        noise = errors.reshape(-1, *self._shape(facts))[0]
        layout, answers, cells = self._join_cells(layout, answers, noise, facts)
        ordered = [points is not None for points in layout.cuts.values()] or [False]
        start = self._start(answers, cells, noise, target, ordered, facts)
        self._set_layout(layout)
        if not layout.cuts:
            self._set(start.intercept, [], [], [])
            return
        budgets = iter([budget for round_ in schedule.costs.rounds for budget in round_])

        def ask(
            values: Sequence[Floats], intercept: Floats, group: Sequence[int]
        ) -> tuple[list[Floats], float]:
            query, unit = self._round(values, intercept, start.clip, group, layout, facts)
            found = door.release(query, next(budgets))
            deviation = float(np.max(found.stderr[0])) * unit
            return [np.asarray(part, np.float64) * unit for part in found.value], deviation

        learned, counts = boost(start, schedule.groups, ask), list(start.rows)
        if schedule.pairs:
            further = iter(schedule.costs.pairs)

            def release(query: Joint) -> Release:
                return door.release(query, next(further))

            queries = PairQueries(self, layout, learned, start.clip, facts)
            self.pairs_, learned, rows = add_to(learned, queries, start, schedule.pairs, release)
            self.term_names_ += [pair.name for pair in self.pairs_]
            counts += rows
        if schedule.groups:
            learned = stretch(learned, 1.0 + self._lag / len(schedule.groups))
        self._set(learned.intercept, learned.values, learned.errors, counts)

    @abstractmethod
    def _shape(self, facts: Facts) -> tuple[int, ...]:
        """The shape of a first answer in one cell."""

    def _join_cells(
        self, layout: Layout, answers: list[Floats], noise: Floats, facts: Facts
    ) -> tuple[Layout, list[Floats], list[Floats]]:
        """Fewer cells for numeric columns, what was answered in them, and how many of the old each holds."""
        if not layout.cuts:
            return layout, answers, [np.ones(1)]
        counts = [self._counts(answer) for answer in answers]
        kept = join_columns(layout, counts, self._count_error(noise))
        joined = [cells_joined(cuts, len(c)) for cuts, c in zip(kept, counts, strict=True)]
        found = [add_cells(answer, to) for answer, to in zip(answers, joined, strict=True)]
        cells = [np.bincount(to).astype(np.float64) for to in joined]
        return layout.with_cuts(facts.declared, kept), found, cells

    def _set_layout(self, layout: Layout) -> None:
        self.cuts_ = dict(layout.cuts)
        self.pairs_ = []
        self.term_names_ = list(layout.cuts)

    def _set(
        self, intercept: Floats, values: list[Floats], errors: list[Floats], rows: list[Floats]
    ) -> None:
        """Set what was learned."""
        self.intercept_ = intercept
        self.term_scores_ = values
        self.term_errors_ = errors
        self.term_counts_ = rows

    def _layout(self) -> Layout:
        return Layout.of(self.columns_, self.cuts_)

    def _check_learned(self) -> None:
        sizes = [*self._layout().sizes.values(), *(pair.size for pair in self.pairs_)]
        for name, scores, size in zip(self.term_names_, self.term_scores_, sizes, strict=True):
            if len(scores) != size:
                raise ValueError(f"source: column {name!r} must have {size} scores.")

    def _scores(self, X: Any) -> Floats:
        """Intercept and shapes, added up: an array (rows, outputs)."""
        rows = self._rows(X)
        scores = np.tile(self.intercept_, (rows.length, 1))
        places = self._layout().places(rows) if self.cuts_ else {}
        found = [*places.values(), *(pair.places(places) for pair in self.pairs_)]
        for at, values in zip(found, self.term_scores_, strict=True):
            table = np.vstack([values, np.zeros(values.shape[1])])
            scores += table[at]  # not a declared value: the zeros after the last
        return np.asarray(scores)

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the fitted model as JSON: for each column its cells, what they add, and the noise in that.

        Parameters
        ----------
        path : optional
            A file to write it to as well.
        """
        check_is_fitted(self, "privacy_")
        return text_of(self, path)

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Read a fitted model from JSON text or from a file; it predicts what the written one did."""
        model = cls()
        read_into(model, source)
        return model

    def plot(self, feature: str, ax: Any = None) -> Any:
        """Draw what a column adds to the score, with a band of two standard deviations of the noise.

        Parameters
        ----------
        feature : str
            The name of a column.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default. Needs ``discreet[report]``.

        Returns
        -------
        Axes
        """
        check_is_fitted(self, "privacy_")
        return draw_shape(self, feature, ax)

    @abstractmethod
    def _export(self) -> dict[str, Any]:
        """What is known of the target, as plain data."""

    @abstractmethod
    def _import(self, data: Mapping[str, Any]) -> None:
        """The inverse of `_export`."""

    @abstractmethod
    def _output_names(self) -> list[str]:
        """What each score is for."""

    @abstractmethod
    def _score_name(self) -> str:
        """What a score means, for the axis of a plot."""

    def _infer_features(
        self, names: Sequence[str], cells: Sequence[npt.NDArray[Any]]
    ) -> Mapping[str, Base]:
        found: dict[str, Base] = {}
        for name, values in zip(names, cells, strict=True):
            texts = {cell for cell in values.ravel().tolist() if isinstance(cell, str)}
            if texts:
                found[name] = Categorical(*sorted(texts))
            else:
                found |= super()._infer_features([name], [values])
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
