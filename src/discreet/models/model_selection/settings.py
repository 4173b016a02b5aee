"""The settings that a search draws from: public."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from discreet.models.base import PrivateEstimator
from discreet.models.seeds import check_seed
from discreet.rational import rational

#: What the search itself decides.
_TAKEN = ("epsilon", "delta", "schema", "unit", "ledger")


def list_settings(settings: Any) -> list[dict[str, Any]]:
    """All settings: a grid (names with lists of values), or a list of mappings as they are."""
    if settings is None:
        return [{}]
    if isinstance(settings, Mapping):
        found = [dict(setting) for setting in ParameterGrid(dict(settings))]
    elif isinstance(settings, Sequence) and not isinstance(settings, str):
        found = [dict(setting) for setting in settings if isinstance(setting, Mapping)]
        if len(found) != len(settings):
            raise TypeError("settings must be a grid, or a list of mappings of names to values.")
    else:
        raise TypeError(
            "settings must be a grid such as {'alpha': [1, 10]}, or a list of mappings such as "
            f"[{{'alpha': 1}}, {{'alpha': 10}}], not {type(settings).__name__}."
        )
    if not found:
        raise ValueError("settings must hold at least one setting.")
    for setting in found:
        taken = [name for name in _TAKEN if name in setting]
        if taken:
            raise ValueError(
                f"settings must not hold {taken[0]!r}: that is a parameter of the search itself."
            )
    return found


def candidates_of(estimator: Any, settings: list[dict[str, Any]]) -> list[PrivateEstimator]:
    """A fresh estimator for each setting, which may name another one as ``"estimator"``."""
    found = []
    for setting in settings:
        chosen = setting.get("estimator", estimator)
        if not isinstance(chosen, PrivateEstimator):
            raise TypeError(
                f"estimator must be an estimator of discreet.models, not {type(chosen).__name__}."
            )
        given = [name for name in _TAKEN[2:] if getattr(chosen, name, None) is not None]
        if given:
            raise ValueError(
                f"estimator must not be given {given[0]!r}: give it to the search instead."
            )
        if chosen._target != estimator._target or chosen._target == "none":
            raise ValueError("estimator: all must learn classes, or all a number.")
        rest = {name: value for name, value in setting.items() if name != "estimator"}
        found.append(clone(chosen).set_params(**rest))
        check_seed(getattr(found[-1], "random_state", None))
    return found


def whole_weights(weights: Any, count: int) -> tuple[int, ...]:
    """Public weights of the settings as whole numbers."""
    if weights is None:
        return (1,) * count
    shares = [rational(weight, "weights") for weight in weights]
    if len(shares) != count or not all(share > 0 for share in shares):
        raise ValueError(f"weights must be {count} numbers greater than 0, one for each setting.")
    common = math.lcm(*(share.denominator for share in shares))
    return tuple(int(share * common) for share in shares)
