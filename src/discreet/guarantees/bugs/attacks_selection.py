"""Attacks on broken selections: `discreet.guarantees.bugs.broken_selection`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from discreet.audit.answers import neighbouring_answers
from discreet.audit.exact import exact
from discreet.audit.registry import Case, Part, attack
from discreet.guarantees.bugs import broken_selection as selection_bugs
from discreet.guarantees.selection.attacks import Floats, compared, sparse_vector_distribution

#: All answers below the threshold on one input are above it on the other; ε = 1 is claimed throughout.
FALLS, RISES = (0, 0, 0, 1, 1, 1), (1, 1, 1, 0, 0, 0)


@attack("sparse-vector-tells-what-it-compared")
def variant_3() -> Iterator[Part]:
    """*Below* four times, then a number at most 0: each *below* is e^(1/2) times as likely at 0 as at 1."""

    def score(rows: Any) -> Any:
        ends_low = (rows[:, :4] == selection_bugs.BELOW).all(axis=1) & (rows[:, 4] > -1000)
        return np.where(ends_low, -rows[:, 4], -1000.0)

    p, q = (_below_then_a_number(answer, 4) for answer in (0, 1))
    yield exact(p, q, 1.0, title="its distribution: four times below, then a number")
    run = partial(selection_bugs.variant_3, epsilon=1.0, cutoff=1)
    yield Case("10 answers, cutoff 1, searched", run, neighbouring_answers(10), 1.0, 400_000)
    yield Case(
        "answers 00000 and 11111, cutoff 1",
        run,
        ((0,) * 5, (1,) * 5),
        1.0,
        200_000,
        {"score": score},
    )


@attack("sparse-vector-with-noise-for-one")
def variant_4() -> Iterator[Part]:
    distributions = [sparse_vector_distribution(a, 0, 4.0, 4 / 3, cutoff=3) for a in (FALLS, RISES)]
    yield compared(distributions, 1.0, "its distribution: answers 000111 and 111000, cutoff 3")
    run = partial(selection_bugs.variant_4, epsilon=1.0, cutoff=3)
    yield Case("answers 000111 and 111000, cutoff 3", run, (FALLS, RISES), 1.0, 40_000)
    yield Case("10 answers, cutoff 3, searched", run, neighbouring_answers(10), 1.0, 60_000)


@attack("sparse-vector-with-silent-answers")
def variant_5() -> Iterator[Part]:
    distributions = [sparse_vector_distribution(a, 0, 2.0, 0.0) for a in ((0, 1), (1, 0))]
    yield compared(distributions, 1.0, "its distribution: answers 01 and 10")
    run = partial(selection_bugs.variant_5, epsilon=1.0)
    yield Case("answers 01 and 10", run, ((0, 1), (1, 0)), 1.0, 4_000)


@attack("sparse-vector-without-end")
def variant_6() -> Iterator[Part]:
    distributions = [sparse_vector_distribution(a, 0, 2.0, 2.0) for a in (FALLS, RISES)]
    yield compared(distributions, 1.0, "its distribution: answers 000111 and 111000")
    run = partial(selection_bugs.variant_6, epsilon=1.0)
    yield Case("answers 000111 and 111000", run, (FALLS, RISES), 1.0, 100_000)


@attack("noisy-max-with-its-value")
def noisy_max_with_its_value() -> Iterator[Part]:
    run = partial(selection_bugs.noisy_max_with_its_value, epsilon=1.0)
    yield Case("scores 00 and 11, ε = 1", run, ((0, 0), (1, 1)), 1.0, 20_000)


def _below_then_a_number(answer: int, times: int) -> Floats:
    """P(*below* `times` times, then the number v), v from -40 to 40, where all answers are the same.

    Threshold and answers have noise of scale 2: ε = 1, cutoff 1. Other outcomes are left out.
    """
    at = np.arange(-120, 121)
    mass = np.exp(-abs(at) / 2) * np.tanh(1 / 4)
    below = np.cumsum(mass) - mass  # of noise, at a threshold that is so much above the answer
    weights = mass * np.interp(at - answer, at, below) ** times
    reached = np.cumsum(weights)  # over thresholds up to v
    numbers = slice(120 - 40, 120 + 41)
    return np.asarray((np.exp(-abs(at - answer) / 2) * np.tanh(1 / 4) * reached)[numbers])
