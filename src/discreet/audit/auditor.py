"""The black-box auditor: find an event that separates two neighbours, then bound it on fresh runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audit.bounds import TwoOutcomes
from discreet.audit.floors import claimed_number, floor
from discreet.audit.pairs import Pairs
from discreet.audit.results import AuditResult
from discreet.audit.reuse import RUNS as REUSE_RUNS
from discreet.audit.reuse import after_fork, find_reuse, same_noise
from discreet.audit.samples import Sample, collect, sample_of
from discreet.audit.search import Search
from discreet.measures import Measure, PureDP
from discreet.rational import as_integer

__all__ = ["audit"]

Floats = npt.NDArray[np.float64]

#: The share of the risk that each probe for reused randomness takes.
_REUSE_SHARE = 0.1


def audit(
    mechanism: Callable[..., Any],
    neighbours: Any,
    claim: Measure | float,
    *,
    trials: int = 100_000,
    confidence: float = 0.99,
    score: Callable[[Floats], Any] | None = None,
    rounding: float | None = None,
    reuse: bool = True,
    fork: bool = False,
    title: str | None = None,
) -> AuditResult:
    """Attack a claim of privacy with runs of the mechanism.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data)`` gives one output; ``mechanism(data, trials)`` gives that many at once (its
        parameter must be called `trials`). An output is a number, an array, text, a mapping, anything:
        its length, its type, its keys and an exception are looked at too. Runs must be independent:
        a counter, or one draw shared by several runs, would look like reused noise.
    neighbours : pair or list of pairs
        Two data sets that differ in one person, or several such pairs: the one that looks worst in
        early runs is tested. `discreet.audit.neighbouring` makes them from a schema, and
        `discreet.audit.neighbouring_answers` for mechanisms that take answers to many questions.
    claim : Measure or number
        What is claimed; a number is an ε of pure DP. Gaussian DP is tested as a trade-off curve, zCDP and
        Rényi claims through divergences of two outcomes, (ε, δ) by exact binomial bounds.
    trials : int
        Runs of the mechanism on each input: a quarter to learn scores, a quarter to choose the
        event, one half to test it.
    confidence : float
        The chance of a false *violated*, over everything this call tests, is at most 1 - confidence.
    score : callable, optional
        A score on outputs (rows of numbers), tried in addition to those that are learnt.
    rounding : float, optional
        Round outputs to this step first: then the ideal mechanism in real numbers is audited,
        not the low bits of its floating point; the result says which.
    reuse, fork : bool
        Also look for randomness that is used twice: in two calls; in a process and its fork.
    title : str, optional
        The heading of the result; the mechanism's name by default.

    Returns
    -------
    AuditResult
        A *violated* verdict holds with `confidence`; *consistent* proves nothing.

    Examples
    --------
    >>> from discreet import audit, noise
    >>> def too_little(x, trials):  # says ε = 1, has the noise of ε = 2
    ...     return x + noise.discrete_laplace("1/2", trials)
    >>> audit.audit(too_little, (0, 1), 1.0, trials=20_000).verdict
    'violated'
    """
    measure = claim if isinstance(claim, Measure) else PureDP(claim)
    claimed_number(measure)  # raises for what can't be audited
    as_integer(trials, "trials", minimum=40)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}.")
    if rounding is not None and not (math.isfinite(rounding) and rounding > 0):
        raise ValueError(f"rounding must be a number greater than 0, got {rounding!r}.")
    pairs = _pairs(neighbours)
    name = title or getattr(mechanism, "__name__", None) or type(mechanism).__name__
    risk = 1 - confidence
    # two calls that the audit makes anyway, on one input and for as many runs, are looked at in their place
    has_two = len(pairs) == 1 and trials % 2 == 0 and trials // 2 >= REUSE_RUNS
    for probe in [same_noise] * (reuse and not has_two) + [after_fork] * fork:
        found = probe(mechanism, pairs[0][0], _REUSE_SHARE * (1 - confidence))
        if found is not None:
            return _result(name, measure, math.inf, confidence, found, "randomness", None, 0, None)
    risk -= (reuse + fork) * _REUSE_SHARE * (1 - confidence)
    search = Search(mechanism, measure, trials, risk, score, rounding)
    pair, event = search.find_worst(pairs)
    spent = search.spent
    tested = trials - trials // 2
    outputs = [collect(mechanism, data, tested) for data in pair]
    spent += 2 * tested
    if reuse and has_two:
        found = find_reuse(search.outputs, outputs[0], _REUSE_SHARE * (1 - confidence))
        if found is not None:
            return _result(
                name, measure, math.inf, confidence, found, "randomness", None, spent, None
            )
    here, there = (sample_of(found, rounding) for found in outputs)
    _check_that_something_ran(here, there)
    if event is None:
        words = "nothing told the inputs apart"
        return _result(name, measure, 0.0, confidence, words, "outputs", None, spent, rounding)
    counts = TwoOutcomes(event.hits(here), len(here), event.hits(there), len(there))
    counts = counts.swapped if event.swapped else counts
    value = floor(measure, counts, 1 - risk)
    side = "second" if event.swapped else "first"
    words = f"{event.view.words(event.at, event.above)}: likelier on the {side} input"
    return _result(
        name, measure, value, confidence, words, event.view.name, counts, spent, rounding
    )


def _check_that_something_ran(here: Sample, there: Sample) -> None:
    """An exception is an output; but if there is no other output, the harness is broken."""
    kinds = set(here.form_counts() + there.form_counts())
    if len(kinds) == 1 and (name := kinds.pop()).startswith("an exception "):
        raise RuntimeError(
            f"every run raised{name.removeprefix('an exception')}, on both inputs: nothing was audited. "
            "Call the mechanism on the first input to see its message."
        )


def _pairs(neighbours: Any) -> Sequence[tuple[Any, Any]]:
    if isinstance(neighbours, Pairs):
        return neighbours
    if isinstance(neighbours, tuple) and len(neighbours) == 2:
        return [neighbours]
    found = list(neighbours) if isinstance(neighbours, Iterable) else []
    if not found or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in found):
        raise TypeError(
            "neighbours must be a pair (first, second) of data sets, or a list of such."
        )
    return found


def _result(
    name: str,
    claim: Measure,
    value: float,
    confidence: float,
    words: str,
    probe: str,
    counts: TwoOutcomes | None,
    spent: int,
    rounding: float | None,
) -> AuditResult:
    ideal = f"the ideal mechanism (outputs rounded to {rounding:g})" if rounding else ""
    return AuditResult(
        title=name,
        claim=claim,
        claimed=claimed_number(claim),
        floor=value,
        verdict="violated" if value > claimed_number(claim) else "consistent",
        confidence=confidence,
        event=words,
        probe=probe,
        audited=ideal or "the mechanism as implemented",
        trials=spent,
        outcomes=counts,
    )
