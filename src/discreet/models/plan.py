"""The plan of a fit: decided by public facts once, charged as a whole, and then carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from discreet.events import Event
from discreet.measures import Measure
from discreet.models.facts import Facts, Question
from discreet.unit import Unit

__all__ = ["FitPlan"]


@final
@dataclass(frozen=True)
class FitPlan:
    """What a fit will do, what it costs and how noisy it is; no row was read.

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
    """

    event: Event
    measure: Measure
    unit: Unit = field(init=False)
    log_scaled: tuple[str, ...] = field(init=False)
    noise: Mapping[str, Any]
    queries: tuple[Any, ...]
    facts: Facts = field(repr=False)
    recipe: Any = field(repr=False, compare=False)

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
