"""Ask for an answer about a population: with everything that an interval for it needs."""

from __future__ import annotations

from discreet.queries.base import Query
from discreet.queries.counts import Count
from discreet.queries.estimates import MeanEstimate, ShareEstimate, SumEstimate
from discreet.queries.means import Mean
from discreet.queries.quantile import Quantile
from discreet.queries.quantile_estimate import QuantileEstimate
from discreet.queries.sums import Sum

__all__ = ["Estimate"]


def Estimate(query: Query, *, level: float = 0.95) -> Query:  # noqa: N802
    """A query whose release also has an `interval` for the population that the rows came from.

    Parameters
    ----------
    query : Mean, Sum, Count with `by`, or Quantile with one q
        A mean (of a column of 0 and 1: a proportion); a sum; the shares of groups; a quantile. What the
        interval needs beside the answer (sums of squares, neighbouring quantiles) is charged with it.
    level : float
        For quantiles: the highest level that an interval will be asked for.

    Examples
    --------
    >>> import discreet as dp
    >>> dp.Estimate(dp.Mean("age", by="sex"))
    MeanEstimate('age', by='sex')
    """
    found = _find(query, level)
    return found if query.person_rows is None else found.per_person(query.person_rows)


def _find(query: Query, level: float) -> Query:
    """The query that buys what an interval needs, without a limit of its own."""
    match query:
        case MeanEstimate() | SumEstimate() | ShareEstimate() | QuantileEstimate():
            return query
        case Mean():
            return MeanEstimate(query.column, by=query.by, where=query.where)
        case Sum():
            return SumEstimate(query.column, by=query.by, where=query.where)
        case Count():
            return ShareEstimate(by=query.by, where=query.where)
        case Quantile() if query.is_single and query.candidates is None:
            return QuantileEstimate(
                query.column, query.q[0], level=level, by=query.by, where=query.where
            )
    raise TypeError(
        "query must be dp.Mean, dp.Sum, dp.Count with by, or dp.Quantile with one q and no candidates: of "
        f"{type(query).__name__} no interval for a population is known here."
    )
