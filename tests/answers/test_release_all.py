"""Several questions, one budget: one charge, the best split, and what it gains."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.accounting import satisfies
from discreet.answers import plan_questions
from discreet.answers.splitting import best_shares, list_routes

SCHEMA = dp.Schema(age=dp.Integer(17, 90), cost=dp.Real(0, 1e5), town=dp.Categorical("Bonn", "Ulm"))
PAIR = dp.ApproxDP(1, "1/1000000")
MIXED = {
    "people": dp.Count(),
    "towns": dp.Count(by="town"),
    "age": dp.Mean("age"),
    "total": dp.Sum("cost", by="town"),
    "median": dp.Median("age"),
}


def people(n=2000):
    draw = np.random.default_rng(5)
    return {
        "age": draw.integers(17, 91, n),
        "cost": draw.uniform(0, 1e5, n),
        "town": draw.choice(["Bonn", "Ulm"], n),
    }


def data(limit=None, unit=None):
    ledger = dp.Ledger(limit=limit or dp.ApproxDP(10, "1/1000"), unit=unit)
    return dp.PrivateDataset(people(), SCHEMA, ledger=ledger)


@pytest.mark.parametrize("measure", [dp.PureDP(1), PAIR, dp.ZCDP("1/10")], ids=repr)
def test_several_answers_are_one_charge_of_the_measure(measure):
    table = data(limit=measure)
    answers = table.release_all(MIXED, measure)
    assert list(answers) == list(MIXED)
    assert len(table.ledger.entries()) == 2  # the opening, and one charge
    assert table.ledger.spent() <= measure  # a ledger of ρ books what the noise really costs
    assert satisfies(answers.plan.event, measure)
    with pytest.raises(dp.BudgetExceeded):
        table.release_all(MIXED, measure)
    assert abs(answers["people"].value - 2000) < 400
    assert answers["towns"].labels == ["Bonn", "Ulm"]


def test_the_plan_is_what_is_charged_and_reads_no_row():
    table = data()
    plan = table.plan_all(MIXED, PAIR)
    assert table.ledger.spent().epsilon == 0
    assert table.release_all(MIXED, PAIR).plan.event == plan.event
    assert table.ledger.entries()[-1].event == plan.event


@pytest.mark.parametrize(("count", "bar", "best"), [(20, 0.46, 0.446), (100, 0.1, 0.089)])
def test_many_counts_have_a_fraction_of_the_error_of_basic_composition(count, bar, best):
    asked = {f"{i}": dp.Count(where=f"cost >= {900 * i}") for i in range(count)}
    table = data()
    plan = table.plan_all(asked, PAIR)
    ours = np.mean([question.stderr**2 for question in plan.questions])
    each = dp.ApproxDP(Fraction(1, count), Fraction(1, 10**6 * count))
    even = np.mean([table.plan(query, each).stderr ** 2 for query in asked.values()])
    print(f"{count} counts: {ours:.1f} against {even:.1f}, ratio {ours / even:.4f}")  # noqa: T201
    assert satisfies(plan.event, PAIR)
    assert ours / even <= bar
    assert ours / even == pytest.approx(best, abs=0.001)


def test_questions_of_unlike_size_gain_by_weights():
    """Weighted error of the best split against an even one of the same ρ: by Cauchy-Schwarz never more."""
    asked = {"people": dp.Count(), "small": dp.Mean("age", by="town"), "cost": dp.Sum("cost")}
    weights = {"people": 100, "small": 1, "cost": 1}
    ours = data().plan_all(asked, dp.ZCDP("1/10"), weights)
    matter = np.array([100, 1, 1])
    best = matter @ np.square([q.relative for q in ours.questions])
    third = [
        plan_questions({name: query}, dp.ZCDP("1/30"), SCHEMA, dp.Unit()).questions[0].relative
        for name, query in asked.items()
    ]
    even = matter @ np.square(third)
    print(f"weighted error {best:.3g} against {even:.3g} of an even split: {best / even:.3f}")  # noqa: T201
    assert best / even < 0.6
    shares = [q.share for q in ours.questions]
    sizes = np.sqrt(matter * np.square(third))  # ρ is best split by the root of the weighted error
    assert shares == pytest.approx(sizes / sizes.sum(), abs=0.01)


@pytest.mark.parametrize("measure", [dp.PureDP(1), dp.ZCDP("1/10")], ids=repr)
def test_no_other_split_is_better(measure):
    route = list_routes(measure)[0]
    errors, weights = [4.0, 1.0, 0.01, 0.0], [1.0, 2.0, 5.0, 1.0]
    shares = best_shares(route, errors, weights)
    assert sum(shares) <= route.total
    assert shares[3] == 0

    def loss(parts):
        return sum(
            w * e / (p / float(route.total)) ** route.power
            for w, e, p in zip(weights[:3], errors, parts, strict=False)
        )

    best = loss([float(share) for share in shares])
    draw = np.random.default_rng(1)
    others = draw.dirichlet([1, 1, 1], 2000) * float(route.total)
    assert all(loss(other) >= best * (1 - 1e-5) for other in others)


def test_a_question_with_a_small_guess_gets_more():
    asked = {"many": dp.Count(), "few": dp.Count(where="age >= 89")}
    plain = data().plan_all(asked, PAIR, rows=2000)
    guessed = data().plan_all(asked, PAIR, guesses={"few": 50}, rows=2000)
    assert plain.questions[0].share == plain.questions[1].share
    assert guessed.questions[1].share > 0.9


def test_few_questions_get_the_noise_that_is_least():
    one = data().plan_all({"people": dp.Count()}, PAIR)
    assert one.route == "pure"  # Laplace noise is less than Gaussian for one count
    assert one.questions[0].stderr == data().plan(dp.Count(), PAIR).stderr
    assert data().plan_all({str(i): dp.Count() for i in range(40)}, PAIR).route == "gaussian"


def test_what_costs_nothing_takes_nothing():
    unit = dp.Unit(dp.REPLACE_ONE)
    table = data(limit=dp.PureDP(1), unit=unit)
    answers = table.release_all({"people": dp.Count(), "age": dp.Mean("age")}, dp.PureDP(1))
    assert answers["people"].value == 2000
    assert [q.share for q in answers.plan.questions] == [0, 1]


def test_keys_that_nobody_declared_can_be_among_the_questions():
    schema = dp.Schema(town=dp.Text(), age=dp.Integer(0, 99))
    rows = {"town": ["Bonn"] * 500, "age": np.arange(500) % 100}
    ledger = dp.Ledger(limit=PAIR)
    table = dp.PrivateDataset(rows, schema, ledger=ledger)
    asked = {"towns": dp.KeyCounts("town", delta="1/1000000"), "age": dp.Mean("age")}
    answers = table.release_all(asked, PAIR)
    assert answers["towns"].labels == ["Bonn"]


def test_public_rows_are_answered_without_noise():
    table = dp.PrivateDataset(people(), SCHEMA, unit=dp.PUBLIC)
    answers = table.release_all(MIXED, dp.PureDP(math.inf))
    assert answers["people"].value == 2000
    assert "[NOT PRIVATE]" in str(answers)


def test_the_plan_prints_a_bar_for_each_question():
    shown = str(data().plan_all(MIXED, PAIR, rows=2000))
    lines = shown.splitlines()
    assert "one charge of ApproxDP(epsilon=1, delta=1e-06)" in lines[0]
    assert len(lines) == 2 + len(MIXED)
    assert all("█" in line and "%" in line for line in lines[2:])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (({}, PAIR), "a mapping of names to queries"),
        (({"a": "age"}, PAIR), "'a' must be a name with a query"),
        (({"a": dp.Count()}, 1.0), "measure must be what all answers may cost"),
        (({"a": dp.Count()}, dp.PureDP(0)), "above 0"),
        (({"a": dp.Count()}, dp.PureDP(math.inf)), "finite"),
        (({"a": dp.Count()}, PAIR, {"b": 1}), "no question is called 'b'"),
        (({"a": dp.Count()}, PAIR, {"a": -1}), "weights"),
        (({"a": dp.Count()}, PAIR, [1]), "weights must be a mapping"),
        (({"a": dp.Mean("height")}, PAIR), "height"),
        (({"a": dp.Gram("age", "cost")}, PAIR), "guesses"),
    ],
)
def test_bad_questions_are_named_and_charge_nothing(arguments, says):
    table = data()
    with pytest.raises((TypeError, ValueError, KeyError), match=says):
        table.release_all(*arguments)
    assert table.ledger.spent().epsilon == 0


def test_questions_with_a_limit_of_their_own_and_about_persons_are_planned_as_they_are_asked():
    unit = dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=8)
    table = {"x": np.arange(200.0) % 7, "who": np.arange(200) // 5}
    ledger = dp.Ledger(limit=dp.PureDP(200), unit=unit)
    data = dp.PrivateDataset(table, dp.Schema(x=dp.Real(0, 7)), ledger=ledger)
    asked = {
        "one": dp.Count().per_person(1),
        "all": dp.Count(),
        "mean": dp.Mean("x").per_person(2),
        "people": dp.CountPeople(),
    }
    found = data.release_all(asked, dp.PureDP(200))
    assert found["one"].value == pytest.approx(40, abs=8)
    assert found["all"].value == pytest.approx(200, abs=30)
    assert found["people"].value == pytest.approx(40, abs=8)
    shares = {question.name: question.share for question in found.plan.questions}
    assert shares["all"] > shares["one"]
    assert shares["one"] == shares["people"]
