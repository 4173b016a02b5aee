"""The plan of a fit: decided by public facts once, charged as a whole, and then carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from discreet.events import Event
from discreet.ledger.statement import shorten
from discreet.measures import Measure
from discreet.models.facts import Facts, Question
from discreet.show import Shown, Table
from discreet.unit import Unit

__all__ = ["FitPlan"]

#: How many questions of a plan are printed.
MAX_ASKED, MAX_LENGTH = 4, 200


@final
@dataclass(frozen=True, repr=False)
class FitPlan(Shown):
    """What a fit will do, what it costs and how noisy it is; no row was read.

    It prints short; `to_frame` and `to_csv` give the expected noise as a table.

    Attributes
    ----------
    event : Event
        All that will be asked; the door accepts nothing else.
    measure : Measure
        What is charged for it.
    unit : Unit
        Who is protected.
    log_scaled : tuple of str
        The features that are seen on a logarithmic scale, as their bounds or the schema say.
    noise : mapping of str to number or array
        The expected standard error of what is learned, by name; empty where it depends on the number
        of rows and none was given.
    queries : tuple
        What will be asked; stand-ins of the same price for questions that depend on earlier answers.
    facts : Facts
        The public facts that decided all this.
    recipe
        What the estimator carries out: questions with their budgets, steps, the schedule of rounds.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.models.naive_bayes import GaussianNB
    >>> schema = dp.Schema(age=dp.Integer(0, 100), ill=dp.Categorical("no", "yes"))
    >>> plan = GaussianNB(epsilon=1, schema=schema).plan()  # nothing is read, nothing is charged
    >>> plan.measure, plan.event
    (PureDP(epsilon=1), DiscreteLaplace(scale=Fraction(805295456, 1), sensitivity=805295456))
    """

    event: Event
    measure: Measure
    unit: Unit = field(init=False)
    log_scaled: tuple[str, ...] = field(init=False)
    noise: Mapping[str, Any]
    queries: tuple[Any, ...]
    facts: Facts
    recipe: Any = field(compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", self.facts.unit)
        object.__setattr__(self, "log_scaled", self.facts.log_scaled)

    @classmethod
    def from_question(
        cls, facts: Facts, question: Question, noise: Mapping[str, Any], recipe: Any = None
    ) -> FitPlan:
        """Plan a single question, which is also the recipe unless another is given."""
        recipe = question if recipe is None else recipe
        return cls(question.event, question.measure, noise, (question.query,), facts, recipe)

    def to_table(self, level: float = 0.95) -> Table:
        """The expected standard error of what is learned, by name and place."""
        rows = [
            (name, ", ".join(map(str, place)), float(error))
            for name, errors in self.noise.items()
            for place, error in np.ndenumerate(np.asarray(errors, np.float64))
        ]
        return Table(("learned", "place", "stderr"), rows, f"Plan of a fit  {self.measure!r}")

    def __repr__(self) -> str:
        asked = ", ".join(map(repr, self.queries[:MAX_ASKED]))
        asked = asked if len(asked) <= MAX_LENGTH else f"{asked[: MAX_LENGTH - 3]}..."
        more = len(self.queries) - MAX_ASKED
        lines = [
            f"Plan of a fit  {self.measure!r}",
            f"  for     {self.unit}",
            f"  event   {shorten(self.event)}",
            *([f"  asks    {asked}{f' and {more} more' if more > 0 else ''}"] if asked else []),
            *([f"  log     {', '.join(self.log_scaled)}"] if self.log_scaled else []),
        ]
        return "\n".join(
            [*lines, *(f"  stderr  {name}: {_span(e)}" for name, e in self.noise.items())]
        )


def _span(errors: Any) -> str:
    """A number, or from where to where many of them go."""
    flat = np.ravel(np.asarray(errors, np.float64))
    if len(set(flat.tolist())) == 1:
        return f"{flat[0]:.6g}" + (f" for each of {flat.size} numbers" if flat.size > 1 else "")
    return f"{flat.min():.6g} to {flat.max():.6g} ({flat.size} numbers)" if flat.size else "none"
