"""Randomness that is used twice: in two calls, or in a process and its fork."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

from scipy.stats import binom

from discreet.audit.bounds import clopper_pearson
from discreet.audit.samples import Marks, collect, sample_of

__all__ = ["RUNS", "after_fork", "find_reuse", "same_noise"]

#: Runs in each of the two calls.
RUNS = 400


def same_noise(mechanism: Callable[..., Any], data: Any, risk: float = 0.01) -> str | None:
    """What was found, in words, if two successive calls give the same outputs too often; else None.

    Privacy losses of two answers with the same noise don't add up: their difference is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import audit
    >>> def seeded(x, trials):
    ...     return x + np.random.default_rng(0).laplace(size=trials)
    >>> audit.same_noise(seeded, 0)
    'two calls on the same input give the same outputs, one by one: the noise is reused'
    """
    first, second = (collect(mechanism, data, RUNS) for _ in range(2))
    return find_reuse(first, second, risk)


def find_reuse(first: Any, second: Any, risk: float) -> str | None:
    """As `same_noise`, from the outputs of two calls for as many runs on one input."""
    marks = [sample_of(found[:RUNS]).marks for found in (first, second)]
    if _too_alike(marks[0], marks[1], risk):
        return "two calls on the same input give the same outputs, one by one: the noise is reused"
    return None


def after_fork(mechanism: Callable[..., Any], data: Any, risk: float = 0.01) -> str | None:
    """What was found, in words, if a process and its fork give the same outputs too often; else None.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import audit
    >>> stream = np.random.default_rng(0)  # a fork has a copy of it
    >>> audit.after_fork(lambda x, trials: x + stream.laplace(size=trials), 0)
    'a process and its fork give the same outputs: the random stream is copied by fork'
    """
    if not hasattr(os, "fork"):
        return None
    # a stream that is keyed at its first use has its key before the fork
    collect(mechanism, data, 1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - runs in the child
        code = 1
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(_marks(mechanism, data), pipe)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        sent = pipe.read()
    os.waitpid(child, 0)
    if not sent:
        return None
    if _too_alike(_marks(mechanism, data), pickle.loads(sent), risk):
        return "a process and its fork give the same outputs: the random stream is copied by fork"
    return None


def _marks(mechanism: Callable[..., Any], data: Any) -> Marks:
    return sample_of(collect(mechanism, data, RUNS)).marks


def _too_alike(first: Marks, second: Marks, risk: float) -> bool:
    """Whether run i of both calls agree more often than runs of different numbers do.

    If all runs are independent and alike, both are counts of coins with the same probability.
    """
    even = len(first) // 2 * 2
    apart = int((first[0:even:2] == second[1:even:2]).sum())  # disjoint pairs: independent coins
    _, chance = clopper_pearson(apart, even // 2, 1 - risk)
    together = int((first == second).sum())
    return bool(binom.sf(together - 1, len(first), chance) < risk / 2)
