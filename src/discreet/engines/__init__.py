"""Who adds it up: every engine returns the same integers."""

from discreet.coding import Engine
from discreet.engines.open import open_engine

__all__ = ["Engine", "open_engine"]
