"""PATE: who teaches whom, what comes out, what is charged, and that nothing else is told."""

from __future__ import annotations

import logging
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.semi_supervised import SelfTrainingClassifier

import discreet as dp
from discreet.columns import Categorical, Integer, Real
from discreet.deep.pate import PATE, ConfidentGNMax, GNMax, LNMax, Plurality, SpreadingStudent
from discreet.deep.pate.teachers import (
    Design,
    Lesson,
    Teachers,
    changed_teachers,
    deal,
    deals_by_id,
)
from discreet.models.model_selection import PrivateSearch, ThresholdClassifier
from discreet.models.pipeline import Pipeline
from discreet.schema import Schema

RNG = np.random.default_rng(0)
CENTRES = np.array([[0.2, 0.2], [0.8, 0.2], [0.5, 0.9]])


def points(count: int) -> tuple[np.ndarray, np.ndarray]:
    y = RNG.integers(0, 3, count)
    return np.clip(CENTRES[y] + RNG.normal(0, 0.08, (count, 2)), 0, 1), y


X, Y = points(900)
PUBLIC, PUBLIC_Y = points(300)


def model(**options) -> PATE:
    chosen = {"n_teachers": 30, "n_queries": 60, "epsilon": 20, "delta": 1e-3}
    declared = {"bounds": (0, 1), "classes": [0, 1, 2]}
    return PATE(GaussianNB(), **{**chosen, **declared, **options})


@pytest.mark.parametrize("aggregation", ["confident", "gnmax", "lnmax"])
def test_a_student_learns_what_teachers_agree_on(aggregation):
    found = model(aggregation=aggregation, max_answers=60, threshold=15)
    found.fit(X, Y, public=PUBLIC)
    assert found.score(PUBLIC, PUBLIC_Y) > 0.95
    assert found.privacy_.is_private
    assert found.privacy_.measure == dp.ApproxDP(20, 1e-3)
    assert found.privacy_.entry is not None
    assert found.independent_epsilon() <= 20
    assert set(found.labels_.tolist()) <= {-1, 0, 1, 2}
    assert not hasattr(found, "votes_")


def test_pure_privacy_needs_laplace_noise():
    found = model(aggregation="lnmax", delta=0, n_queries=10).fit(X, Y, public=PUBLIC)
    assert found.privacy_.measure == dp.PureDP(20)
    assert found.aggregation_ == LNMax(1)  # 2·10 questions / 20
    with pytest.raises(ValueError, match="delta must be above 0 for aggregation='gnmax'"):
        model(aggregation="gnmax", delta=0).fit(X, Y, public=PUBLIC)


def test_the_noise_is_the_least_that_the_budget_covers():
    for aggregation in ("confident", "gnmax", "lnmax"):
        plan = model(aggregation=aggregation, epsilon=2, delta=1e-5).plan(n_features=2)
        assert dp.accounting.satisfies(plan.event, dp.ApproxDP(2, 1e-5))
        assert not dp.accounting.satisfies(plan.event, dp.ApproxDP(1.99, 1e-5))


def test_the_price_of_gaussian_votes_is_the_formula_of_the_papers():
    """Papernot et al. 2018: one question with noise σ has the Rényi curve α/σ², a check α/2σ²."""
    orders = (2.0, 8.0, 32.0)
    curve = dp.accounting.cost(GNMax(40).event(1), dp.Renyi, orders=orders).curve
    assert [curve[o] for o in orders] == pytest.approx([o / 1600 for o in orders], rel=1e-12)
    whole = ConfidentGNMax(200, 150, 40, 286).event(640)
    curve = dp.accounting.cost(whole, dp.Renyi, orders=orders).curve
    expected = [640 * o / (2 * 150**2) + 286 * o / 40**2 for o in orders]
    assert [curve[o] for o in orders] == pytest.approx(expected, rel=1e-12)
    # Papernot et al. 2017: 2γ for noise of scale 1/γ
    assert dp.accounting.cost(LNMax(20).event(100), dp.PureDP).epsilon == 10


def test_the_ledger_is_charged_before_a_row_is_read_and_nothing_more(monkeypatch):
    ledger = dp.Ledger(limit=dp.ApproxDP(20, 1e-3))
    schema = Schema(a=Real(0, 1), b=Real(0, 1), y=Categorical(0, 1, 2))
    data = dp.PrivateDataset({"a": X[:, 0], "b": X[:, 1], "y": Y}, schema, ledger=ledger)
    found = PATE(GaussianNB(), None, 30, n_queries=60, epsilon=20, delta=1e-3)
    seen = []
    honest = Lesson.learn_and_vote

    def learn(lesson, *part):
        seen.append(len(ledger.entries()))
        return honest(lesson, *part)

    monkeypatch.setattr(Lesson, "learn_and_vote", learn)
    before = len(ledger.entries())
    found.fit(data, public={"a": PUBLIC[:, 0], "b": PUBLIC[:, 1]})
    assert seen == [before + 1] * 30
    with pytest.raises(dp.BudgetExceeded):
        found.fit(data, public={"a": PUBLIC[:, 0], "b": PUBLIC[:, 1]})
    assert len(seen) == 30


class Failing(ClassifierMixin, BaseEstimator):
    """Fails, shouts and warns where a row of its part is large."""

    def fit(self, X, y):
        if X.max() > 0.9:
            warnings.warn("a row is large", stacklevel=1)
            print("a row is large")  # noqa: T201
            logging.getLogger("teacher").error("a row is large")
            raise ValueError(f"a row is {X.max()}")
        self.vote_ = 1
        return self

    def predict(self, X):
        return np.full(len(X), self.vote_)


@pytest.mark.filterwarnings("error")
def test_a_teacher_that_fails_votes_a_constant_and_tells_nothing(capfd):
    rows = np.clip(X, 0, 0.8)
    rows[3] = 0.95
    public = np.clip(PUBLIC, 0, 0.8)
    found = model(unit=dp.PUBLIC).set_params(teacher=Failing(), student=GaussianNB())
    found.fit(rows, Y, public=public)
    assert found.votes_.tolist() == [[1, 29, 0]] * 60  # by the teacher that has the row
    assert capfd.readouterr() == ("", "")


def test_a_teacher_that_can_not_work_is_refused_before_anything_is_charged():
    ledger = dp.Ledger(limit=dp.ApproxDP(20, 1e-3))
    head = ledger.head
    for teacher, message in (
        (Failing(), "a row is"),
        (lambda rows, labels, classes: lambda questions: questions, "one class for each row"),
        (MLPClassifier(solver="none"), "solver"),
    ):
        with pytest.raises(ValueError, match=message):
            model(ledger=ledger).set_params(teacher=teacher).fit(X, Y, public=PUBLIC)
    for options, message in (
        ({"n_queries": 301}, "public has 300 rows"),
        ({"aggregation": "best"}, "aggregation must be"),
        ({"aggregation": GNMax(1)}, "costs more than"),
        ({"aggregation": Plurality()}, "need epsilon=math.inf"),
        ({"check_share": 1}, "check_share"),
        ({"features": lambda rows: rows[:3]}, "one row for each row"),
        ({"n_teachers": 0}, "n_teachers"),
    ):
        with pytest.raises(ValueError, match=message):
            model(ledger=ledger, **options).fit(X, Y, public=PUBLIC)
    with pytest.raises(ValueError, match="public must be given"):
        model(ledger=ledger).fit(X, Y)
    with pytest.raises(ValueError, match="2 features as columns"):
        model(ledger=ledger).fit(X, Y, public=PUBLIC[:, :1])
    assert ledger.head == head


def lesson(teacher, classes=3) -> Lesson:
    return Lesson(teacher, None, Design((Integer(0, 9),)), np.zeros((4, 1)), classes)


def test_parts_without_rows_or_with_one_class_vote_without_a_teacher():
    def never(*_):
        raise AssertionError

    asked = lesson(never)
    none = np.zeros((0, 1), np.int64)
    assert asked.learn_and_vote(none, none[:, 0]).tolist() == [0] * 4
    assert asked.learn_and_vote(np.ones((2, 1), np.int64), np.array([2, 2])).tolist() == [2] * 4


@pytest.mark.parametrize(
    "votes",
    [
        [9, -1, np.nan, 0.5],
        ["a", "b", "c", "d"],
        [1, 2],
        [[1], [1], [1], [1]],
        None,
        [10**400, 0, 0, 0],
    ],
)
def test_votes_that_are_no_classes_count_for_the_first(votes):
    asked = lesson(lambda *_: lambda questions: votes)
    rows = np.arange(2)[:, None]
    assert asked.learn_and_vote(rows, np.arange(2)).tolist() == [0] * 4


def test_teachers_can_not_pass_anything_on_through_the_questions():
    def scribble(rows, labels, classes):
        def predict(questions):
            questions += 1
            return np.ones(len(questions))

        return predict

    found = model(unit=dp.PUBLIC)
    plan = found._plan(dp_facts(), None)
    with pytest.raises(ValueError, match="read-only"):
        found.set_params(teacher=scribble)._prepare(plan, PUBLIC)


def dp_facts():
    from discreet.models.inputs import plan_facts

    return plan_facts(model(), None, 2, None)


def test_every_teacher_has_random_numbers_of_its_own_and_leaves_no_trace():
    drawn = []

    def draw(rows, labels, classes):
        drawn.append((np.random.rand(), len(labels)))
        return lambda questions: np.zeros(len(questions))

    np.random.seed(1)
    expected = np.random.rand()
    np.random.seed(1)
    model(n_teachers=8).set_params(teacher=draw, student=GaussianNB()).fit(X, Y, public=PUBLIC)
    assert np.random.rand() == expected
    assert len({number for number, _ in drawn}) == len(drawn) == 9  # with the one before the charge


def test_rows_are_dealt_independently_and_uniformly():
    table = np.zeros((4, 4))
    sizes = []
    for _ in range(3000):
        found = deal(6, 4)
        table[found[0], found[1]] += 1
        sizes.append(np.bincount(found, minlength=4)[0])
    assert chisquare(table.ravel()).pvalue > 1e-4
    binomial = [math.comb(6, k) * 0.25**k * 0.75 ** (6 - k) for k in range(5)]
    expected = 3000 * np.array([*binomial, 1 - sum(binomial)])
    counts = np.bincount(np.minimum(sizes, 5), minlength=6)
    assert chisquare(counts, expected).pvalue > 1e-4
    # parts of nearly equal size, or by place, would be noticed
    even = np.bincount(np.random.default_rng(0).integers(1, 3, 3000), minlength=6)
    assert chisquare(even, expected).pvalue < 1e-12


def test_all_rows_of_a_declared_id_go_to_one_teacher_and_ids_are_independent():
    ids = np.repeat([0, 3, 7, -1], 5)
    together = 0
    for _ in range(400):
        found = deal(20, 4, ids, 8).reshape(4, 5)
        assert (found == found[:, :1]).all()
        together += int(found[0, 0] == found[1, 0])
    assert 60 < together < 145  # 100, and five standard deviations


ID_UNITS = [
    # relation, rows per person, is the id declared?, teachers that one person reaches
    (dp.ADD_REMOVE, 1, True, 1),
    (dp.ADD_REMOVE, 3, True, 1),
    (dp.ADD_REMOVE, 3, False, 3),
    (dp.REPLACE_ONE, 1, True, 1),
    (dp.REPLACE_ONE, 2, True, 2),
    (dp.REPLACE_ONE, 5, True, 2),
    (dp.REPLACE_ONE, 5, False, 5),
]


@pytest.mark.parametrize(("relation", "rows", "declared", "reached"), ID_UNITS)
def test_a_person_reaches_as_many_teachers_as_is_charged(relation, rows, declared, reached):
    columns = {"a": Real(0, 1), "b": Real(0, 1), "y": Categorical(0, 1, 2)}
    schema = Schema({**columns, "who": Integer(0, 999)} if declared else columns)
    unit = dp.Unit(relation, "who", rows)
    assert changed_teachers(schema, unit, 50) == reached
    assert deals_by_id(schema, unit) == (declared and rows > reached)
    assert changed_teachers(schema, unit, 1) == 1
    table = {"a": X[:, 0], "b": X[:, 1], "y": Y, "who": np.arange(900) // rows}
    ledger = dp.Ledger(limit=dp.ApproxDP(20, 1e-3), unit=unit)
    data = dp.PrivateDataset(table, schema, ledger=ledger)
    options = {"n_queries": 20, "aggregation": "gnmax", "epsilon": 20, "delta": 1e-3}
    found = PATE(GaussianNB(), None, 50, **options)
    found.fit(data, target="y", public={"a": PUBLIC[:, 0], "b": PUBLIC[:, 1]})
    (leaf,) = {*dp.events.iter_leaves(found.privacy_.event)}
    assert leaf.sensitivity_squared == 2 * reached**2
    assert found.predict({"a": [0.2], "b": [0.2]}).shape == (1,)


def test_the_same_labels_come_from_several_processes():
    found = model(unit=dp.PUBLIC, epsilon=math.inf, n_teachers=4, n_jobs=2)
    found.fit(X, Y, public=PUBLIC)
    assert found.votes_.sum(axis=1).tolist() == [4] * 60
    assert found.score(PUBLIC, PUBLIC_Y) > 0.95


def test_students_may_learn_from_rows_without_label_too():
    student = SelfTrainingClassifier(LogisticRegression())
    found = model(semi_supervised=True, n_queries=30, max_answers=20)
    found.set_params(student=student).fit(X, Y, public=PUBLIC)
    assert found.student_.transduction_.shape == (300,)
    assert (found.student_.labeled_iter_ == 0).sum() == (found.labels_ >= 0).sum()


def test_features_are_computed_for_each_part_alone():
    sizes = []

    def double(rows):
        sizes.append(len(rows))
        return 2 * rows

    found = model(features=double, n_teachers=5).fit(X, Y, public=PUBLIC)
    assert sizes[0] == 300
    assert sum(sizes[1:]) == 900
    assert len(sizes) == 6
    assert found.score(PUBLIC, PUBLIC_Y) > 0.9


def test_without_answers_the_student_is_constant():
    found = model(threshold=10**6).fit(X, Y, public=PUBLIC)
    assert (found.labels_ == -1).all()
    assert set(found.predict(PUBLIC)) == {0}


def test_few_or_strange_rows_change_nothing_that_is_told():
    for rows, labels in (
        (X[:0], Y[:0]),
        (X[:1], Y[:1]),
        (X[:50], np.zeros(50, int)),
        (np.full((40, 2), np.nan), np.full(40, 7)),
    ):
        found = model(n_teachers=5).fit(rows, labels, public=PUBLIC)
        assert found.labels_.shape == (60,)


def test_mixed_columns_reach_teachers_in_their_units():
    columns = (Integer(2, 9), Categorical("a", "b"), Real(-1, 1))
    found = Design(columns).matrix(np.array([[0, 1, 2**20], [7, -1, 0]]))
    assert found.tolist()[0] == [2, 0, 1, 1]
    assert found[1] == pytest.approx([9, 0, 0, -1], abs=1e-5)


def test_a_part_has_its_rows_in_an_order_drawn_afresh():
    codes = np.stack([np.arange(8), np.zeros(8, np.int64)], axis=1)
    mine = np.arange(8) % 2 == 0
    orders = [tuple(Teachers._part(codes, mine, 1)[0][:, 0].tolist()) for _ in range(600)]
    assert {tuple(sorted(order)) for order in orders} == {(0, 2, 4, 6)}
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 24
    assert chisquare(counts).pvalue > 1e-4


def test_confident_answers_end_after_the_most_that_was_paid_for():
    sure = ConfidentGNMax(1, "1/2", "1/2", 3)
    labels = sure.run(np.tile([50, 0], (8, 1)))
    assert labels.tolist() == [0, 0, 0, -1, -1, -1, -1, -1]
    event = sure.event(8, 2)
    leaves = [leaf.sensitivity_squared for leaf in dp.events.iter_leaves(event)]
    assert leaves == [4] * 8 + [8] * 3
    assert replace(sure).event(2) == ConfidentGNMax(1, "1/2", "1/2", 2).event(2)


@pytest.mark.parametrize("around", ["search", "threshold", "pipeline"])
def test_what_has_no_public_rows_to_hand_on_refuses_before_the_charge(around: str) -> None:
    ledger = dp.Ledger(limit=dp.ApproxDP(4, 1e-6), unit=dp.Unit(dp.ADD_REMOVE))
    inner = PATE(n_teachers=5, n_queries=5, bounds=(0, 1), classes=[0, 1], epsilon=1, delta=1e-7)
    settings = {"epsilon": 2.0, "delta": 1e-7, "ledger": ledger}
    model = {
        "search": lambda: PrivateSearch(inner, {"n_teachers": [5, 10]}, **settings),
        "threshold": lambda: ThresholdClassifier(inner, **settings),
        "pipeline": lambda: Pipeline([("pate", inner.set_params(ledger=ledger))]),
    }[around]()
    X, y = points(60)
    before = len(ledger.entries())
    with pytest.raises(ValueError, match="needs public rows"):
        model.fit(X, np.minimum(y, 1))
    assert len(ledger.entries()) == before


def test_a_spreading_student_learns_what_teachers_told():
    found = model(student=SpreadingStudent(), semi_supervised=True).fit(X, Y, public=PUBLIC)
    assert found.score(PUBLIC, PUBLIC_Y) > 0.9
