"""Pictures that explain before anything is paid: two answers that overlap, errors on a made-up example."""

from __future__ import annotations

import math
from typing import Any

from discreet.answers import AnswersPlan
from discreet.answers.several import Question, plan_questions
from discreet.cli.questionnaire import Asked
from discreet.columns import Integer, Numeric
from discreet.measures import ApproxDP, PureDP
from discreet.queries import Count
from discreet.report.blocks import Chart, Series
from discreet.schema import Schema
from discreet.show import Table
from discreet.unit import Unit

__all__ = ["draw_example", "draw_two_answers", "find_count_error", "tell_error_of"]

#: How many groups an example draws.
MAX_DRAWN = 12
#: How many standard errors the bars of an example reach to either side.
WIDTH = 2
_POINTS = 61
_CENTRES = (100.0, 101.0)


def find_count_error(measure: PureDP | ApproxDP) -> float:
    """The standard deviation of the noise on a count of rows, one for each person."""
    schema = Schema(x=Integer(0, 1))
    plan = plan_questions({"count": Count()}, measure, schema, Unit())
    return float(plan.questions[0].stderr)


def draw_two_answers(measure: PureDP | ApproxDP) -> Chart:
    """A noised count with a certain person and without: where both curves overlap, nobody can tell."""
    spread = find_count_error(measure)
    reach = max(4.0, 3.0 * spread)
    even = [100.5 + reach * (2 * at / (_POINTS - 1) - 1) for at in range(_POINTS)]
    places = sorted({*even, *_CENTRES})  # with both peaks
    bodies = [
        tuple(_density(place - centre, spread, measure) for place in places) for centre in _CENTRES
    ]
    names = ("without the person", "with the person")
    series = tuple(
        Series(name, tuple(places), body, has_marks=False)
        for name, body in zip(names, bodies, strict=True)
    )
    rows = list(zip(places[::6], *(body[::6] for body in bodies), strict=True))
    return Chart(
        "lines",
        "A count that is 100 without a person and 101 with her",
        f"Two curves of what may be answered, ± {spread:.3g}; they overlap: whoever sees an answer can "
        "hardly tell from which of them it comes.",
        Table(("answer", *names), rows),
        series,
        "what is answered",
        "how likely",
    )


def _density(distance: float, spread: float, measure: PureDP | ApproxDP) -> float:
    if isinstance(measure, PureDP):  # Laplace, whose standard deviation is √2 times its scale
        scale = spread / math.sqrt(2)
        return math.exp(-abs(distance) / scale) / (2 * scale)
    return math.exp(-((distance / spread) ** 2) / 2) / (spread * math.sqrt(2 * math.pi))


def tell_error_of(question: Question, rows: int | None) -> str:
    """The expected error of a question in words."""
    if question.stderr is None:
        if rows is None or not math.isfinite(question.relative):
            return "depends on the number of rows"
        return f"within about ± {max(1.0, question.relative * rows):,.0f} ranks"
    errors = _flatten(question.stderr)
    least, largest = min(errors), max(errors)
    if largest - least < 0.01 * largest:
        return f"± {largest:.3g}"
    return f"± {least:.3g} to {largest:.3g}"


def _flatten(value: Any) -> list[float]:
    found = value.reshape(-1).tolist() if hasattr(value, "reshape") else [value]
    return [float(one) for one in found] or [0.0]


def draw_example(
    asked: Asked, question: Question, plan: AnswersPlan, schema: Schema, rows: int | None
) -> Chart | None:
    """Made-up answers with the error bars that the real ones will have; None where none is known."""
    labels = question.query.labels(schema) if question.query.by else [question.name]
    middle, width = _guess_answer(asked, schema, rows, len(labels))
    if question.stderr is None:
        errors = [question.relative * width] * len(labels)
    else:
        errors = _flatten(question.stderr)[: len(labels)]
    if not labels or len(errors) < len(labels) or not all(map(math.isfinite, errors)):
        return None
    drawn = labels[:MAX_DRAWN]
    names = [", ".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in drawn]
    if len(set(names)) < len(names):
        return None
    values = [middle + 0.3 * width * _wobble(at) for at in range(len(drawn))]
    ends = [
        tuple(value + sign * WIDTH * error for value, error in zip(values, errors, strict=False))
        for sign in (-1, 1)
    ]
    more = f", {len(drawn)} of {len(labels)} groups" if len(labels) > len(drawn) else ""
    table = Table(
        ("group", "made up", "lower", "upper"), list(zip(names, values, *ends, strict=True))
    )
    kind = "bars" if asked.kind in ("count", "people", "histogram", "sum") else "dots"
    return Chart(
        kind,  # type: ignore[arg-type]
        f"Made-up answers with the error to expect{more}",
        "Made-up answers with bars of two expected errors to either side; nothing of it is data.",
        table,
        (Series("made up, ± 2 standard errors", tuple(names), tuple(values), ends[0], ends[1]),),
        "",
        "made up",
        "names",
    )


def _guess_answer(
    asked: Asked, schema: Schema, rows: int | None, groups: int
) -> tuple[float, float]:
    """An answer that public facts allow, and how far answers may be apart."""
    count = (1000 if rows is None else rows) / max(1, groups)
    column = schema.get(asked.column)
    if asked.kind in ("count", "people", "histogram") or not isinstance(column, Numeric):
        return count, count
    middle, width = (float(column.lower) + float(column.upper)) / 2, column.width
    if asked.kind == "sum":
        return middle * count, width * count / 2
    if asked.kind == "variance":
        return width**2 / 12, width**2 / 12
    return middle, width


def _wobble(at: int) -> float:
    """Numbers between -1 and 1 that look different from each other, always the same."""
    return 2 * ((at * 0.618034 + 0.3) % 1.0) - 1
