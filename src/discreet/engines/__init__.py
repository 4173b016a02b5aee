"""Who adds it up: every engine returns the same integers."""

from discreet.engines.base import Engine
from discreet.engines.open import open_engine

__all__ = ["Engine", "open_engine"]
