"""Randomness that comes twice: in two calls, or in a process and its fork."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from discreet.audit.bounds import clopper_pearson
from discreet.audit.samples import collect
from discreet.audit.views import row_marks

__all__ = ["after_fork", "same_noise"]

#: Runs in each of the two calls.
_RUNS = 400

Marks = npt.NDArray[np.uint64]


def same_noise(mechanism: Callable[..., Any], data: Any, risk: float = 0.01) -> str | None:
    """Words for what was found if two calls in a row give the same outputs too often; else None.

    Privacy losses of two answers with the same noise don't add up: their difference is exact.
    """
    first, second = (_marks(collect(mechanism, data, _RUNS)) for _ in range(2))
    if _too_alike(first, second, risk):
        return "two calls on the same input give the same outputs, one by one: the noise is reused"
    return None


def after_fork(mechanism: Callable[..., Any], data: Any, risk: float = 0.01) -> str | None:
    """Words for what was found if a process and its fork give the same outputs too often; else None."""
    if not hasattr(os, "fork"):
        return None
    collect(
        mechanism, data, 1
    )  # a stream that is keyed at its first use has its key before the fork
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # from Python 3.12 on: that a child of many threads may wait for ever; this one draws and ends
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:  # pragma: no cover - runs in the child
        code = 1
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(_marks(collect(mechanism, data, _RUNS)), pipe)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        sent = pipe.read()
    os.waitpid(child, 0)
    if not sent:
        return None
    ours = _marks(collect(mechanism, data, _RUNS))
    if _too_alike(ours, pickle.loads(sent), risk):
        return "a process and its fork give the same outputs: the random stream is copied by fork"
    return None


def _marks(outputs: Any) -> Marks:
    """One whole number for each output, equal where outputs are equal."""
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "iubf":
        return row_marks(np.asarray(outputs, np.float64).reshape(len(outputs), -1))
    marks = [
        hash(repr(np.asarray(o).tolist() if isinstance(o, np.ndarray) else o)) for o in outputs
    ]
    return np.array(marks, np.int64).view(np.uint64)


def _too_alike(first: Marks, second: Marks, risk: float) -> bool:
    """Whether run i of both calls agree more often than runs of different numbers do.

    If all runs are independent and alike, both are counts of coins with one chance.
    """
    even = len(first) // 2 * 2
    apart = int((first[0:even:2] == second[1:even:2]).sum())  # disjoint pairs: independent coins
    _, chance = clopper_pearson(apart, even // 2, 1 - risk)
    together = int((first == second).sum())
    return bool(binom.sf(together - 1, len(first), chance) < risk / 2)
