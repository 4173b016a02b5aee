"""Seeds of public draws, such as trees, directions and starts: checked before anything is charged."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from discreet.rational import as_integer

__all__ = ["check_seed", "legacy_generator", "random_generator"]

#: Whole numbers below this are seeds of both kinds of NumPy's generators.
SEEDS = 2**32


def check_seed(state: Any) -> None:
    """Raise unless generators can be made of it: None, a whole number, or a generator of NumPy's."""
    if state is None or isinstance(state, np.random.Generator | np.random.RandomState):
        return
    if as_integer(state, "random_state", minimum=0) >= SEEDS:
        raise ValueError(f"random_state must be below 2^32, got {state}.")


def random_generator(state: Any) -> np.random.Generator:
    """The generator of what is public; everybody may know its seed."""
    check_seed(state)
    if isinstance(state, np.random.Generator):
        return state
    if isinstance(state, np.random.RandomState):
        return np.random.default_rng(state.randint(2**31))
    return np.random.default_rng(state)


def legacy_generator(state: Any) -> np.random.RandomState:
    """The same as NumPy's older kind of generator, of whose draws published seeds speak."""
    check_seed(state)
    if isinstance(state, np.random.Generator):
        return np.random.RandomState(int(state.integers(2**31)))
    found: np.random.RandomState = check_random_state(state)
    return found
