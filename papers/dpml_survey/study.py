"""The study of this document: what all of its experiments and tables are registered with."""

from __future__ import annotations

from pathlib import Path

from harness import Study

__all__ = ["DELTA", "EPSILONS", "STUDY"]

STUDY = Study(Path(__file__).parent)
EPSILONS = (0.1, 1.0, 10.0)
DELTA = 1e-6
