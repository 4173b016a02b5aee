"""Fixed noise and exact totals, for tests only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from discreet.dataset import PrivateDataset
from discreet.noise import entropy
from discreet.queries import Query


@contextmanager
def fixed_noise(seed: int) -> Iterator[None]:
    """Draw noise from a seed inside the block, in this thread; releases are marked *not private*."""
    with entropy.fixed(seed):
        yield


def exact_totals(dataset: PrivateDataset, query: Query) -> npt.NDArray[np.int64]:
    """The integers before noise, for data declared public alone.

    Sums have shape (groups, terms); for quantiles each row is a group, a code and its count.
    """
    if not dataset.unit.is_public:
        raise PermissionError("exact_totals works on data declared dp.PUBLIC alone.")
    coded = query.coded(dataset.schema, dataset.unit)
    if coded.tally is not None:
        return np.stack(dataset._engine.tally(coded), axis=1)
    return dataset._engine.totals(coded)
