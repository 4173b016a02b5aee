"""The study of this document: what all of its experiments and tables are registered with."""

from __future__ import annotations

from pathlib import Path

from harness import Study

__all__ = ["STUDY"]

STUDY = Study(Path(__file__).parent)
