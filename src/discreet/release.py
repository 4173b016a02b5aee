"""What comes out of the door: a noised answer with its price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from discreet.events import Event
from discreet.measures import Measure
from discreet.queries import NoiseInterval


@dataclass(frozen=True, repr=False)
class Release:
    """A noised answer.

    Attributes
    ----------
    value : number or array
        The answer; an array over `labels` for a grouped query.
    stderr : number or array or None
        The standard deviation that the noise gives `value` (for quotients to first order); None for
        selections such as quantiles, and for discovered keys, which are shown or not by their noise.
    labels : list or None
        The groups, in the order of `value`.
    event, measure : what ran, and what was charged for it
    entry : the ledger's entry; None on public data
    is_private : bool
        False on data declared public, and when noise was drawn from a fixed seed.
    note : str
        What a limit of rows per person means for the answer; empty without one.
    checked : CheckReport or None
        What a check of the columns found that was paid along with the answer (``check=True``).
    """

    query: Any
    value: Any
    stderr: Any
    labels: list[Any] | None
    event: Event
    measure: Measure
    entry: Any
    is_private: bool
    _interval: Callable[[float], NoiseInterval] = field(repr=False)
    note: str = ""
    checked: Any = None

    def noise_interval(self, level: float = 0.95) -> NoiseInterval:
        """An interval for the answer without noise.

        For groups, and for several quantiles, there is one for each, not for all at once.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        return self._interval(level)

    def to_dict(self) -> dict[Any, Any]:
        """The values of a grouped answer by label."""
        if self.labels is None:
            raise ValueError("only grouped answers have labels; use .value.")
        return dict(zip(self.labels, self.value.tolist(), strict=True))

    def __repr__(self) -> str:
        told = [f"  ({self.note})"] if self.note else []
        told += [] if self.checked is None else [f"  check: {w}" for w in self.checked.warnings]
        return "\n".join([self._show_answer(), *told])

    def _show_answer(self) -> str:
        mark = "" if self.is_private else "  [NOT PRIVATE]"
        head = f"{self.query!r}  {self.measure!r}{mark}"
        if self.labels is None or not hasattr(self.value, "shape") or self.value.ndim != 1:
            error = "" if not isinstance(self.stderr, float) else f" ± {self.stderr:.4g}"
            return f"{head}\n  {_show(self.value)}{error}"
        lines = []
        for index, label in enumerate(self.labels[:40]):
            error = "" if self.stderr is None else f" ± {self.stderr[index]:.4g}"
            name = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
            lines.append(f"  {name}: {_show(self.value[index])}{error}")
        if len(self.labels) > 40:
            lines.append(f"  ... and {len(self.labels) - 40} more")
        return "\n".join([head, *lines])


def _show(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, repr=False)
class Plan:
    """What an answer would cost and how noisy it would be; no row was read.

    Attributes
    ----------
    event, measure : what would run, and what would be charged
    stderr : number or array or None
        The expected standard error; None where it depends on the number of rows and none was given
        (use ``expected_error(rows)``), and for selections and steps.
    note : str
        What was chosen from public facts, such as how a histogram is measured; empty where nothing was.
    """

    asked: Any
    event: Event
    measure: Measure | None
    stderr: Any
    _error: Callable[[int], Any] | None = field(repr=False)
    note: str = ""

    def expected_error(self, rows: int) -> Any:
        """The expected standard error if there were `rows` rows, spread evenly over the groups."""
        if self._error is None:
            raise ValueError("no standard error is known for this.")
        return self._error(rows)

    def __repr__(self) -> str:
        error = "" if self.stderr is None else f", stderr={_show(self.stderr)}"
        note = f", {self.note}" if self.note else ""
        return f"Plan({self.asked!r}, {self.measure!r}, {self.event!r}{error}{note})"
