"""The kinds of column that a schema declares, and the integer codes they stand for."""

from discreet.columns.base import (
    MAX_CELLS,
    RUNGS,
    Categorical,
    Column,
    Integer,
    Numeric,
    Real,
    Text,
    Unbounded,
    column_name,
    numeric_column,
)
from discreet.columns.clamped import Clamped
from discreet.columns.dates import CalendarColumn, Date, Month, Quarter, Weekday, Year
from discreet.columns.derived import Bins, Nearest, Score
from discreet.columns.files import Base, Derived, base_column_from_dict, derived_column_from_dict
from discreet.columns.scales import Logarithmic
from discreet.columns.trees import Parts, Split, Tree

__all__ = [
    "MAX_CELLS",
    "RUNGS",
    "Base",
    "Bins",
    "CalendarColumn",
    "Categorical",
    "Clamped",
    "Column",
    "Date",
    "Derived",
    "Integer",
    "Logarithmic",
    "Month",
    "Nearest",
    "Numeric",
    "Parts",
    "Quarter",
    "Real",
    "Score",
    "Split",
    "Text",
    "Tree",
    "Unbounded",
    "Weekday",
    "Year",
    "base_column_from_dict",
    "column_name",
    "derived_column_from_dict",
    "numeric_column",
]
