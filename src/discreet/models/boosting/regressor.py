"""Additive boosting of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from discreet.columns import Numeric
from discreet.dataset import PrivateDataset
from discreet.measures import Measure
from discreet.models import learned
from discreet.models.boosting.estimator import AdditiveBoosting, Floats
from discreet.models.boosting.learning import Start, whole_steps
from discreet.models.boosting.starts import number_start
from discreet.models.facts import Facts
from discreet.models.parameters import with_parameters
from discreet.models.plan import FitPlan
from discreet.models.targets import PrivateRegressor
from discreet.models.tree.target import BITS, read_target, target_query
from discreet.queries import Additive, Cells, CentredSums, NumberResiduals
from discreet.queries.residuals import SIZE, TARGET_BITS
from discreet.release import Release

#: The clip of residuals that a plan expects, as a share of half the target's width.
DEFAULT_CLIP = 0.25


@final
@with_parameters
class AdditiveBoostingRegressor(AdditiveBoosting, PrivateRegressor):
    """A regressor that adds up one shape function per column, learned from noised sums of residuals.

    As `AdditiveBoostingClassifier`, from noised counts and sums of the target in every cell. Residuals are
    clipped at 1.25 noised standard deviations of the target; the intercept is its noised mean.

    Attributes
    ----------
    target_bounds_ : pair of numbers
    intercept_, term_names_, pairs_, cuts_, term_scores_, term_errors_, term_counts_
        As for the classifier, in units of the target.
    privacy_ : FitPrivacy

    Notes
    -----
    In the rounds the target is seen in 256 cells between its bounds (whole numbers as they are, if they are
    fewer), so wide bounds cost precision as well as noise.

    Privacy
    -------
    One charge: a twentieth for the target's mean and variance, then as the classifier. With d columns a row
    moves the first vector of all columns by 2d in L1 and √(2d) in L2, and the groups of a round together by d
    and √d, in units of the clip. A missing target counts as its fill.
    Proof page: ``docs/proofs/boosting.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.models.boosting import AdditiveBoostingRegressor
    >>> draw = np.random.default_rng(0)
    >>> X = draw.random((2000, 2))
    >>> y = 10 * X[:, 0] ** 2 + draw.random(2000)
    >>> model = AdditiveBoostingRegressor(
    ...     epsilon=1, delta=1e-6, bounds=(0, 1), target_bounds=(0, 12)
    ... )
    >>> bool(model.fit(X, y).score(X, y) > 0.7)
    True
    """

    _learned = learned.attributes(
        target_bounds_=learned.Together(learned.Number(), learned.Number())
    )

    def _outputs(self, facts: Facts) -> int:
        return 1

    def _default_clip(self) -> float:
        return DEFAULT_CLIP

    def _shape(self, facts: Facts) -> tuple[int, ...]:
        return (2,)

    def _counts(self, answer: Floats) -> Floats:
        return np.asarray(answer[:, 0])

    def _count_error(self, noise: Floats) -> float:
        return float(noise[0])

    def _first_query(self, by: str | None, facts: Facts) -> CentredSums:
        assert facts.target is not None
        return CentredSums(facts.target, bits=BITS, by=by)

    @staticmethod
    def _target_query(budget: Measure, facts: Facts) -> Additive:
        return target_query(budget, facts)

    def _residuals(
        self, values: dict[str, Floats], intercept: Floats, clip: float, cells: Cells, facts: Facts
    ) -> tuple[NumberResiduals, float]:
        assert facts.target is not None
        column, by = facts.schema[facts.target], next(iter(values))
        assert isinstance(column, Numeric)
        across = max(1, column.steps(TARGET_BITS))  # cells of the target's grid, from -1 to 1
        steps = max(1, round(2 * SIZE / (clip * across)))
        step = 2 / (steps * across)
        score = {name: whole_steps(value[:, 0] / step).tolist() for name, value in values.items()}
        offset = int(whole_steps((intercept + 1) / step)[0])
        query = NumberResiduals(facts.target, by, score, offset, steps=steps, cells=cells)
        return query, SIZE * step

    def _start(
        self,
        answers: list[Floats],
        cells: list[Floats],
        errors: Floats,
        target: Release | None,
        is_ordered: list[bool],
        facts: Facts,
    ) -> Start:
        assert target is not None
        # a floor takes half a step from u
        moved = [answer + answer[:, :1] * [0.0, self._shift] for answer in answers]
        return number_start(
            moved, cells, errors, read_target(target, self._target_column), is_ordered
        )

    @property
    def _shift(self) -> float:
        column = self._target_column
        return 0.0 if column.is_exact(BITS) else 1 / max(1, column.steps(BITS))

    def _expected_noise(self, residual: float, rows: int) -> float:
        return residual / max(rows / 20, 1.0)

    def _set(
        self, intercept: Floats, values: list[Floats], errors: list[Floats], rows: list[Floats]
    ) -> None:
        column = self._target_column
        self.target_bounds_ = float(column.lower), float(column.upper)
        half = column.width / 2
        middle = float(column.lower) + half
        super()._set(
            middle + half * intercept,
            [half * value for value in values],
            [half * error for error in errors],
            rows,
        )

    def _train(self, plan: FitPlan, door: PrivateDataset) -> None:
        assert plan.facts.target is not None
        column = plan.facts.schema[plan.facts.target]
        assert isinstance(column, Numeric)
        self._target_column = column
        super()._train(plan, door)

    def _export(self) -> dict[str, Any]:
        return {"target_bounds": list(self.target_bounds_)}

    def _import(self, data: Mapping[str, Any]) -> None:
        lower, upper = data["target_bounds"]
        self.target_bounds_ = float(lower), float(upper)

    def _output_names(self) -> list[str]:
        return [""]

    def _score_name(self) -> str:
        return "added to the prediction"

    def predict(self, X: Any) -> Floats:
        """The target expected for each row, within its bounds."""
        scores = self._scores(X)[:, 0]
        return np.clip(scores, *self.target_bounds_)
