"""Bought bounds where one row decides: a range of values whose count lies at the threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from discreet.audit.pairs import through_the_door
from discreet.audit.registry import Case, Part
from discreet.measures import PureDP
from discreet.mechanisms import Laplace
from discreet.queries import Bounds
from discreet.schema import Real, Schema
from discreet.unit import ADD_REMOVE, Unit

__all__ = ["at_the_threshold"]

SCHEMA = Schema(u=Real())


def at_the_threshold(epsilon: int = 2, trials: int = 3_000) -> Iterator[Part]:
    """Yield bounds of rows whose last range is just below the threshold, and of one row more.

    In the tail of the noise one row multiplies the chance to pass by e^ε, which is all that is charged.
    """
    query, unit = Bounds("u"), Unit(ADD_REMOVE)
    noise = Laplace(epsilon).distribution(query.sensitivity(SCHEMA, unit))
    ranges = query.coded(SCHEMA, unit).groups
    least = math.floor(noise.half_width(1 - Bounds.RISK / ranges))
    few, more = ({"u": np.array([5.0] * 400 + [1000.0] * (least + add))} for add in (0, 1))
    door = through_the_door(query, PureDP(epsilon), SCHEMA, unit)
    title = f"a range whose count is at the threshold, ε = {epsilon}"
    yield Case(title, door, (few, more), float(epsilon), trials)
