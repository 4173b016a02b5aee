"""Counts and histograms of a column, in one call each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.columns.bounds import finite
from discreet.expressions import col
from discreet.ledger import Payer
from discreet.queries import Count, Histogram
from discreet.rational import Number, as_integer
from discreet.release import Release
from discreet.schema import Bins, Categorical, Real, Schema
from discreet.shortcuts.asking import Bound, ask, check_column, declare_numbers, read_budget
from discreet.unit import Relation

__all__ = ["count", "histogram"]


def count(
    x: Any,
    *,
    value: Any = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | None = None,
    ids: Any = None,
    max_rows: int | None = None,
    ledger: Payer | None = None,
    name: str = "x",
) -> Release:
    """How many rows a column has, or how many hold one value. The other parameters are those of `mean`.

    Parameters
    ----------
    value : text, number or bool, optional
        The cells to count, as in ``dp.count(age >= 65, value=True, ...)``; all rows without it.

    Privacy
    -------
    That of `Count`. Under ``dp.REPLACE_ONE`` the number of all rows is public and costs nothing.
    Proof page: ``docs/proofs/coding.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> answer = dp.count(["F", "M", "F"] * 100, value="F", epsilon=1)
    >>> 180 < answer.value < 220
    True
    """
    measure = read_budget(epsilon, delta, rho)
    if value is None:
        check_column(x, "x")
        x = np.zeros(len(x))  # counting needs no cell
        asked = ask(x, name, ids, max_rows, relation, ledger, measure)
        return asked.release(Count(), Real(0, 1))
    asked = ask(x, name, ids, max_rows, relation, ledger, measure)
    return asked.release(Count(where=col(name) == value), Categorical(value))


def histogram(
    x: Any,
    *,
    bins: int | Sequence[float] | None = None,
    bounds: Bound = None,
    values: Sequence[Any] | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | None = None,
    ids: Any = None,
    max_rows: int | None = None,
    ledger: Payer | None = None,
    name: str = "x",
) -> Release:
    """How many rows lie in each bin, or have each value. The other parameters are those of `mean`.

    Parameters
    ----------
    bins : int or increasing numbers
        This many bins of one width between the bounds (10 by default), or the edges of all bins, in which
        case no bounds are needed. Values outside count in the first or the last bin.
    values : sequence
        Instead of bins: the public list of values to count, as in ``values=["F", "M"]``. Other cells don't
        count.

    Returns
    -------
    Release
        ``.value`` is the array of counts, ``.labels`` says of what; counts may be negative.

    Privacy
    -------
    That of `Histogram`: one row moves one count by 1. Proof page: ``docs/proofs/coding.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.histogram([1.0, 2.0, 8.0], bins=2, bounds=(0, 10), epsilon=1).labels
    ['[0, 5)', '[5, 10]']
    """
    asked = ask(x, name, ids, max_rows, relation, ledger, read_budget(epsilon, delta, rho))
    if values is not None:
        if bins is not None or bounds is not None:
            raise TypeError("values are counted as they are: give values, or bins and bounds.")
        if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
            raise TypeError('values must be a list of the values to count, as in ["F", "M"].')
        return asked.release(Histogram(name), Categorical(*values))
    if bins is None and bounds is None:
        raise TypeError(
            "bounds must be given, as in dp.histogram(x, bounds=(0, 100), ...): public ones, from what "
            'anyone may know; for text the list of values to count, as in values=["F", "M"]. They are never '
            "taken from the cells, which tell about persons."
        )
    edges = _edges(10 if bins is None else bins, bounds)
    schema = Schema({name: declare_numbers(x, (edges[0], edges[-1]), "histogram")})
    band = "bin" if name != "bin" else "bin_of"
    return asked.release(Histogram(band), schema.derive(**{band: Bins(name, edges[1:-1])}))


def _edges(bins: Any, bounds: Any) -> list[float]:
    """The edges of a histogram, the bounds among them."""
    if isinstance(bins, Sequence | np.ndarray) and not isinstance(bins, str):
        edges = [finite(edge, "bins: an edge") for edge in bins]
        if bounds is not None:
            raise TypeError("bounds: the edges in bins are the bounds; leave bounds out.")
        if len(edges) < 3 or any(a >= b for a, b in pairwise(edges)):
            raise ValueError(
                "bins must be three or more increasing numbers, the edges of the bins."
            )
        return edges
    number = as_integer(bins, "bins", minimum=2)
    declared = declare_numbers([], bounds, "histogram")
    lower, upper = float(declared.lower), float(declared.upper)
    if lower == upper:
        raise ValueError("bounds must differ: bins need room between them.")
    return [float(edge) for edge in np.linspace(lower, upper, number + 1)]
