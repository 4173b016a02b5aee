"""Means, sums, spreads and quantiles of a column of numbers, in one call each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.layout import Asked, lay_out
from discreet.ledger import Payer
from discreet.queries import Mean, NoiseInterval, Quantile, Sum, Tighten, Variance
from discreet.rational import Number
from discreet.release import Release
from discreet.shortcuts.asking import Bound, ask, declare_numbers, read_budget
from discreet.unit import Relation

__all__ = ["mean", "median", "quantile", "std", "sum", "variance"]


def mean(
    x: Any,
    *,
    bounds: Bound = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | None = None,
    ids: Any = None,
    max_rows: int | None = None,
    ledger: Payer | None = None,
    name: str = "x",
    tighten: bool = False,
) -> Release:
    """The mean of a column, in one call.

    Parameters
    ----------
    x : list, array, or column of pandas, Polars or PyArrow
        One value for each row. Arrays of whole numbers between whole bounds are taken as `Integer`, all
        else as `Real`. Missing values, NaN and what is no number count as the middle of the bounds.
    bounds : (lower, upper)
        Public bounds, from what anyone may know; values outside are clamped.
    epsilon, delta : number
        The budget: ``epsilon=0.5`` for pure ε, with ``delta=1e-6`` for (ε, δ).
    rho : number
        The budget as ρ of zero-concentrated differential privacy, instead of `epsilon`.
    relation : dp.ADD_REMOVE, dp.REPLACE_ONE or dp.PUBLIC, optional
        How neighbours differ: by default that of the ledger, else a person is in the data or not.
    ids : list, array or column, optional
        Whose row each is; then `max_rows` rows of each person count.
    max_rows : int, optional
        How many rows of a person may count; needed with `ids`, unless the ledger says it.
    ledger : Ledger or account, optional
        Where the answer is charged; by default one that is opened for this answer alone.
    name : str
        What the ledger and the answer call the column.
    tighten : bool
        Whether to buy closer bounds first, as `dp.Tighten` does: where `bounds` are far too wide.

    Returns
    -------
    Release
        ``.value`` is the number, and so is ``float(answer)``; beside it are ``.stderr``,
        ``.noise_interval()`` and the certificate (``.to_json()``).

    Privacy
    -------
    That of ``PrivateDataset.release`` with the query `Mean`: charged before a row is read, for the unit that
    ``answer.unit`` names. Without `ledger` nothing adds up: ten calls on the same people cost ten times the
    budget, and nobody counts. Errors tell types and shapes, never a value. Proof page:
    ``docs/proofs/moments.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> ages = [34, 51, 29, 62] * 500
    >>> answer = dp.mean(ages, bounds=(0, 100), epsilon=0.5)
    >>> 40 < answer.value < 48
    True
    """
    asked = ask(x, name, ids, max_rows, relation, ledger, read_budget(epsilon, delta, rho))
    query = Tighten(Mean(name)) if tighten else Mean(name)
    return asked.release(query, declare_numbers(x, bounds, "mean"))


def sum(
    x: Any,
    *,
    bounds: Bound = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | None = None,
    ids: Any = None,
    max_rows: int | None = None,
    ledger: Payer | None = None,
    name: str = "x",
) -> Release:
    """The sum of a column, in one call. The parameters are those of `mean`.

    Privacy
    -------
    That of `Sum`: one row moves it by the larger bound in size. Proof page: ``docs/proofs/coding.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> answer = dp.sum([1, 0, 3, 2] * 500, bounds=(0, 10), epsilon=0.5)
    >>> 2600 < answer.value < 3400
    True
    """
    asked = ask(x, name, ids, max_rows, relation, ledger, read_budget(epsilon, delta, rho))
    return asked.release(Sum(name), declare_numbers(x, bounds, "sum"))


def variance(
    x: Any,
    *,
    bounds: Bound = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | None = None,
    ids: Any = None,
    max_rows: int | None = None,
    ledger: Payer | None = None,
    name: str = "x",
) -> Release:
    """The variance of a column's rows (divisor n), in one call. The parameters are those of `mean`.

    Privacy
    -------
    That of `Variance`. Proof page: ``docs/proofs/moments.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> answer = dp.variance([0.0, 10.0] * 1000, bounds=(0, 10), epsilon=1)
    >>> 23 < answer.value <= 25
    True
    """
    asked = ask(x, name, ids, max_rows, relation, ledger, read_budget(epsilon, delta, rho))
    return asked.release(Variance(name), declare_numbers(x, bounds, "variance"))


def std(
    x: Any,
    *,
    bounds: Bound = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | None = None,
    ids: Any = None,
    max_rows: int | None = None,
    ledger: Payer | None = None,
    name: str = "x",
) -> Release:
    """The standard deviation of a column's rows (divisor n), in one call. The parameters are those of `mean`.

    Privacy
    -------
    The root of `variance`, which is post-processing. Proof page: ``docs/proofs/moments.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> answer = dp.std([0.0, 10.0] * 1000, bounds=(0, 10), epsilon=1)
    >>> 4.8 < answer.value <= 5
    True
    """
    asked = ask(x, name, ids, max_rows, relation, ledger, read_budget(epsilon, delta, rho))
    return _take_root(asked.release(Variance(name), declare_numbers(x, bounds, "std")))


def quantile(
    x: Any,
    q: Number | Sequence[Number],
    *,
    bounds: Bound = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | None = None,
    ids: Any = None,
    max_rows: int | None = None,
    ledger: Payer | None = None,
    name: str = "x",
) -> Release:
    """A quantile of a column, or several, in one call. The other parameters are those of `mean`.

    Parameters
    ----------
    q : number or sequence of numbers
        Between 0 and 1; several share the budget evenly, and `value` is an array.

    Privacy
    -------
    That of `Quantile`: an exact draw by the exponential mechanism. Proof page: ``docs/proofs/quantiles.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> answer = dp.quantile(list(range(1000)), 0.9, bounds=(0, 1000), epsilon=1)
    >>> 850 < answer.value < 950
    True
    """
    asked = ask(x, name, ids, max_rows, relation, ledger, read_budget(epsilon, delta, rho))
    return asked.release(Quantile(name, q), declare_numbers(x, bounds, "quantile"))


def median(
    x: Any,
    *,
    bounds: Bound = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | None = None,
    ids: Any = None,
    max_rows: int | None = None,
    ledger: Payer | None = None,
    name: str = "x",
) -> Release:
    """The median of a column, in one call. The parameters are those of `mean`.

    Privacy
    -------
    That of `Quantile`. Proof page: ``docs/proofs/quantiles.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> answer = dp.median(list(range(1000)), bounds=(0, 1000), epsilon=1)
    >>> 450 < answer.value < 550
    True
    """
    asked = ask(x, name, ids, max_rows, relation, ledger, read_budget(epsilon, delta, rho))
    return asked.release(Quantile(name), declare_numbers(x, bounds, "median"))


def _take_root(found: Release) -> Release:
    """The release of a variance as that of the standard deviation: post-processing of value and interval."""
    value = math.sqrt(max(found.value, 0.0))
    spread = float(found.stderr)
    error = math.sqrt(spread) if value == 0 else min(spread / (2 * value), math.sqrt(spread))

    def interval(level: float) -> NoiseInterval:
        ends = found.noise_interval(level)
        return ends._replace(lower=math.sqrt(ends.lower), upper=math.sqrt(ends.upper))

    asked = Asked(f"root of {found.query!r}", lay_out(found.query, found.value, None))
    return replace(found, query=asked, value=value, stderr=error, _interval=interval)
