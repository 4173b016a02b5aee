"""How large the error of a planned answer is beside the answer, from public facts alone."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from discreet.columns import Numeric, Score, numeric_column
from discreet.mechanisms import Exponential
from discreet.queries import (
    Count,
    CountPeople,
    Joint,
    Mean,
    MeanEstimate,
    Moments,
    MomentsValue,
    Prepared,
    Quantile,
    QuantileEstimate,
    Query,
    ShareEstimate,
    Sum,
    SumEstimate,
    Tightened,
    Variance,
)
from discreet.queries.joint_quantiles import rank_errors
from discreet.schema import Schema
from discreet.unit import Unit

__all__ = ["DEFAULT_ROWS", "relative_error"]

#: Rows to plan with where nobody gave their number: many, so that it cancels out between questions.
DEFAULT_ROWS = 10**9


def relative_error(
    query: Query,
    prepared: Prepared,
    schema: Schema,
    unit: Unit,
    rows: int | None = None,
    guess: float | None = None,
) -> float:
    """The expected error of an answer as a share of its range, or of a public guess of the answer.

    The root of the mean square over groups and coordinates. The range of a count, also of persons, is the
    number of rows in a group, if they are spread evenly; of a sum that many times the largest value; of a
    mean the distance of the bounds; of a variance the largest there can be. Quantiles are measured in
    ranks, as if rows were spread evenly. An answer of another kind needs a guess, unless it has no standard
    error: it is then planned like a count.
    """
    number = DEFAULT_ROWS if rows is None else max(1, rows)
    groups = math.prod(len(schema.labels(name)) for name in query.by)
    if isinstance(query, Quantile):
        return _rank_error(query, prepared, schema, unit) * groups / number
    if isinstance(query, QuantileEstimate):
        return 10 / 3 * _rank_error(query.quantile, prepared, schema, unit) * groups / number
    error = prepared.expected_error(number)
    if error is None:
        sensitivity = query.sensitivity(schema, unit)
        return math.sqrt(2) * sensitivity.l1 / _epsilon(prepared) / number
    size = guess if guess is not None else _find_size(query, schema, number / groups)
    if size is None:
        raise ValueError(
            f"guesses: {type(query).__name__} has no public range, so say about how large its answer is, "
            'as in guesses={"name": 100}.'
        )
    ratios = np.array(list(_iter_ratios(error, size)))
    return float(np.sqrt(np.mean(ratios**2))) if len(ratios) else 0.0


def _epsilon(prepared: Prepared) -> float:
    """About the ε of an answer whose error isn't known."""
    return float(Exponential(prepared.measure).epsilon())


def _rank_error(query: Quantile, prepared: Prepared, schema: Schema, unit: Unit) -> float:
    """The deviation in ranks, in the mean over several quantiles, with rows spread evenly."""
    mechanism = Exponential(prepared.measure)
    epsilon = float(mechanism.epsilon(query.draws))
    if query.is_joint:
        found = [] if math.isinf(epsilon) else rank_errors(query, epsilon, schema, unit)
        return float(np.sqrt(np.mean(np.square(found)))) if found else 0.0
    moved = [query.rank_sensitivity(q, schema, unit) / q.denominator for q in query.q]
    return 0.0 if math.isinf(epsilon) else math.sqrt(8 * np.mean(np.square(moved))) / epsilon


def _find_size(query: Query, schema: Schema, rows: float) -> Any:
    match query:
        case Count() | CountPeople():
            return rows
        case ShareEstimate():
            return 1.0
        case Sum(column=name) | SumEstimate(column=name):
            column = schema[name]
            if isinstance(column, Score):
                code = column.code(name, schema)
                return rows * max(abs(code.low), abs(code.high))
            assert isinstance(column, Numeric)
            return rows * max(abs(float(column.lower)), abs(float(column.upper)))
        case Mean(column=name) | MeanEstimate(column=name):
            return numeric_column(schema, name, "Mean").width
        case Variance(names=(name,)):
            return numeric_column(schema, name, "Variance").width ** 2 / 4
        case Moments(names=names):
            widths = np.array([numeric_column(schema, name, "Moments").width for name in names])
            return MomentsValue(rows, widths, widths**2 / 4)
        case Tightened(query=inner):
            return _find_size(inner, schema, rows)
        case Joint(queries=queries):
            return tuple(_find_size(each, schema, rows) for each in queries)
    return None


def _iter_ratios(error: Any, size: Any) -> Any:
    """Errors as shares of sizes, number by number; 0 where both are."""
    if dataclasses.is_dataclass(error) and not isinstance(error, type):
        for field in dataclasses.fields(error):
            part = getattr(size, field.name) if dataclasses.is_dataclass(size) else size
            yield from _iter_ratios(getattr(error, field.name), part)
    elif isinstance(error, tuple):
        sizes = size if isinstance(size, tuple) else (size,) * len(error)
        for one, other in zip(error, sizes, strict=True):
            yield from _iter_ratios(one, other)
    else:
        found, whole = np.broadcast_arrays(np.asarray(error, float), np.asarray(size, float))
        yield from np.divide(found, whole, out=np.zeros(found.shape), where=whole > 0).ravel()
