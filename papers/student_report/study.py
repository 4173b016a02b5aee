"""The study of this document: what all of its experiments and tables are registered with."""

from __future__ import annotations

from pathlib import Path

from harness import Study

__all__ = ["EPSILONS", "STUDY", "show"]

STUDY = Study(Path(__file__).parent)
#: The report's budgets for naive Bayes and the line.
EPSILONS = (0.1, 0.5, 1.0, 10.0)


def show(value: float) -> str:
    return format(value, "g")
