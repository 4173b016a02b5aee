"""From the budget of a search to that of a run, ending on the private side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, final

from discreet.accounting import cost, satisfies
from discreet.accounting.curves import log_mean_runs
from discreet.events import Event, Repeat
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models import learned
from discreet.rational import rational
from discreet.selection import Selection
from discreet.unit import Unit

#: The bisection for ε of a run stops at this relative width,
_TOLERANCE = Fraction(1, 50)
#: and begins only if at least this much more than the pure theorem gives is proved.
_STEP = Fraction(1, 20)
#: With a δ, fits may use one of their own unless that leaves them less than this share of ε.
_MIN_SHARE = Fraction(1, 2)

#: From the budgets of a fit and of its score to the search that has them.
Selecting = Callable[[Measure, Measure], Selection]


@final
@dataclass(frozen=True, repr=False)
class SearchBudget:
    """What the parts of a search may cost, and what the same runs would cost otherwise.

    Attributes
    ----------
    total : Measure
        What is charged, whatever the number of runs.
    fit, score : Measure
        What one fit and one noised score may cost.
    expected_runs : float
        The mean of the number of runs, which itself is secret.
    settings : int
        How many there are.
    run : Event
        What one run is.

    Examples
    --------
    >>> import discreet as dp
    >>> from discreet.models.linear_model import LogisticRegression
    >>> from discreet.models.model_selection import PrivateSearch
    >>> schema = dp.Schema(age=dp.Integer(17, 90), rich=dp.Categorical("no", "yes"))
    >>> table = {"age": list(range(20, 80)) * 10, "rich": (["no"] * 30 + ["yes"] * 30) * 10}
    >>> data = dp.PrivateDataset(table, schema, ledger=dp.Ledger(limit=dp.PureDP(2)))
    >>> search = PrivateSearch(LogisticRegression(), {"alpha": [1, 10]}, epsilon="3/2", runs=2)
    >>> budget = search.fit(data).budget_
    >>> budget.total, budget.settings, round(budget.expected_runs)
    (PureDP(epsilon=1.5), 2, 2)
    """

    total: Measure
    fit: Measure
    score: Measure
    expected_runs: float
    settings: int
    run: Event

    @property
    def one_run(self) -> Measure:
        """What fitting and scoring one setting, fixed in advance, would cost with the same noise."""
        return self._cost_alone(self.run)

    @property
    def every_setting(self) -> Measure:
        """What fitting and scoring each setting once with the same noise, and publishing all, would cost."""
        return self._cost_alone(Repeat(self.run, self.settings))

    def _cost_alone(self, event: Event) -> Measure:
        assert isinstance(self.total, PureDP | ApproxDP)
        if isinstance(self.total.epsilon, float):
            return self.total
        if isinstance(self.total, ApproxDP):
            return cost(event, ApproxDP, delta=self.total.delta)
        return cost(event, PureDP)

    def __repr__(self) -> str:
        return (
            f"{self.total!r} for about {self.expected_runs:.3g} runs of {self.settings} settings: "
            f"{self.fit!r} for a fit, {self.score!r} for its score; one run alone would cost "
            f"{self.one_run!r}, each setting once {self.every_setting!r}"
        )


#: A budget as a model file keeps it.
BUDGET = learned.Record(
    SearchBudget,
    total=learned.MEASURE,
    fit=learned.MEASURE,
    score=learned.MEASURE,
    expected_runs=learned.Number(),
    settings=learned.Count(),
    run=learned.EVENT,
)


def gamma_of(shape: Fraction, runs: float) -> Fraction:
    """γ in (0, 1) for which the mean number of runs is nearly `runs`."""
    if not 1 < runs <= 1e6:
        raise ValueError(f"runs must be greater than 1, and at most a million, got {runs!r}.")
    return _gamma(shape, float(runs))


@lru_cache(maxsize=64)
def _gamma(shape: Fraction, runs: float) -> Fraction:
    steps = 2**40
    low, high = 1, steps - 1
    while high - low > 1:
        middle = (low + high) // 2
        if mean_runs(shape, Fraction(middle, steps)) > runs:
            low = middle
        else:
            high = middle
    return Fraction(high, steps)


def mean_runs(shape: Fraction, gamma: Fraction) -> float:
    """E[K], rounded up (Papernot & Steinke 2022, Definition 1)."""
    return math.exp(log_mean_runs(shape, gamma)[0])


@final
@dataclass(frozen=True)
class Division:
    """How a run's ε is divided, and the distribution of the number of runs: all of it public.

    Attributes
    ----------
    share : Fraction
        The score's share of a run's ε.
    apart : bool
        Whether fit and score see different persons, so that their costs do not add up.
    shape, gamma : Fraction
        The distribution of the number of runs.
    """

    share: Fraction
    apart: bool
    shape: Fraction
    gamma: Fraction

    def at(self, run: Fraction, delta: Fraction, pure: bool) -> tuple[Measure, Measure]:
        """The budgets of fit and score in a run of ε = `run`."""
        fit = run if self.apart else (1 - self.share) * run
        score = run if self.apart and pure else self.share * run
        return (ApproxDP(fit, delta) if delta else PureDP(fit)), PureDP(score)


def divide(
    total: Measure, selecting: Selecting, unit: Unit, division: Division
) -> tuple[Measure, Measure]:
    """The largest budgets found for fit and score with which the whole search costs at most `total`.

    For pure DP a run gets ε/(2 + η) (Papernot & Steinke 2022, Corollary 3). For (ε, δ) the largest ε of a
    run is found by bisection, with fits that use a δ of their own, δ/E[K], where that can be counted,
    and with pure ones; the result satisfies `total`, as the accountant proves.

    Parameters
    ----------
    total : PureDP or ApproxDP
    selecting : callable
    unit : Unit
    division : Division
    """
    assert isinstance(total, PureDP | ApproxDP)
    if isinstance(total.epsilon, float):
        return PureDP(math.inf), PureDP(math.inf)
    first = total.epsilon / (2 + division.shape)
    if isinstance(total, PureDP):
        return division.at(first, Fraction(0), True)

    def event(run: Fraction, delta: Fraction) -> Event:
        return selecting(*division.at(run, delta, False)).event(unit)

    mean = Fraction(mean_runs(division.shape, division.gamma)) * (1 + Fraction(1, 10**9))
    found = []
    for delta in (_short(total.delta / mean), Fraction(0)):
        run = _largest(lambda run, delta=delta: event(run, delta), first, total)  # type: ignore[misc]
        found.append((run, delta))
    (with_delta, delta), (pure, _) = found
    if with_delta is not None and (pure is None or with_delta >= _MIN_SHARE * pure):
        return division.at(with_delta, delta, False)
    if pure is None:
        raise ValueError(
            "estimator: the cost of the best of several of its fits is not known for this budget."
        )
    return division.at(pure, Fraction(0), False)


def _largest(
    event: Callable[[Fraction], Event], first: Fraction, total: ApproxDP
) -> Fraction | None:
    """The largest ε of a run, nearly, whose search costs at most `total`; None if none is found."""
    low, high = first, first * (1 + _STEP)
    if _satisfies(event(low), total):
        if not _satisfies(event(high), total):
            return low
        low, high = high, Fraction(total.epsilon)
    else:
        for _ in range(8):
            low, high = low / 2, low
            if _satisfies(event(low), total):
                break
        else:
            return None
    while high - low > _TOLERANCE * high:
        middle = _short((low + high) / 2)
        if _satisfies(event(middle), total):
            low = middle
        else:
            high = middle
    return low


@lru_cache(maxsize=1024)
def _satisfies(event: Event, total: ApproxDP) -> bool:
    """`satisfies` with a cache: a fit asks for its plan more than once."""
    return satisfies(event, total)


def _short(value: Fraction) -> Fraction:
    """At most `value`, with 30 significant bits: short in a ledger."""
    if not value:
        return value
    step = Fraction(2) ** (math.frexp(float(value))[1] - 30)
    return math.floor(value / step) * step


def describe(
    total: Measure, fit: Measure, score: Measure, selection: Selection, unit: Unit
) -> SearchBudget:
    """The budget of a search, beside what its runs would cost otherwise."""
    number = len(selection.settings)
    runs = float(number)
    if not selection.is_free(unit):
        runs = mean_runs(selection.shape, selection.gamma)
    return SearchBudget(total, fit, score, runs, number, selection.one_run(unit))


def check_share(score_share: Any) -> Fraction:
    """The part of a run's ε that pays for its score."""
    share = rational(score_share, "score_share")
    if not 0 < share < 1:
        raise ValueError(f"score_share must be between 0 and 1, got {score_share!r}.")
    return share
