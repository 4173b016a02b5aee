"""Questions in SQL: a small part of the language, translated into queries. No text ever reaches an engine."""

from discreet.sql.door import AsksSql
from discreet.sql.reading import SqlError
from discreet.sql.statements import Statement, read_statement
from discreet.sql.table import SqlPlan, SqlTable
from discreet.sql.where import read_where

__all__ = [
    "AsksSql",
    "SqlError",
    "SqlPlan",
    "SqlTable",
    "Statement",
    "read_statement",
    "read_where",
]
