"""The kinds of column that a schema declares, and the integer codes they stand for."""

from discreet.columns.base import (
    MOST_CELLS,
    Categorical,
    Column,
    Integer,
    Numeric,
    Real,
    column_name,
    is_unicode,
)
from discreet.columns.derived import Bins, Nearest, Score
from discreet.columns.files import base_column_from_dict, derived_column_from_dict

__all__ = [
    "MOST_CELLS",
    "Bins",
    "Categorical",
    "Column",
    "Integer",
    "Nearest",
    "Numeric",
    "Real",
    "Score",
    "base_column_from_dict",
    "column_name",
    "derived_column_from_dict",
    "is_unicode",
]
