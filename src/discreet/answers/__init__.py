"""From a query and a budget to a noised answer: everything public first, then one read of the rows."""

from discreet.answers.additive import AdditiveAnswerer
from discreet.answers.base import Answerer, How
from discreet.answers.discovery import BoundsAnswerer, KeysAnswerer
from discreet.answers.quantile import QuantileAnswerer
from discreet.answers.several import ChoiceAnswerer, JointAnswerer
from discreet.measures import Measure
from discreet.mechanisms import Mechanism
from discreet.queries import Additive, Bounds, Choice, Count, Joint, Quantile, Query
from discreet.schema import Schema
from discreet.unit import Unit

__all__ = ["Answerer", "How", "answerer"]


def answerer(
    query: Query, how: How | None, schema: Schema, unit: Unit, rows: int | None
) -> Answerer:
    """Prepare an answer; every complaint about public arguments is raised here."""
    if not isinstance(how, Measure | Mechanism):
        raise TypeError(
            "how must be a measure such as dp.PureDP(0.5), dp.ApproxDP(0.5, 1e-6) or dp.ZCDP(0.1), or a "
            f"mechanism, not {type(how).__name__}."
        )
    if isinstance(query, Quantile):
        return QuantileAnswerer(query, how, schema, unit)
    if isinstance(query, Bounds):
        return BoundsAnswerer(query, how, schema, unit)
    if isinstance(query, Count) and query.keys is not None:
        return KeysAnswerer(query, how, schema, unit)
    if isinstance(query, Joint):
        return JointAnswerer(query, how, schema, unit, rows)
    if isinstance(query, Choice):
        return ChoiceAnswerer(query, how, schema, unit, rows)
    assert isinstance(query, Additive)
    return AdditiveAnswerer(query, how, schema, unit, rows)
