"""Who adds it up: every engine returns the same integers."""

from discreet.coding import Engine
from discreet.engines.open import open_engine
from discreet.engines.urls import conceal

__all__ = ["Engine", "conceal", "open_engine"]
