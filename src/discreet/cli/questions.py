"""Questions as options of a command: the flags, and the queries they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.outcome import CommandError

if TYPE_CHECKING:
    from discreet.cli.questionnaire import Questionnaire
    from discreet.dataset import PrivateDataset
    from discreet.measures import Measure
    from discreet.queries import Query
    from discreet.schema import Schema

__all__ = ["PART", "Questions", "build_query", "derive_part", "read_questions"]

Names = list[str] | None
CountFlag = Annotated[bool, typer.Option("--count", help="How many rows.")]
People = Annotated[bool, typer.Option("--people", help="How many persons (needs an id column).")]
Sum = Annotated[Names, typer.Option("--sum", metavar="COLUMN", help="The sum of a column.")]
Mean = Annotated[Names, typer.Option("--mean", metavar="COLUMN", help="The mean of a column.")]
Variance = Annotated[Names, typer.Option("--variance", metavar="COLUMN", help="Its variance.")]
Median = Annotated[Names, typer.Option("--median", metavar="COLUMN", help="Its median.")]
Quantile = Annotated[
    Names,
    typer.Option(
        "--quantile", metavar="COLUMN:P", help="Quantiles, as in cost:0.9 or cost:0.1,0.9."
    ),
]
Histogram = Annotated[
    Names,
    typer.Option("--histogram", metavar="COLUMN[,COLUMN]", help="Counts of all declared values."),
]
By = Annotated[
    Names,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Answer for each declared value of a column, or of year(day), quarter(day), month(day), "
        "weekday(day); give it again for more.",
    ),
]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="CONDITION", help="As in SQL: \"age >= 18 AND ward = 'icu'\"."),
]
File = Annotated[
    str | None,
    typer.Option(
        "--questions",
        metavar="FILE",
        help="Questions of a file that `discreet studio` wrote, instead of the options above.",
    ),
]
Sql = Annotated[
    str | None,
    typer.Option("--sql", metavar="SELECT", help="One SELECT instead of the options above."),
]

#: A part of a date, as in ``month(day)``.
PART = re.compile(r"(year|quarter|month|weekday)\((.+)\)", re.IGNORECASE)


@dataclass(frozen=True)
class Questions:
    """What the options of a command ask.

    Attributes
    ----------
    asked : tuple of pairs
        The name of each question and its words: kind, column, and for quantiles the ranks.
    by : tuple of str
        Columns, or parts of dates such as ``month(day)``.
    where, sql : str or None
    """

    asked: tuple[tuple[str, tuple[str, ...]], ...]
    by: tuple[str, ...]
    where: str | None
    sql: str | None

    def release(self, data: PrivateDataset, measure: Measure, rows: int | None) -> Any:
        """The noised answers, paid with one charge."""
        if self.sql is not None:
            return data.sql(self.sql, measure)
        schema, queries = self._build(data.schema)
        door = data if schema is data.schema else data.with_schema(schema)
        if len(queries) == 1:
            return door.release(next(iter(queries.values())), measure)
        return door.release_all(queries, measure, rows=rows)

    def plan(self, data: PrivateDataset, measure: Measure, rows: int | None) -> Any:
        """What the answers would cost, and how noisy they would be."""
        if self.sql is not None:
            return data.plan_sql(self.sql, measure, rows=rows)
        schema, queries = self._build(data.schema)
        door = data if schema is data.schema else data.with_schema(schema)
        if len(queries) == 1:
            return door.plan(next(iter(queries.values())), measure, rows=rows)
        return door.plan_all(queries, measure, rows=rows)

    def _build(self, schema: Schema) -> tuple[Schema, dict[str, Query]]:
        """The queries, and the schema with what they derive."""
        by = []
        for name in self.by:
            schema, found = derive_part(schema, name)
            by.append(found)
        where = None
        if self.where is not None:
            from discreet.sql import read_where

            where, schema = read_where(self.where, schema)
        queries = {name: build_query(words, by, where) for name, words in self.asked}
        return schema, queries


def derive_part(schema: Schema, name: str) -> tuple[Schema, str]:
    """The column that --by names; a part of a date is derived."""
    part = PART.fullmatch(name.strip())
    if "," in name and name not in schema:
        apart = " ".join(f"--by {one.strip()}" for one in name.split(","))
        raise CommandError(f"--by names one column: give it again for more, as in {apart}.")
    if part is None or name in schema:
        return schema, name
    from discreet.columns import Month, Quarter, Weekday, Year

    kind: Any = {"year": Year, "quarter": Quarter, "month": Month, "weekday": Weekday}[
        part[1].lower()
    ]
    if name not in schema:
        schema = schema.derive(**{name: kind(part[2].strip())})
    return schema, name


def build_query(words: tuple[str, ...], by: list[str], where: Any) -> Query:
    """The query that the words of a question stand for."""
    from discreet import queries

    kind, *columns = words
    options: dict[str, Any] = {"by": by or None, "where": where}
    match kind:
        case "count":
            return queries.Count(**options)
        case "people":
            return queries.CountPeople(**options)
        case "quantile":
            name, *ranks = columns
            return queries.Quantile(name, ranks[0] if len(ranks) == 1 else ranks, **options)
        case "histogram":
            return queries.Count(by=[*by, *columns], where=where)
    build: Any = getattr(queries, kind.capitalize())
    query: Query = build(columns[0], **options)
    return query


def read_questions(
    count: bool,
    people: bool,
    sum_: Names,
    mean: Names,
    variance: Names,
    median: Names,
    quantile: Names,
    histogram: Names,
    by: Names,
    where: str | None,
    sql: str | None,
    file: str | None = None,
) -> Questions | Questionnaire:
    """What was asked; raises if nothing was, or two things that don't go together."""
    asked: list[tuple[str, ...]] = []
    asked += [("count",)] * count + [("people",)] * people
    for kind, names in (("sum", sum_), ("mean", mean), ("variance", variance), ("median", median)):
        asked += [(kind, name) for name in names or []]
    asked += [("quantile", *_split_ranks(text)) for text in quantile or []]
    asked += [("histogram", *_split_names(text)) for text in histogram or []]
    if file is not None:
        if asked or by or where is not None or sql is not None:
            raise CommandError(
                "--questions says everything itself: leave the other questions, --by, --where and --sql out."
            )
        from discreet.cli.questionnaire import Questionnaire

        return Questionnaire.read(file)
    if sql is not None:
        if asked or by or where is not None:
            raise CommandError(
                "--sql says everything itself: leave the other questions, --by and --where out."
            )
    elif not asked:
        raise CommandError(
            'ask something: --count, --mean COLUMN, --sql "SELECT ..." and others in --help.'
        )
    named = tuple((" ".join(words), words) for words in dict.fromkeys(asked))
    return Questions(named, tuple(dict.fromkeys(by or [])), where, sql)


def _split_ranks(text: str) -> list[str]:
    name, sign, ranks = text.rpartition(":")
    listed = [rank.strip() for rank in ranks.split(",")]
    try:
        good = bool(sign and name) and all(0 < float(rank) < 1 for rank in listed)
    except ValueError:
        good = False
    if not good:
        raise CommandError(
            "--quantile must be COLUMN:P with P between 0 and 1, as in cost:0.9 or cost:0.25,0.5,0.75."
        )
    return [name.strip(), *listed]


def _split_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise CommandError("--histogram must name columns, as in ward or ward,sex.")
    return names
