"""Fixed noise and exact totals, for tests only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from discreet.dataset import PrivateDataset
from discreet.noise import entropy
from discreet.queries import KeyCounts, Query


@contextmanager
def fixed_noise(seed: int) -> Iterator[None]:
    """Draw noise from a seed inside the block, in this thread; releases are marked *not private*.

    Examples
    --------
    >>> from discreet import noise, testing
    >>> with testing.fixed_noise(7):
    ...     first = noise.discrete_laplace(10, 3).tolist()
    >>> with testing.fixed_noise(7):
    ...     print(noise.discrete_laplace(10, 3).tolist() == first)
    True
    """
    with entropy.fixed(seed):
        yield


def exact_totals(dataset: PrivateDataset, query: Query) -> npt.NDArray[np.int64]:
    """The integers before noise, only for data declared public.

    Sums have shape (groups, terms); for quantiles each row is a group, a code and its count.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(ward=dp.Categorical("A", "B"))
    >>> data = dp.PrivateDataset({"ward": ["A", "A", "B"]}, schema, unit=dp.PUBLIC)
    >>> dp.testing.exact_totals(data, dp.Count(by="ward")).ravel()
    array([2, 1])
    """
    _check_public(dataset, "exact_totals")
    if isinstance(query, KeyCounts):
        raise ValueError("query counts keys, which have no totals: use exact_keys.")
    coded = query.coded(dataset.schema, dataset.unit)
    if coded.tally is not None:
        return np.stack(dataset._engine.tally(coded), axis=1)
    return dataset._engine.totals(coded)


def exact_keys(dataset: PrivateDataset, query: KeyCounts) -> dict[str, int]:
    """The counts of all keys before noise and threshold, only for data declared public.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(town=dp.Text())
    >>> data = dp.PrivateDataset({"town": ["X", "X", "Y"]}, schema, unit=dp.PUBLIC)
    >>> dp.testing.exact_keys(data, dp.KeyCounts("town", delta=1e-6))
    {'X': 2, 'Y': 1}
    """
    _check_public(dataset, "exact_keys")
    if not isinstance(query, KeyCounts):
        raise TypeError("query must be a dp.KeyCounts.")
    coded = query.coded(dataset.schema, dataset.unit)
    return dataset._engine.keys(coded, query.column, query.groups(dataset.unit))


def _check_public(dataset: PrivateDataset, name: str) -> None:
    if not dataset.unit.is_public:
        raise PermissionError(f"{name} works only on data declared dp.PUBLIC.")
