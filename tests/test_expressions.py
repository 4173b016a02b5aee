"""The small language of conditions, as text and with `dp.col`."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.coding.chunks import Chunk
from discreet.engines.arrays import Arrays
from discreet.expressions import parse
from discreet.schema import UnknownColumn

SCHEMA = dp.Schema(
    {
        "age": dp.Real(17, 90),
        "hours": dp.Integer(0, 99),
        "wide": dp.Integer(0, 10**9),
        "sex": dp.Categorical("F", "M"),
        "flag": dp.Categorical(True, False),
        "level": dp.Categorical(1, 2.5, 3),
        "education-num": dp.Integer(1, 16),
    }
).derive(
    band=dp.Bins("age", [30, 60]),
    near=dp.Nearest("hours", [(0,), (50,)]),
    points=dp.Score({"sex": [0, 1]}, link=[-5, 10]),
)
draw = random.Random(0)
N = 400
TABLE: dict[str, list[Any]] = {
    "age": [draw.choice([17.0, 40.0, 90.0, draw.uniform(10, 95)]) for _ in range(N)],
    "hours": [draw.randrange(-5, 110) for _ in range(N)],
    "wide": [draw.randrange(10**9) for _ in range(N)],
    "sex": [draw.choice("FM") for _ in range(N)],
    "flag": [draw.choice([True, False]) for _ in range(N)],
    "level": [draw.choice([1, 2.5, 3]) for _ in range(N)],
    "education-num": [draw.randrange(1, 17) for _ in range(N)],
}


def holds(expression: Any) -> list[bool]:
    chunk = Chunk(Arrays(TABLE)._columns)
    built = parse(expression) if isinstance(expression, str) else expression
    return chunk.holds(built.condition(SCHEMA)).tolist()


def clamp(name: str) -> Any:
    column = SCHEMA[name]
    return np.clip(np.array(TABLE[name], float), column.lower, column.upper)  # type: ignore[attr-defined]


AGE, HOURS = clamp("age"), clamp("hours")
SEX = np.array(TABLE["sex"])
c = dp.col
PAIRS: list[tuple[str, Any, Any]] = [
    ("age >= 40", c("age") >= 40, AGE >= 40),
    ("age < 40", c("age") < 40, AGE < 40),
    ("age > 90", c("age") > 90, AGE > 90),
    ("age >= 90", c("age") >= 90, AGE >= 90),
    ("age > 1000", c("age") > 1000, AGE > 1000),
    ("age <= 1e300", c("age") <= 1e300, AGE < 1000),
    ("age >= -5", c("age") >= -5, AGE > -5),
    ("age < 17", c("age") < 17, AGE < 17),
    ("hours == 40", c("hours") == 40, HOURS == 40),
    ("hours != 40", c("hours") != 40, HOURS != 40),
    ("hours == 40.5", c("hours") == 40.5, HOURS == 40.5),
    ("hours != 40.5", c("hours") != 40.5, HOURS != 40.5),
    ("hours < 40.5", c("hours") < 40.5, HOURS < 40.5),
    ("hours <= 40.5", c("hours") <= Fraction(81, 2), HOURS <= 40.5),
    ("hours > 40.5", c("hours") > 40.5, HOURS > 40.5),
    ("hours >= 40.5", c("hours") >= np.float32(40.5), HOURS >= 40.5),
    ("hours >= 99", c("hours") >= np.int64(99), HOURS >= 99),
    ("hours > 99", c("hours") > 99, HOURS > 99),
    ("hours < 0", c("hours") < 0, HOURS < 0),
    ("hours <= 0", c("hours") <= 0, HOURS <= 0),
    ("hours > -1", c("hours") > -1, HOURS > -1),
    ("hours == -1", c("hours") == -1, HOURS == -1),
    ("hours < " + "9" * 400, c("hours") < 10**400, HOURS < 1000),
    ("20 <= hours < 40", (c("hours") >= 20) & (c("hours") < 40), (HOURS >= 20) & (HOURS < 40)),
    ("40 > hours", c("hours") < 40, HOURS < 40),
    ("20 <= hours <= 40", c("hours").between(20, 40), (HOURS >= 20) & (HOURS <= 40)),
    ("hours in (1, 20, 20.5)", c("hours").is_in([1, 20, 20.5]), np.isin(HOURS, [1, 20])),
    ("hours not in [1, 20]", ~c("hours").is_in((1, 20)), ~np.isin(HOURS, [1, 20])),
    ("hours in []", c("hours").is_in([]), HOURS < -1),
    ("sex == 'F'", c("sex") == "F", SEX == "F"),
    ("sex != 'F'", c("sex") != "F", SEX != "F"),
    ("'F' == sex", c("sex") == "F", SEX == "F"),
    ("sex in {'F', 'M'}", c("sex").is_in(["F", "M"]), SEX != ""),
    ("sex in []", c("sex").is_in([]), SEX == ""),
    ("flag == True", c("flag") == True, np.array(TABLE["flag"])),  # noqa: E712
    ("level == 2.5", c("level") == 2.5, np.array(TABLE["level"]) == 2.5),
    ("col('education-num') > 9", c("education-num") > 9, np.array(TABLE["education-num"]) > 9),
    ("band == '[30, 60)'", c("band") == "[30, 60)", (AGE >= 30) & (AGE < 60)),
    ("near == 1", c("near") == 1, HOURS > 25),
    ("points > 0", c("points") > 0, SEX == "M"),
    ("points == -5", c("points") == -5, SEX == "F"),
    ("not age >= 40", ~(c("age") >= 40), AGE < 40),
    (
        "age >= 40 or hours < 20 and sex == 'F'",
        (c("age") >= 40) | ((c("hours") < 20) & (c("sex") == "F")),
        (AGE >= 40) | ((HOURS < 20) & (SEX == "F")),
    ),
    (
        "(age >= 40 or hours < 20) and not sex == 'F'",
        ((c("age") >= 40) | (c("hours") < 20)) & ~(c("sex") == "F"),
        ((AGE >= 40) | (HOURS < 20)) & (SEX != "F"),
    ),
    (
        "\n age >= 40 \n",
        c("age") >= 40,
        AGE >= 40,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expression", "wanted"), PAIRS, ids=[p[0][:40] for p in PAIRS])
def test_text_and_expressions_agree(text: str, expression: Any, wanted: Any) -> None:
    assert holds(text) == holds(expression) == wanted.tolist()
    assert holds(str(expression)) == wanted.tolist()  # what is printed can be read again


REFUSED: list[tuple[str, str]] = [
    ("age > mean(age)", "not part of the language"),
    ("age > hours", "column on one side and a constant on the other"),
    ("3 > 2", "column on one side and a constant on the other"),
    ("age + 1 > 3", "column on one side"),
    ("age > 1 + 2", "not part of the language"),
    ("1 / age > 3", "column on one side"),
    ("abs(age) > 3", "column on one side"),
    ("age.real > 3", "column on one side"),
    ("age", "not part of the language"),
    ("age > 3 if sex == 'F' else age < 3", "not part of the language"),
    ("lambda: 1", "not part of the language"),
    ("[age > 3]", "not part of the language"),
    ("age is 3", "not part of the language"),
    ("'F' in sex", "not part of the language"),
    ("sex in 'FM'", "as a list"),
    ("age > None", "not part of the language"),
    ("age > b'3'", "not part of the language"),
    ("age >", "can't read"),
    ("", "can't read"),
    ("age > 3; age", "can't read"),
    ("age > '\0'", "can't read"),
    ("(" * 500 + "age > 3" + ")" * 500, "can't read"),
    ("(age := 3) > 3", "column on one side"),
    ("col(sex) == 'F'", "column on one side"),
    ("f'{age}' == sex", "not part of the language"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_no_part_of_the_language(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dp.Count(where=text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sex == 'X'", r"'X' is not a category of column 'sex', which has 'F', 'M'"),
        ("sex in ['F', 'X']", "'X' is not a category"),
        ("sex == 1", "1 is not a category"),
        ("sex > 'F'", "column 'sex' has categories, so use ==, != or in, not >"),
        ("flag == 'True'", "'True' is not a category"),
        ("band == 'x'", "not a category of column 'band'"),
        ("near == 7", "7 is not a category"),
        ("age == 'x'", "column 'age' must be compared with a finite number"),
        ("age > True", "column 'age' must be compared with a finite number"),
        ("age > 1e999", "column 'age' must be compared with a finite number"),
        ("points > 'x'", "column 'points' must be compared"),
        ("income > 3", "column 'income' is not in the schema, which has: age"),
    ],
)
def test_conditions_that_do_not_fit_the_schema(text: str, message: str) -> None:
    query = dp.Count(where=text)
    with pytest.raises((ValueError, TypeError, UnknownColumn), match=message):
        query.coded(SCHEMA, dp.Unit(dp.ADD_REMOVE))


def test_misused_expressions() -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(c("age") > 3)
    with pytest.raises(TypeError, match="no truth value"):
        17 < c("age") < 40  # noqa: B015
    with pytest.raises(TypeError, match="compared with a constant"):
        c("age") > c("hours")  # noqa: B015
    with pytest.raises(TypeError, match="compared with a constant"):
        c("age") > (lambda x: x)  # noqa: B015
    for value in (float("inf"), float("nan")):
        with pytest.raises(TypeError, match="finite number"):
            c("age") > value  # noqa: B015
        with pytest.raises(TypeError, match="finite number"):
            c("age").is_in([1, value])
    with pytest.raises(TypeError, match="compared with a constant"):
        c("age").is_in([None])
    with pytest.raises(TypeError, match="can't join"):
        (c("age") > 3) & True  # type: ignore[operator]
    with pytest.raises(TypeError, match="list of values"):
        c("sex").is_in("FM")
    with pytest.raises(TypeError, match="where must be a condition"):
        dp.Count(where=lambda row: True)  # type: ignore[arg-type]


def test_two_reals_in_one_cell_are_equal() -> None:
    step = 73 / 2**20
    schema = dp.Schema(age=dp.Real(17, 90))
    chunk = Chunk({"age": np.array([40.0, 40.0 + step / 4])})
    condition = parse("age == 40").condition(schema)
    assert chunk.holds(condition).tolist() == [True, True]
