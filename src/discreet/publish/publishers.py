"""The ways to publish a table, by name: what a command line or a page offers. Others register theirs here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from discreet.dataset import PrivateDataset
from discreet.events import Event
from discreet.ledger import Entry
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.models.privacy import FitPrivacy
from discreet.rational import as_integer

__all__ = ["Offer", "Publisher", "find_publisher", "list_publishers", "register_publisher"]

#: The columns of a table that may be seen.
Columns = Mapping[str, Any]


@final
@dataclass(frozen=True)
class Offer:
    """What would be published, and for how much: no row was read, and nothing was charged.

    Attributes
    ----------
    event, measure
        What will be charged, before the first row is read.
    claims : tuple of str
        What the guarantee rests on.
    publish : callable
        Charges, and returns the columns of a table that may be seen.
    """

    event: Event
    measure: Measure
    claims: tuple[str, ...]
    publish: Callable[[PrivateDataset], Columns] = field(repr=False)

    def certify(self, data: PrivateDataset, entry: Entry | None) -> FitPrivacy:
        """What was paid, and what that guarantees."""
        note = "the rows were declared public; nothing was charged" if data.unit.is_public else ""
        return FitPrivacy(
            self.event, self.measure, data.unit, self.claims, entry, data.is_private, note
        )


@final
@dataclass(frozen=True)
class Publisher:
    """A way to publish a table.

    Attributes
    ----------
    name : str
        As people type it.
    summary : str
        What comes out, in one line.
    settings : tuple of str
        The names of what can be set, besides the budget and the target.
    shows_every_row : bool
        Whether all rows come out, so that their number must be public.
    offer : callable
        From a data set, a measure, the name of the target (or None) and settings to an `Offer`.
    """

    name: str
    summary: str
    settings: tuple[str, ...]
    offer: Callable[[PrivateDataset, PureDP | ApproxDP, str | None, Mapping[str, Any]], Offer] = (
        field(repr=False)
    )
    shows_every_row: bool = False


_PUBLISHERS: dict[str, Publisher] = {}


def register_publisher(publisher: Publisher) -> None:
    """Offer a way to publish tables under its name, which no other has."""
    if not isinstance(publisher, Publisher):
        raise TypeError(f"publisher must be a Publisher, not {type(publisher).__name__}.")
    if publisher.name in _PUBLISHERS:
        raise ValueError(f"publisher: {publisher.name!r} is registered already.")
    _PUBLISHERS[publisher.name] = publisher


def list_publishers() -> list[Publisher]:
    """All ways to publish a table, by name."""
    return [_PUBLISHERS[name] for name in sorted(_PUBLISHERS)]


def find_publisher(name: str) -> Publisher:
    """The publisher of this name."""
    if name not in _PUBLISHERS:
        raise ValueError(
            f"publisher must be one of {', '.join(sorted(_PUBLISHERS))}, got {name!r}."
        )
    return _PUBLISHERS[name]


def _budget(measure: PureDP | ApproxDP) -> dict[str, Any]:
    return {"epsilon": measure.epsilon, "delta": getattr(measure, "delta", 0)}


def _offer_masked(
    data: PrivateDataset, measure: Any, target: str | None, settings: Mapping[str, Any]
) -> Offer:
    from discreet.publish.masked_data import MaskedData

    given = dict(settings)
    features = given.pop("features", None)
    if isinstance(features, str):
        features = [name.strip() for name in features.split(",")]
    model = MaskedData(**_budget(measure), **given)
    plan = model.plan(data, target=target, features=features)

    def publish(rows: PrivateDataset) -> Columns:
        fitted = MaskedData(**model.get_params(deep=False)).fit(
            rows, target=target, features=features
        )
        return fitted.to_columns()

    return Offer(plan.event, plan.measure, model._claims, publish)


def _offer_synthetic(
    data: PrivateDataset, measure: Any, target: str | None, settings: Mapping[str, Any]
) -> Offer:
    from discreet.publish.synthetic import Synthesizer

    given = dict(settings)
    rows, seed = given.pop("rows", None), given.pop("random_state", None)
    if rows is not None:  # said before the charge, not when rows are drawn after it
        as_integer(rows, "rows", minimum=1)
    if seed is not None and not isinstance(seed, np.random.Generator):
        as_integer(seed, "random_state")

    def build() -> Synthesizer:
        return Synthesizer(**_budget(measure), target=target, **given)

    def publish(table: PrivateDataset) -> Columns:
        made: Columns = build().fit(table).sample(rows, random_state=seed)
        return made

    plan = build().plan(data)
    return Offer(plan.event, plan.measure, ("synthetic-tables",), publish)


def _offer_perturbed(
    data: PrivateDataset, measure: Any, target: str | None, settings: Mapping[str, Any]
) -> Offer:
    from discreet.publish.perturb import PerturbedRows, perturb
    from discreet.publish.rows import RowPerturbation

    given = {**_budget(measure), "target": target, **settings}
    channel = RowPerturbation(data.schema, **given)
    event = PerturbedRows(channel, data.rows).event(data.schema, data.unit)

    def publish(rows: PrivateDataset) -> Columns:
        found: Columns = perturb(rows, **given)
        return found

    claim = "input-perturbation" + "-norm-gamma" * (channel.kind == "norm-gamma")
    return Offer(event, channel.measure, (claim,), publish)


def _offer_wavelet(
    data: PrivateDataset, measure: Any, target: str | None, settings: Mapping[str, Any]
) -> Offer:
    from discreet.publish.masks import WaveletGaussian, WaveletLaplace
    from discreet.publish.masks.plan import MaskedRows, RowMask

    mask: RowMask = WaveletLaplace(measure.epsilon, target=target, **settings)
    if isinstance(measure, ApproxDP) and measure.delta:
        mask = WaveletGaussian(measure.epsilon, delta=measure.delta, target=target, **settings)
    plan = mask.plan(data.schema)
    event = MaskedRows(plan, data.rows).event(data.schema, data.unit)
    claim = "wavelet-laplace" if isinstance(mask, WaveletLaplace) else "wavelet-gaussian"
    return Offer(event, plan.measure, (claim,), mask.publish)


def _offer_ranges(
    data: PrivateDataset, measure: Any, target: str | None, settings: Mapping[str, Any]
) -> Offer:
    from discreet.publish.privelet import Ranges

    if target is not None:
        raise ValueError("target must not be given: counts of ranges have none.")
    given = dict(settings)
    names = given.pop("columns", None)
    if not names:
        raise ValueError("columns must name what is counted, as in columns=age.")
    query = Ranges(*([names] if isinstance(names, str) else names), **given)
    prepared = data.plan(query, measure)

    def publish(rows: PrivateDataset) -> Columns:
        table = rows.release(query, measure).to_table()
        return {name: np.array(list(table.column(name)), object) for name in table.columns}

    return Offer(prepared.event, measure, ("privelet",), publish)


_OURS = (
    Publisher(
        "masked",
        "Made-up rows with labels on which anyone learns the private logistic regression.",
        ("method", "samples", "labels", "label_share", "C", "perturbation", "alpha", "norm",
         "fit_intercept", "expected_rows", "random_state", "features"),
        _offer_masked,
    ),
    Publisher(
        "synthetic",
        "Made-up rows with the table's noised marginals: each column, the strongest pairs.",
        ("rows", "workload", "bins", "rounds", "max_cells", "constraints", "iterations",
         "random_state"),
        _offer_synthetic,
    ),
    Publisher(
        "perturbed",
        "Every row, with noise on its numbers and randomised response on its categories.",
        ("norm", "label_share", "kind"),
        _offer_perturbed,
        shows_every_row=True,
    ),
    Publisher(
        "wavelet",
        "Every row, with exact noise on wavelet coefficients of blocks of rows; perturbed has less noise.",
        ("label_share", "block", "levels", "order"),
        _offer_wavelet,
        shows_every_row=True,
    ),
    Publisher(
        "ranges",
        "Noised counts of cells, made so that counts of ranges are accurate: a table of counts, no rows.",
        ("columns", "bins", "workload", "strategy", "ordered", "where"),
        _offer_ranges,
    ),
)  # fmt: skip
for _publisher in _OURS:
    register_publisher(_publisher)
