"""The best of several private runs: what is drawn, what it costs, which rows each run may see."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import final

from discreet import events, noise
from discreet.coding import Condition, NoneOf
from discreet.unit import REPLACE_ONE, Unit

__all__ = ["Selection"]


@final
@dataclass(frozen=True)
class Selection:
    """The best of a random number of runs, each with a setting that is drawn at random.

    Attributes
    ----------
    settings : tuple of tuples of events
        What a run with each setting does, one event after the other.
    weights : tuple of int
        How likely each setting is; public.
    shape, gamma : Fraction
        The distribution of the number of runs, as in `events.RepeatAndSelect`.
    split : Condition, optional
        Of two events, the first is asked of the rows where it doesn't hold, the second of those where
        it does.

    Privacy
    -------
    A run is a mixture, by public weights, of mechanisms whose settings are told: it costs at most what
    the most expensive one costs. Rows of one person without id fall into one part of a split, so under
    add/remove a run's two events are parallel; with ids they add up. Under replace-one a part's number
    of rows would be private while that of all is public, so a split is refused. Proof page:
    ``docs/proofs/model_selection.md``.
    """

    settings: tuple[tuple[events.Event, ...], ...]
    weights: tuple[int, ...]
    shape: Fraction
    gamma: Fraction
    split: Condition | None = None

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.settings) or min(self.weights, default=0) < 1:
            raise ValueError("weights must be whole numbers of at least 1, one for each setting.")
        if self.split is not None and any(len(events) != 2 for events in self.settings):
            raise ValueError("split needs two events in each setting.")

    def event(self, unit: Unit) -> events.Event:
        """All that will be done."""
        if self.is_free(unit):
            return events.Compose()
        return events.RepeatAndSelect(self.one_run(unit), self.shape, self.gamma)

    def is_free(self, unit: Unit) -> bool:
        """Whether nothing is noised, on public rows."""
        nothing = events.Compose()
        return unit.is_public and all(e == nothing for setting in self.settings for e in setting)

    def one_run(self, unit: Unit) -> events.Event:
        """What one run is, whichever setting is drawn."""
        found = dict.fromkeys(self._setting(setting, unit) for setting in self.settings)
        if len(found) == 1:
            return next(iter(found))
        return events.OneOf(found)

    def _setting(self, setting: tuple[events.Event, ...], unit: Unit) -> events.Event:
        if self.split is None:
            return events.Compose(*setting)
        if unit.relation is REPLACE_ONE:
            raise ValueError(
                "split: under dp.REPLACE_ONE rows are not split, since the number of rows in a part would "
                "be private: use a unit with dp.ADD_REMOVE, or no split."
            )
        return events.Compose(*setting) if unit.id_column else events.Parallel(setting)

    def parts(self, at: int) -> tuple[Condition | None, ...]:
        """Which rows each event of a setting is asked of."""
        if self.split is None:
            return (None,) * len(self.settings[at])
        return NoneOf(self.split), self.split

    def draw(self) -> int:
        """The number of a setting, at random."""
        upto = list(accumulate(self.weights))
        return bisect_right(upto, noise.uniform_below(upto[-1]))
