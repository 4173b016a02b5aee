"""The study of this document: what all of its experiments and tables are registered with."""

from __future__ import annotations

from pathlib import Path

from harness import Study

__all__ = ["EPSILONS", "STUDY"]

STUDY = Study(Path(__file__).parent)
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
