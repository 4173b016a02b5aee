"""Parameters of estimators as plain data: what a person may have typed, and nothing that could run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, final

import numpy as np

from discreet.expressions import Expression, parse
from discreet.ledger import LedgerError, Payer
from discreet.measures import Measure, measure_from_dict
from discreet.models.metrics.kinds import Metric
from discreet.models.metrics.names import METRICS
from discreet.schema import Schema
from discreet.show import decode_value, encode_value
from discreet.unit import Relation, Unit

__all__ = ["AbsentLedger", "read_setting", "write_setting"]

#: How deep lists may stand in one another.
MAX_DEPTH = 32
#: What constructors of metrics take.
_METRIC_OPTIONS = ("floor", "bins", "positive")


@final
@dataclass(frozen=True)
class AbsentLedger(Payer):
    """The place of a ledger that a model was fitted with: it can't be charged, so nothing is fitted unpaid.

    A model file doesn't say where its ledger is kept. ``model.set_params(ledger=...)`` puts one here.
    """

    @property
    def book(self) -> NoReturn:
        _refuse()

    def charge(
        self, event: Any, measure: Any = None, *, note: str = "", token: Any = None
    ) -> NoReturn:
        """Refuse."""
        _refuse()


def _refuse() -> NoReturn:
    raise LedgerError(
        "this model was read from a file, which doesn't hold its ledger: to fit again, give the ledger of "
        "these people, as in clone(model).set_params(ledger=dp.Ledger('sqlite:///budget.db'))."
    )


Part = Callable[[Any], Any]


def write_setting(value: Any, write_estimator: Part, depth: int = 0) -> Any:
    """The value of a parameter as plain data.

    Parameters
    ----------
    value
    write_estimator : callable
        For estimators that aren't fitted.
    """
    if depth > MAX_DEPTH:
        raise TypeError("a parameter holds lists in lists in lists.")

    def write(inner: Any) -> Any:
        return write_setting(inner, write_estimator, depth + 1)

    match value:
        case Payer():
            return {"ledger": True}
        case Schema():
            return {"schema": value.to_dict()}
        case Unit():
            return {"unit": value.to_dict()}
        case Relation():
            return {"relation": value.value}
        case Measure():
            return {"measure": value.to_dict()}
        case Expression():
            return {"condition": str(value)}
        case Metric():
            return _write_metric(value)
        case np.random.Generator() | np.random.RandomState():
            return {"generator": True}
        case np.ndarray() if value.dtype.kind in "UO":
            return {"objects": write(value.tolist())}
        case np.str_():
            return str(value)
        case list():
            return [write(item) for item in value]
        case range():
            return [*value]
        case tuple():
            return {"tuple": [write(item) for item in value]}
        case Mapping():
            return {"mapping": [[write(key), write(part)] for key, part in value.items()]}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return {"estimator": write_estimator(value)}
    if hasattr(value, "to_numpy"):  # a column of a frame
        return write(np.asarray(value.to_numpy()))
    return encode_value(value)


def read_setting(data: Any, read_estimator: Part, depth: int = 0) -> Any:
    """The inverse of `write_setting`; a generator of random numbers is left out: None."""
    if depth > MAX_DEPTH:
        raise ValueError("a parameter holds lists in lists in lists.")

    def read(inner: Any) -> Any:
        return read_setting(inner, read_estimator, depth + 1)

    match data:
        case list():
            return [read(item) for item in data]
        case {"tuple": list(items)} if len(data) == 1:
            return tuple(read(item) for item in items)
        case {"mapping": list(items)} if len(data) == 1:
            return {read(key): read(part) for key, part in items}
        case {"objects": list(items)} if len(data) == 1:
            return np.array(read(items))
        case {"estimator": dict(part)} if len(data) == 1:
            return read_estimator(part)
        case {"schema": dict(plain)} if len(data) == 1:
            return Schema.from_dict(plain)
        case {"unit": dict(plain)} if len(data) == 1:
            return Unit.from_dict(plain)
        case {"relation": str(name)} if len(data) == 1:
            return Relation(name)
        case {"measure": dict(plain)} if len(data) == 1:
            return measure_from_dict(plain)
        case {"condition": str(text)} if len(data) == 1:
            return parse(text)
        case {"metric": str(name), "options": dict(options)} if len(data) == 2:
            return METRICS[name](**{key: decode_value(part) for key, part in options.items()})
        case {"ledger": True} if len(data) == 1:
            return AbsentLedger()
        case {"generator": True} if len(data) == 1:
            return None
    return decode_value(data)


def _write_metric(metric: Metric) -> dict[str, Any]:
    """A metric of ours by its name, with what its constructor takes."""
    for name, kind in METRICS.items():
        if type(metric) is kind:
            taken = {key: part for key, part in vars(metric).items() if key in _METRIC_OPTIONS}
            return {"metric": name, "options": {k: encode_value(v) for k, v in taken.items()}}
    raise TypeError(f"a metric of type {type(metric).__name__} isn't one of discreet's.")
