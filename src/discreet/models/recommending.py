"""Which model to try first, from public facts and from figures on public tables alone."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, final

from discreet.columns import Categorical, Numeric
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.rational import as_integer
from discreet.schema import Schema
from discreet.show import Shown, Table
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["ModelChoice", "ModelChoices", "recommend"]

#: Tables count less by these distances, in powers of ten: of ε·rows, and of the number of columns. These and
#: the next were chosen so that first choices for a table left out lost least in three runs of the page.
STRENGTH_REACH, COLUMNS_REACH = 0.6, 0.2
#: And by this difference of the share of categories among columns.
MIXTURE_REACH = 0.8
#: Models that see numbers alone, or categories alone.
NUMBERS_ONLY = ("naive_bayes.GaussianNB", "linear_model.LinearRegression", "linear_model.Ridge")
CATEGORIES_ONLY = ("naive_bayes.CategoricalNB",)
#: With a total weight below this, no figure is near.
FAR = 0.05


@final
@dataclass(frozen=True)
class ModelChoice:
    """A model and what may be expected of it.

    Attributes
    ----------
    model : str
        Where it is, below `discreet.models`.
    kept : float
        The expected share of what the best known model, private or not, gains from the same columns over a
        trivial one: of the area under the curve above 1/2, or of R².
    spread : float
        The standard deviation of that share over the figures that it is the mean of.
    tables : tuple of str
        The tables that count most, nearest first.

    Examples
    --------
    >>> from discreet.models import ModelChoice
    >>> ModelChoice("naive_bayes.MixedNB", 0.9, 0.05, ("adult", "bank")).kept
    0.9
    """

    model: str
    kept: float
    spread: float
    tables: tuple[str, ...]


@final
@dataclass(frozen=True, repr=False)
class ModelChoices(Shown):
    """Models in the order of what may be expected of them; `to_frame` and `to_csv` give the table.

    Attributes
    ----------
    choices : tuple of ModelChoice
    is_near : bool
        Whether some table of the figures is like this one; if not, the order is a guess.

    Examples
    --------
    >>> from discreet.models import ModelChoice, ModelChoices
    >>> len(ModelChoices((ModelChoice("tree.RandomDecisionForest", 0.8, 0.1, ("bank",)),), True).choices)
    1
    """

    choices: tuple[ModelChoice, ...]
    is_near: bool

    def to_table(self, level: float = 0.95) -> Table:
        """The models, best first."""
        rows = [(c.model, c.kept, c.spread, ", ".join(c.tables)) for c in self.choices]
        note = "kept: the share of what the best known model, private or not, gains over a trivial one."
        if not self.is_near:
            note += " No measured table is like this one."
        return Table(("model", "kept", "spread", "tables"), rows, "Models to try", note)

    def __repr__(self) -> str:
        return str(self.to_table())


@cache
def _load_figures() -> tuple[dict[str, Any], ...]:
    text = files("discreet.models").joinpath("recommendations.json").read_text(encoding="utf-8")
    return tuple(json.loads(text))


def recommend(
    schema: Schema,
    *,
    rows: int,
    measure: Measure,
    target: str | None = None,
    unit: Unit | None = None,
) -> ModelChoices:
    """Rank models for a table by what they kept on public tables like it; no row is read.

    Figures are those of the benchmark page (docs/benchmarks.md), each model with its defaults. A table counts
    by how near it is in ε·rows, in the number of columns and in the share of categories.

    Parameters
    ----------
    schema : Schema
        Declares features and target.
    rows : int
        A public guess of the number of rows.
    measure : PureDP or ApproxDP
        The budget.
    target : str, optional
        The name of the target's column; the schema's last column by default.
    unit : Unit, optional
        Who is protected; rows per person and replacement count as a smaller ε.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.models import recommend
    >>> schema = dp.Schema(age=dp.Real(17, 90), job=dp.Categorical("a", "b"), rich=dp.Categorical(0, 1))
    >>> found = recommend(schema, rows=30_000, measure=dp.PureDP(1))
    >>> found.choices[0].kept > found.choices[-1].kept
    True

    Privacy
    -------
    Public facts alone, so nothing is charged; whoever declares them must know them from elsewhere.
    """
    if not isinstance(schema, Schema):
        raise TypeError(f"schema must be a dp.Schema, not {type(schema).__name__}.")
    if not isinstance(measure, PureDP | ApproxDP):
        raise TypeError("measure must be dp.PureDP(epsilon) or dp.ApproxDP(epsilon, delta).")
    place = _Place.of(schema, as_integer(rows, "rows", minimum=1), measure, target, unit)
    by_model: dict[str, list[tuple[float, float, str]]] = {}
    for record in _load_figures():
        if record["task"] == place.task and place.can_use(record["model"]):
            by_model.setdefault(record["model"], []).extend(place.weigh(record))
    chosen = [_sum_up(model, points) for model, points in by_model.items()]
    chosen.sort(key=lambda choice: -choice.kept)
    nearest = max((sum(w for w, _, _ in points) for points in by_model.values()), default=0.0)
    return ModelChoices(tuple(chosen), nearest >= FAR)


@final
@dataclass(frozen=True)
class _Place:
    """Where a table stands among others."""

    task: str
    strength: float
    numbers: int
    categories: int
    has_delta: bool

    @classmethod
    def of(
        cls, schema: Schema, rows: int, measure: Any, target: str | None, unit: Unit | None
    ) -> _Place:
        names = [name for name in schema.base if unit is None or name != unit.id_column]
        goal = names[-1] if target is None else target
        task = "number" if isinstance(schema[goal], Numeric) else "classes"
        features = [schema.base[name] for name in names if name != goal]
        epsilon = min(float(measure.epsilon), 100.0)
        if unit is not None:
            epsilon /= unit.rows_per_person * (2 if unit.relation is REPLACE_ONE else 1)
        return cls(
            task,
            math.log10(epsilon * rows),
            sum(isinstance(column, Numeric) for column in features),
            sum(isinstance(column, Categorical) for column in features),
            bool(getattr(measure, "delta", 0)),
        )

    def can_use(self, model: str) -> bool:
        """Whether a model sees all columns of the table."""
        if model in NUMBERS_ONLY:
            return not self.categories
        return not (model in CATEGORIES_ONLY and self.numbers)

    def weigh(self, record: dict[str, Any]) -> list[tuple[float, float, str]]:
        """The weight, the share kept and the table of each figure of a record."""
        # trees are as they are without a δ, and have no figures with one
        if record["has_delta"] != self.has_delta and record["model"] not in _PURE:
            return []
        wide = math.log10(
            (self.numbers + self.categories + 1) / (record["numbers"] + record["categories"] + 1)
        )
        mixed = self._mixture(self.numbers, self.categories)
        other = self._mixture(record["numbers"], record["categories"])
        apart = (wide / COLUMNS_REACH) ** 2 + ((mixed - other) / MIXTURE_REACH) ** 2
        found = []
        for epsilon, kept in zip(record["epsilons"], record["kept"], strict=True):
            if kept is None:
                continue
            far = (self.strength - math.log10(epsilon * record["rows"])) / STRENGTH_REACH
            weight = math.exp(-(far**2 + apart) / 2)
            found.append((weight, max(-1.0, kept), record["table"]))
        return found

    @staticmethod
    def _mixture(numbers: int, categories: int) -> float:
        return categories / max(1, numbers + categories)


#: Models whose fits don't use a δ.
_PURE = ("tree.DecisionTreeClassifier", "tree.DecisionTreeRegressor")


def _sum_up(model: str, points: list[tuple[float, float, str]]) -> ModelChoice:
    """The weighted mean of a model's figures; far from all of them, that of the nearest."""
    total = sum(weight for weight, _, _ in points)
    if total <= 0.0:
        points, total = [(1.0, kept, name) for _, kept, name in points], float(len(points))
    mean = sum(weight * kept for weight, kept, _ in points) / total
    spread = math.sqrt(sum(weight * (kept - mean) ** 2 for weight, kept, _ in points) / total)
    weights: dict[str, float] = {}
    for weight, _, name in points:
        weights[name] = weights.get(name, 0.0) + weight
    ordered = sorted(weights, key=lambda name: -weights[name])
    return ModelChoice(model, mean, spread, tuple(ordered[:3]))
