"""How well a synthetic table's model keeps the marginals of a table: on public rows, or charged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

import numpy as np

from discreet.dataset import PrivateDataset
from discreet.measures import Measure, PureDP
from discreet.publish.synthetic.estimation import project_to_shares
from discreet.publish.synthetic.synthesizer import Synthesizer
from discreet.queries import CellCounts, Joint

__all__ = ["UtilityReport", "report_utility"]


@final
@dataclass(frozen=True, repr=False)
class UtilityReport:
    """Total-variation distances between a model and a table, by pair of columns.

    Attributes
    ----------
    errors : mapping of pairs of names to float
        0 where the shares of all combinations of cells agree, 1 where they have none in common.
    noise : float
        About what mean error the noise of this report alone would show, were there no other; 0 on public
        rows. Errors don't add up: a mean error near it or below says that none stands out of the noise.
    is_private : bool
        Whether the table was private, and its counts noised.

    Examples
    --------
    >>> from discreet.publish import UtilityReport
    >>> errors = {("age", "ward"): 0.02, ("age", "ill"): 0.05}
    >>> report = UtilityReport(errors, noise=0.01, is_private=True)
    >>> report.worst, round(report.mean, 3)
    (('age', 'ill'), 0.035)
    >>> print(report)
    mean error of 2 pairs: 0.035 (noise of this report alone would show about 0.01)
    largest: 0.05 (age, ill)
    """

    errors: Mapping[tuple[str, str], float]
    noise: float
    is_private: bool

    @property
    def mean(self) -> float:
        """The mean error of all pairs."""
        return float(np.mean(list(self.errors.values())))

    @property
    def worst(self) -> tuple[str, str]:
        """The pair with the largest error."""
        return max(self.errors, key=lambda pair: self.errors[pair])

    def __repr__(self) -> str:
        a, b = self.worst
        told = (
            f" (noise of this report alone would show about {self.noise:.3g})" if self.noise else ""
        )
        return (
            f"mean error of {len(self.errors)} pairs: {self.mean:.3g}{told}\n"
            f"largest: {self.errors[a, b]:.3g} ({a}, {b})"
        )


def report_utility(
    fitted: Synthesizer, data: PrivateDataset, budget: Measure | None = None
) -> UtilityReport:
    """Compare a fitted model with a table, pair by pair.

    How good a classifier trained on made-up rows is on real ones, `models.metrics.private_score` tells.

    Parameters
    ----------
    fitted : Synthesizer
    data : PrivateDataset
        With the columns of the fit; public rows, or private ones.
    budget : Measure, optional
        What the report may cost; needed for private rows.

    Privacy
    -------
    One noised vector of counts of all pairs, charged to the data set's ledger: see `CellCounts`. Nothing is
    charged on public rows. Proof page: ``docs/proofs/synthetic.md``.

    Examples
    --------
    >>> import discreet as dp
    >>> schema = dp.Schema(ward=dp.Categorical("A", "B"), ill=dp.Categorical("no", "yes"))
    >>> table = {"ward": ["A", "B"] * 500, "ill": ["no", "yes"] * 500}
    >>> ledger = dp.Ledger(limit=dp.ApproxDP(2, 1e-6))
    >>> data = dp.PrivateDataset(table, schema, ledger=ledger)
    >>> synthesizer = dp.publish.Synthesizer(epsilon=1, delta=1e-7).fit(data)
    >>> report = dp.publish.report_utility(synthesizer, data, dp.ApproxDP("1/2", 1e-7))
    >>> report.mean < 0.1
    True
    """
    fitted.check_fitted()
    layout = fitted.layout_
    if budget is None:
        if not data.unit.is_public:
            raise ValueError(
                "budget must be given for private rows, as in dp.PureDP(0.1): a report reads them, too."
            )
        budget = PureDP(math.inf)
    names = list(layout.columns)
    if len(names) < 2:
        raise ValueError("a report compares pairs of columns: the fit must have two or more.")
    # a model has nothing to say of other cells: refused before anything is charged
    for name in names:
        if data.schema.base.get(name) != layout.columns[name]:
            raise ValueError(
                f"data must declare the columns of the fit as they were declared there: {name!r} differs."
            )
    pairs = list(combinations(range(len(names)), 2))
    query = Joint(*(CellCounts(layout.axes[a], layout.axes[b]) for a, b in pairs))
    release = data.release(query, budget)
    errors, noises = {}, []
    for (a, b), counts, error in zip(pairs, release.value, release.stderr, strict=True):
        shares = project_to_shares(counts)
        model = fitted.marginal(names[a], names[b]).ravel()
        errors[names[a], names[b]] = float(abs(shares - model).sum() / 2)
        total: Any = max(1.0, float(np.sum(counts)))
        # half the mean size of normal noise in each cell; projecting takes some of it away
        noises.append(min(1.0, float(np.sum(error)) / total / math.sqrt(2 * math.pi)))
    return UtilityReport(errors, float(np.mean(noises)), not data.unit.is_public)
