"""Orders: what can be asked on the pages. Each knows its price, its act, and how to write it elsewhere.

An order is one charge. The act is a call of the public library, and the Python and the command line that
stand beside it make the very same call.
"""

from __future__ import annotations

import hashlib
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

from discreet.cli.documents import write_result
from discreet.cli.outcome import CommandError
from discreet.dataset import PrivateDataset
from discreet.measures import ApproxDP, Measure, PureDP
from discreet.report.answers import describe_plan
from discreet.report.blocks import Section
from discreet.studio.desk import Desk
from discreet.studio.doors import ReleasePayer, guess_rows, open_empty
from discreet.unit import REPLACE_ONE

#: The most columns for which a page waits until all is planned.
MAX_AT_ONCE = 30

__all__ = ["CheckOrder", "DescribeOrder", "Order", "Outcome", "QuestionsOrder", "SelectOrder"]


@final
@dataclass(frozen=True)
class Outcome:
    """What a release gave: the document that goes on record, and files beside it."""

    document: str
    files: Mapping[str, bytes] = field(default_factory=dict)


class Order(ABC):
    """Something that can be released from the desk's table for one charge."""

    kind: ClassVar[str]
    #: What people call it.
    title: ClassVar[str]
    #: Whether it can take long, so that its time is found out first on made-up rows.
    is_long: ClassVar[bool] = False

    def __init__(self, desk: Desk, measure: PureDP | ApproxDP) -> None:
        self.desk, self.measure = desk, measure
        self._section: Section | None = None

    @property
    def price(self) -> Measure:
        """What will be charged."""
        return self.measure

    @property
    def allowance(self) -> Measure:
        """What a rehearsal may spend, with a ledger of its own: at least the price."""
        return self.price

    @property
    def rows(self) -> int | None:
        """The number of rows for which it is planned."""
        return guess_rows(self.desk, self.desk.unit())

    @abstractmethod
    def describe(self) -> str:
        """What is asked, in a line."""

    @final
    def plan(self) -> Section:
        """Price and expected error, worked out once; no row is read."""
        if self._section is None:
            self._section = self._describe_plan()
        return self._section

    @property
    def is_planned(self) -> bool:
        """Whether the plan was worked out."""
        return self._section is not None

    @final
    @property
    def is_late(self) -> bool:
        """Whether a page had better open without the plan: with hundreds of columns it can take seconds."""
        return not self.is_planned and len(self.desk.schema()) > MAX_AT_ONCE

    @abstractmethod
    def _describe_plan(self) -> Section:
        """What `plan` shows."""

    @abstractmethod
    def run(self, door: PrivateDataset, payer: ReleasePayer | None = None) -> Outcome:
        """Charge and answer; in a rehearsal nobody pays."""

    @abstractmethod
    def call(self) -> list[str]:
        """The lines of Python behind ``data = ...``."""

    @abstractmethod
    def options(self) -> list[str]:
        """The command and its options beside those for table, schema, ledger and budget."""

    def prepare(self) -> list[str]:
        """The lines of Python behind ``schema = ...``."""
        return []

    @property
    def seal(self) -> str:
        """What changes with anything that could change the answer or the charge."""
        facts = self.desk.schema().to_toml(self.desk.unit())
        whole = "\0".join((self.to_python(), facts, self.desk.path, self.desk.ledger_place))
        return hashlib.sha256(whole.encode()).hexdigest()

    def to_python(self) -> str:
        """The program that does the same."""
        desk = self.desk
        url = desk.ledger if "://" in desk.ledger else f"sqlite:///{desk.ledger}"
        account = "".join(f".account({name!r})" for name in filter(None, desk.account.split("/")))
        unit = desk.unit()
        rows = f", rows={self.rows}" if unit.relation is REPLACE_ONE else ""
        lines = [
            "import discreet as dp",
            "",
            f"schema = dp.Schema.read({desk.schema_file!r})",
            *self.prepare(),
            f"ledger = dp.Ledger({url!r}){account}",
            f"data = dp.PrivateDataset({desk.source!r}, schema, ledger=ledger{rows})",
            *self.call(),
        ]
        return "\n".join(lines) + "\n"

    def to_command(self) -> str:
        """The command that does the same."""
        desk = self.desk
        words = ["discreet", *self.options()]
        words += ["--data", desk.source, "--schema", desk.schema_file, "--ledger", desk.ledger]
        words += ["--account", desk.account] if desk.account else []
        words += ["--epsilon", _write(self.measure.epsilon)]
        if isinstance(self.measure, ApproxDP) and self.measure.delta:
            words += ["--delta", _write(self.measure.delta)]
        return shlex.join(words)

    def write_measure(self) -> str:
        """The budget in Python."""
        epsilon = _write(self.measure.epsilon)
        if isinstance(self.measure, ApproxDP) and self.measure.delta:
            return f"dp.ApproxDP({epsilon}, {_write(self.measure.delta)})"
        return f"dp.PureDP({epsilon})"

    def write_rows(self) -> str:
        """The number of rows in Python."""
        return "" if self.rows is None else f", rows={self.rows}"

    def row_options(self) -> list[str]:
        """The number of rows on the command line."""
        return [] if self.rows is None else ["--rows", str(self.rows)]


def _write(value: Any) -> str:
    """A number as a literal that means exactly it."""
    exact = Fraction(value)
    short = str(int(exact)) if exact.denominator == 1 else repr(float(exact))
    return short if Fraction(short) == exact else repr(str(exact))


@final
class QuestionsOrder(Order):
    """Several questions, answered from one charge."""

    kind = "questions"
    title = "questions"

    def __init__(self, desk: Desk, measure: PureDP | ApproxDP) -> None:
        super().__init__(desk, measure)
        self.questions = desk.questions()
        if not self.questions.asked:
            raise CommandError("ask something first: there is no question yet.")

    def describe(self) -> str:
        return "; ".join(one.name for one in self.questions.asked)

    @property
    def is_planned(self) -> bool:
        return "answers_plan" in vars(self)  # the page Ask needs no more of it

    def _describe_plan(self) -> Section:
        return describe_plan(self.answers_plan, "")

    @cached_property
    def answers_plan(self) -> Any:
        """How the budget is split, and the expected errors."""
        return self.questions.plan(open_empty(self.desk), self.measure, self.rows)

    def run(self, door: PrivateDataset, payer: ReleasePayer | None = None) -> Outcome:
        return Outcome(write_result(self.questions.release(door, self.measure, self.rows)))

    def prepare(self) -> list[str]:
        return self.questions.to_python()[0]

    def call(self) -> list[str]:
        asked = f"data.release_all(questions, {self.write_measure()}, weights{self.write_rows()})"
        return [*self.questions.to_python()[1], f"answers = {asked}", "print(answers)"]

    def options(self) -> list[str]:
        return ["query", "--questions", self.desk.questions_file, *self.row_options()]


@final
class SelectOrder(Order):
    """One SELECT."""

    kind = "select"
    title = "a SELECT"

    def __init__(self, desk: Desk, measure: PureDP | ApproxDP, text: str) -> None:
        super().__init__(desk, measure)
        self.text = text
        if not text:
            raise CommandError("write a SELECT first, such as SELECT COUNT(*) FROM visits.")

    def describe(self) -> str:
        return " ".join(self.text.split())

    def _describe_plan(self) -> Section:
        door = open_empty(self.desk)
        return describe_plan(door.plan_sql(self.text, self.measure, rows=self.rows), "")

    def run(self, door: PrivateDataset, payer: ReleasePayer | None = None) -> Outcome:
        return Outcome(write_result(door.sql(self.text, self.measure)))

    def call(self) -> list[str]:
        return [f"answers = data.sql({self.text!r}, {self.write_measure()})", "print(answers)"]

    def options(self) -> list[str]:
        return ["query", "--sql", self.text]


@final
class CheckOrder(Order):
    """Whether the table is as declared."""

    kind = "check"
    title = "a check of the declared facts"

    def describe(self) -> str:
        return (
            "Is the table as declared? Cells outside of bounds, unknown categories, missing cells."
        )

    def _describe_plan(self) -> Section:
        from discreet.queries import Check

        return describe_plan(open_empty(self.desk).plan(Check(), self.measure, rows=self.rows), "")

    def run(self, door: PrivateDataset, payer: ReleasePayer | None = None) -> Outcome:
        return Outcome(write_result(door.check(self.measure)))

    def call(self) -> list[str]:
        return [f"answers = data.check({self.write_measure()})", "print(answers)"]

    def options(self) -> list[str]:
        return ["check"]


@final
class DescribeOrder(Order):
    """All columns for one charge."""

    kind = "describe"
    title = "a description of all columns"

    def describe(self) -> str:
        return "All columns: rows, means, deviations, quartiles, counts of categories."

    def _describe_plan(self) -> Section:
        from discreet.answers.description import list_questions

        door = open_empty(self.desk)
        plan = door.plan_all(list_questions(door.schema), self.measure, rows=self.rows)
        return describe_plan(plan, "")

    def run(self, door: PrivateDataset, payer: ReleasePayer | None = None) -> Outcome:
        return Outcome(write_result(door.describe(self.measure, rows=self.rows)))

    def call(self) -> list[str]:
        asked = f"data.describe({self.write_measure()}{self.write_rows()})"
        return [f"answers = {asked}", "print(answers)"]

    def options(self) -> list[str]:
        return ["describe", *self.row_options()]
