"""Questions in a file: what ``query --questions FILE`` asks, and what the studio keeps of a person's choices.

Unlike options, each question has its own groups, condition and weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.cli.outcome import CommandError
from discreet.cli.questions import build_query, derive_part

if TYPE_CHECKING:
    from discreet.dataset import PrivateDataset
    from discreet.measures import Measure
    from discreet.queries import Query
    from discreet.schema import Schema

__all__ = ["KINDS", "Asked", "Questionnaire"]

#: What can be asked, and whether a column is needed for it.
KINDS = {
    "count": False,
    "people": False,
    "mean": True,
    "sum": True,
    "median": True,
    "quantile": True,
    "variance": True,
    "histogram": True,
}
_CLASSES = {"count": "Count", "people": "CountPeople", "histogram": "Count"}
#: Larger files are not read as questions.
MAX_BYTES = 2**20


@final
@dataclass(frozen=True)
class Asked:
    """One question.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    column : str
        What it is about; empty for counts.
    ranks : tuple of str
        Of quantiles, as numbers between 0 and 1 were typed.
    by : tuple of str
        Columns, or parts of dates such as ``month(day)``.
    where : str
        A condition of SQL; may be empty.
    weight : str
        How much the question matters, as a number was typed.
    """

    kind: str
    column: str = ""
    ranks: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    where: str = ""
    weight: str = "1"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise CommandError(f"a question must be one of {', '.join(KINDS)}, not {self.kind!r}.")
        if KINDS[self.kind] != bool(self.column):
            needed = "needs a column" if KINDS[self.kind] else "has no column"
            raise CommandError(f"a question of kind {self.kind!r} {needed}.")
        if (self.kind == "quantile") != bool(self.ranks):
            raise CommandError("a quantile, and nothing else, needs ranks such as 0.5.")
        if not all(_is_between(rank) for rank in self.ranks):
            raise CommandError("ranks must be numbers between 0 and 1, such as 0.25, 0.5, 0.75.")
        try:
            good = 0 < Fraction(self.weight) <= 1000
        except (ValueError, ZeroDivisionError):
            good = False
        if not good:
            raise CommandError("a weight must be a number above 0 and at most 1000, such as 1.")

    @property
    def name(self) -> str:
        """The question in words, which tell it from the others."""
        what = " ".join(filter(None, (self.kind, *self.ranks, self.column)))
        groups = f" by {', '.join(self.by)}" if self.by else ""
        return what + groups + (f" where {self.where}" if self.where else "")

    @property
    def words(self) -> tuple[str, ...]:
        """Kind, column and ranks."""
        return tuple(filter(None, (self.kind, self.column, *self.ranks)))

    def to_python(self, where: str) -> str:
        """The query as it is written in Python; `where` is how the condition is called there."""
        by = [*self.by, self.column] if self.kind == "histogram" else list(self.by)
        arguments = [] if self.kind in _CLASSES else [repr(self.column)]
        if self.ranks:
            ranks = [str(rank) for rank in self.ranks]
            arguments.append(repr(ranks[0] if len(ranks) == 1 else ranks))
        arguments += [f"by={by!r}"] if by else []
        arguments += [f"where={where}"] if where else []
        return f"dp.{_CLASSES.get(self.kind, self.kind.capitalize())}({', '.join(arguments)})"


def _is_between(rank: str) -> bool:
    try:
        return 0 < Fraction(rank) < 1
    except (ValueError, ZeroDivisionError):
        return False


@final
@dataclass(frozen=True)
class Questionnaire:
    """Questions that are answered from one charge, split among them by their weights."""

    asked: tuple[Asked, ...] = ()

    def __post_init__(self) -> None:
        names = [one.name for one in self.asked]
        if len(set(names)) < len(names):
            raise CommandError("the same question is asked twice: ask it once.")

    @classmethod
    def read(cls, path: str | Path) -> Questionnaire:
        """The questions of a file."""
        try:
            with open(path, encoding="utf-8-sig") as file:
                text = file.read(MAX_BYTES + 1)
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(
                f"--questions: {str(path)!r} can't be read ({type(error).__name__}): give a file that the "
                "studio wrote."
            ) from None
        return cls.from_json(text)

    @classmethod
    def from_json(cls, text: str) -> Questionnaire:
        """The inverse of `to_json`."""
        from discreet.show import read_document

        try:
            with read_document(text, "questions", 1) as body:
                return cls(tuple(_read_one(one) for one in body["questions"]))
        except ValueError as error:
            raise CommandError(f"--questions: {error}") from None

    def to_json(self) -> str:
        """The questions as the text of a file."""
        from discreet.show import write_document

        return write_document("questions", 1, {"questions": [asdict(one) for one in self.asked]})

    @property
    def weights(self) -> dict[str, Fraction]:
        """How much each question matters, by its name."""
        return {one.name: Fraction(one.weight) for one in self.asked}

    def build(self, schema: Schema) -> tuple[Schema, dict[str, Query]]:
        """The queries by their names, and the schema with what they derive."""
        from discreet.sql import read_where

        if not self.asked:
            raise CommandError("ask something: there is no question yet.")
        queries = {}
        for one in self.asked:
            for name in one.by:
                schema, _ = derive_part(schema, name)
            where = None
            if one.where:
                where, schema = read_where(one.where, schema)
            queries[one.name] = build_query(one.words, list(one.by), where)
        return schema, queries

    def plan(self, data: PrivateDataset, measure: Measure, rows: int | None) -> Any:
        """What the answers would cost, and how noisy they would be."""
        schema, queries = self.build(data.schema)
        return data.with_schema(schema).plan_all(queries, measure, self.weights, rows=rows)

    def release(self, data: PrivateDataset, measure: Measure, rows: int | None) -> Any:
        """The noised answers, paid with one charge."""
        schema, queries = self.build(data.schema)
        return data.with_schema(schema).release_all(queries, measure, self.weights, rows=rows)

    def to_python(self) -> tuple[list[str], list[str]]:
        """Lines of Python: what is derived from the schema, and the questions with their weights."""
        before: list[str] = []
        listed: list[str] = []
        for at, one in enumerate(self.asked, 1):
            before += filter(None, (_derive_in_python(name) for name in one.by))
            if one.where:
                before.append(f"where_{at}, schema = read_where({one.where!r}, schema)")
            query = one.to_python(f"where_{at}" if one.where else "")
            listed.append(f"    {one.name!r}: {query},")
        weights = {one.name: one.weight for one in self.asked}
        lines = ["questions = {", *listed, "}", f"weights = {weights!r}"]
        if any(one.where for one in self.asked):
            before.insert(0, "from discreet.sql import read_where")
        return list(dict.fromkeys(before)), lines


def _derive_in_python(name: str) -> str:
    from discreet.cli.questions import PART

    part = PART.fullmatch(name.strip())
    if part is None:
        return ""
    kind = f"dp.{part[1].capitalize()}({part[2].strip()!r})"
    return f"schema = schema.derive(**{{{name!r}: {kind}}})"


def _read_one(body: Mapping[str, Any]) -> Asked:
    texts = {key: str(body.get(key, "")) for key in ("kind", "column", "where")}
    ranks, by = (tuple(map(str, body.get(key, ()))) for key in ("ranks", "by"))
    return Asked(**texts, ranks=ranks, by=by, weight=str(body.get("weight", "1")))
