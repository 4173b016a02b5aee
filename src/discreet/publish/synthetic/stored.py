"""A fitted synthesizer as plain data, and back: what a model file has of one."""

from __future__ import annotations

import math
from typing import Any

from discreet.measures import ApproxDP
from discreet.models import learned
from discreet.models.files.parts import write_certificate
from discreet.models.learned import Tools
from discreet.models.privacy import FitPrivacy
from discreet.publish.synthetic.estimation import Measured
from discreet.publish.synthetic.inside import Fitted
from discreet.publish.synthetic.junction import JunctionModel
from discreet.publish.synthetic.layout import Layout
from discreet.publish.synthetic.synthesizer import Synthesizer
from discreet.schema import Schema

__all__ = ["PARAMETERS", "STORED", "read_model", "write_model"]

_PLACES = learned.Each(learned.Count(), container=tuple)
#: What was fitted, as a model file keeps it. Shapes are checked when all of it is read.
FITTED = learned.Record(
    Fitted,
    model=learned.Record(
        JunctionModel,
        sizes=_PLACES,
        cliques=learned.Each(_PLACES, "cliques", tuple),
        tables=learned.Each(learned.Table(), "cliques", tuple),
        parents=learned.Each(learned.Count(minimum=-1), "cliques", tuple),
    ),
    groups=learned.Each(_PLACES, "columns", tuple),
    shares=learned.Each(learned.Table(), "columns", tuple),
    total=learned.Number(),
    measured=learned.Each(
        learned.Record(
            Measured, columns=_PLACES, counts=learned.Table(), deviation=learned.Table()
        ),
        container=tuple,
    ),
)
#: Parameters besides ε and δ.
PARAMETERS = (
    "workload", "target", "bins", "rounds", "max_cells", "constraints", "iterations",
)  # fmt: skip
#: Attributes that the file has or that follow from it; there are no others.
STORED = frozenset(
    {*PARAMETERS, "measure", "_fitted", "layout_", "_schema", "model_", "total_", "measured_", "privacy_"}
)  # fmt: skip


def write_model(model: Synthesizer, tools: Tools) -> dict[str, Any]:
    """A fitted synthesizer as plain data."""
    layout = model.layout_
    return {
        "measure": model.measure.to_dict(),
        "parameters": {name: tools.write_setting(getattr(model, name)) for name in PARAMETERS},
        "schema": model._schema.to_dict(),
        "cuts": [[axis.column, list(axis.cuts)] for axis in layout.axes],
        "learned": FITTED.write(model._fitted, tools),
        "certificate": write_certificate(model.privacy_),
    }


def read_model(data: Any, tools: Tools) -> Synthesizer:
    """The inverse of `write_model`."""
    measure = learned.MEASURE.read(data["measure"], tools)
    given = {name: tools.read_setting(data["parameters"][name]) for name in PARAMETERS}
    delta = measure.delta if isinstance(measure, ApproxDP) else 0
    model = Synthesizer(measure.epsilon, delta, **given)
    schema = Schema.from_dict(data["schema"])
    cuts = {name: tuple(float(cut) for cut in places) for name, places in data["cuts"]}
    layout = Layout.from_cuts(schema, cuts)
    tools.sizes["columns"] = len(layout.sizes)
    fitted: Fitted = FITTED.read(data["learned"], tools)
    names = list(layout.columns)
    _check(fitted, layout, None if model.target is None else names.index(model.target))
    model._fitted, model.layout_, model._schema = fitted, layout, schema
    model.model_, model.total_ = fitted.model, fitted.total
    model.measured_ = tuple(tuple(names[c] for c in part.columns) for part in fitted.measured)
    model.privacy_ = FitPrivacy.from_plain(data["certificate"])
    return model


def _check(fitted: Fitted, layout: Layout, target: int | None) -> None:
    """Raise unless tables, groups and cells fit together, so that rows can be drawn from them."""
    model, columns = fitted.model, range(len(layout.sizes))
    kinds = [()] if target is None else [(), model.sizes[target : target + 1]]
    groups_fit = all(
        len(groups) == size
        and shares.shape in [(*kind, size) for kind in kinds]
        and (shares >= 0).all()
        and set(groups) == set(range(count))
        for groups, shares, size, count in zip(
            fitted.groups, fitted.shares, layout.sizes, model.sizes, strict=True
        )
    )
    known = {column for clique in model.cliques for column in clique}
    cliques_fit = known == set(columns) and all(
        list(clique) == sorted(set(clique))
        and table.shape == tuple(model.sizes[column] for column in clique)
        and (table >= 0).all()
        and -1 <= parent < at
        for at, (clique, table, parent) in enumerate(
            zip(model.cliques, model.tables, model.parents, strict=True)
        )
    )
    measured_fit = all(
        part.counts.shape == tuple(model.sizes[column] for column in part.columns)
        for part in fitted.measured
    )
    if not (groups_fit and cliques_fit and measured_fit and math.isfinite(fitted.total)):
        raise ValueError("the tables don't belong together.")
