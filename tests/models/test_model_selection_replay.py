"""Which run of a search won can't be told from what its winner drew."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import sys
import threading
import types
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import ShuffleSplit

import discreet as dp
from discreet import events, testing
from discreet.guarantees.model_selection.attacks_replay import (
    CLASSES,
    ROWS,
    Drawing,
    Replay,
    replays,
)
from discreet.mechanisms import BestOf
from discreet.models.m_estimation import HistogramMEstimator
from discreet.models.metrics import Accuracy, private_score
from discreet.models.model_selection import PrivateSearch
from discreet.models.svm import SVC
from discreet.noise.generators import find_generators, renew
from discreet.selection import Selection

ATTACKS = list(replays())
STEP = events.DiscreteLaplace(2, 1)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.title)
def test_no_winner_can_be_numbered_by_replaying_public_generators(attack: Replay) -> None:
    result = attack.result()
    assert not result.is_violated, result.event


@pytest.mark.parametrize("attack", [ATTACKS[0], ATTACKS[-1]], ids=lambda attack: attack.title)
def test_generators_that_are_put_back_but_not_renewed_are_caught(
    attack: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack is strong enough: a search whose runs go on where the last one ended is numbered."""

    monkeypatch.setattr(
        "discreet.mechanisms.best_of.renew", lambda generators: contextlib.nullcontext()
    )
    assert attack.result().is_violated


class Holder:
    """Holds a generator in a slot."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


def in_a_closure(generator: Any) -> Any:
    return lambda: generator.random()


WAYS = {
    "itself": lambda g: g,
    "an estimator's parameter": lambda g: SVC(random_state=g),
    "a nested estimator's": lambda g: PrivateSearch(
        HistogramMEstimator(RandomForestClassifier(random_state=g))
    ),
    "a setting": lambda g: PrivateSearch(SVC(), [{"random_state": g}]),
    "a splitter's": lambda g: {"cv": [ShuffleSplit(random_state=g)]},
    "a closure's": in_a_closure,
    "a default's": lambda g: lambda x=g: x.random(),
    "a partial's": lambda g: functools.partial(in_a_closure, g),
    "a method's": lambda g: g.random,
    "a slot's": lambda g: Holder((g,)),
}
KINDS = {
    "RandomState": lambda: np.random.RandomState(3),
    "RandomState of PCG64": lambda: np.random.RandomState(np.random.PCG64(3)),
    "Generator": lambda: np.random.default_rng(3),
    "Philox": lambda: np.random.Generator(np.random.Philox(3)),
    "Random": lambda: random.Random(3),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_generators_are_found_renewed_and_put_back_wherever_they_are_held(
    kind: str, way: str
) -> None:
    generator, twin = KINDS[kind](), KINDS[kind]()

    def draw(source: Any) -> list[float]:
        # Random and RandomState keep every second normal draw: it must not outlast the seed
        return [source.normalvariate(0, 1) if kind == "Random" else source.normal(), gauss(source)]

    def gauss(source: Any) -> float:
        return source.gauss(0, 1) if kind == "Random" else source.standard_normal()

    assert draw(generator)[:1] == draw(twin)[:1]
    found = find_generators(WAYS[way](generator))
    assert any(each is generator for each in found)
    inside = []
    for _ in range(3):
        with renew(found):
            inside += [gauss(generator), *draw(generator)]
    outside = [gauss(twin), *draw(twin), gauss(twin)]
    assert len({*inside, *outside}) == len(inside) + len(outside)
    assert [gauss(generator), *draw(generator), gauss(generator)] == outside


def test_the_generators_of_the_process_are_renewed_and_put_back() -> None:
    np.random.seed(5)
    np.random.standard_normal()  # and the second of a pair is kept
    random.seed(5)
    random.gauss(0, 1)
    before, plain = np.random.get_state(), random.getstate()
    inside = []
    for _ in range(3):
        with renew():
            inside += [np.random.standard_normal(), random.gauss(0, 1)]
    after = np.random.get_state()
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert random.getstate() == plain
    outside = [np.random.standard_normal(), random.gauss(0, 1)]
    assert len({*inside, *outside}) == 8


def test_rows_are_not_looked_into() -> None:
    hidden = np.random.default_rng(0)
    data = dp.PrivateDataset({"x": [hidden]}, dp.Schema(x=dp.Real(0, 1)), unit=dp.PUBLIC)
    assert find_generators(data, lambda: data) == []


def test_an_integer_seed_gives_every_run_the_same_draws() -> None:
    """So they tell nothing of which run it was."""
    search = PrivateSearch(
        SVC(bounds=(0, 1), classes=[0, 1], n_components=2, random_state=7), {"alpha": [1, 100]}
    )
    found = [search.fit(ROWS, CLASSES).best_estimator_.frequencies_ for _ in range(3)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_a_generator_given_as_parameter_is_as_it_was_after_a_search() -> None:
    state = np.random.RandomState(7)
    before = state.get_state()
    model = SVC(bounds=(0, 1), classes=[0, 1], n_components=2, random_state=state)
    search = PrivateSearch(model, {"alpha": [1, 100]}, runs=4)
    first, second = (search.fit(ROWS, CLASSES).best_estimator_.frequencies_ for _ in range(2))
    assert not np.array_equal(first, second)
    assert all(np.array_equal(a, b) for a, b in zip(before, state.get_state(), strict=True))


class Torch(types.ModuleType):
    """A library with a generator of its own, in a state that everyone knows when it is imported."""

    class Generator:
        def __init__(self) -> None:
            self.seed, self.drawn = 67280421310721, 0

        def get_state(self) -> Any:
            return self.seed, self.drawn

        def set_state(self, state: Any) -> None:
            self.seed, self.drawn = state

        def manual_seed(self, seed: int) -> None:
            self.seed, self.drawn = seed, 0

        def draw(self) -> tuple[int, int]:
            self.drawn += 1
            return self.seed, self.drawn

    def __init__(self) -> None:
        super().__init__("torch")
        self.default_generator = self.Generator()


def test_torch_is_renewed_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = Torch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    own = torch.Generator()
    drawn = []

    def step() -> tuple[float, None]:
        drawn.extend([torch.default_generator.draw(), own.draw()])
        return 0.0, None

    with testing.fixed_noise(2):
        BestOf(STEP, gamma="1/20").run(step)
    assert len(drawn) > 6
    assert {number for _, number in drawn} == {1}
    assert len({seed for seed, _ in drawn}) == len(drawn)
    assert torch.default_generator.get_state() == own.get_state() == (67280421310721, 0)


def test_a_run_that_imports_torch_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first draws would come from a state that anyone knows."""
    monkeypatch.setitem(sys.modules, "torch", None)  # type: ignore[arg-type]
    seeds, torch = [], Torch()

    def run(at: int, views: Any) -> tuple[float, Any]:
        sys.modules["torch"] = torch
        seeds.append(torch.default_generator.draw())
        return 0.0, seeds[-1]

    ledger = dp.Ledger(limit=dp.PureDP(9))
    data = dp.PrivateDataset({"x": np.zeros(3)}, dp.Schema(x=dp.Real(0, 1)), ledger=ledger)
    plan = Selection(((STEP,),), (1,), Fraction(1), Fraction(1, 3))
    with data.prepaid(plan.event(data.unit)) as door:
        _, told = door.select(plan, run)
    assert seeds[0] == (67280421310721, 1)
    assert told in seeds[1:]
    assert len(set(seeds)) == len(seeds)
    assert torch.default_generator.get_state()[0] != 67280421310721  # nor is a trace of it left


def test_searches_in_several_threads_leave_everything_as_it_was() -> None:
    before, plain = np.random.get_state(), random.getstate()
    filters, bars = list(warnings.filters), os.environ.get("DISCREET_PROGRESS")
    inner = Drawing(lambda: np.random.standard_normal(3))
    model = HistogramMEstimator(inner, bins=2, bounds=(0, 1), classes=[0, 1])
    published: list[Any] = []

    def search() -> None:
        for _ in range(3):
            found = PrivateSearch(model, {"bins": [1, 2]}, runs=3).fit(ROWS, CLASSES)
            published.append(tuple(found.best_estimator_.estimator_.draws_))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(published)) == 12
    after = np.random.get_state()
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert random.getstate() == plain
    assert warnings.filters == filters
    assert os.environ.get("DISCREET_PROGRESS") == bars


class Wavering:
    """A public model that draws from a generator of its own whenever it is asked."""

    classes_ = np.array([0, 1])

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def predict(self, X: Any) -> Any:
        self.generator.random()
        return np.ones(len(X), np.int64)


@pytest.mark.parametrize("rows", [1, 3000])
def test_a_score_leaves_no_trace_of_how_often_its_model_was_asked(rows: int) -> None:
    """That depends on how many different rows there are."""
    model, draw = Wavering(), np.random.default_rng(1)
    schema = dp.Schema(x=dp.Real(0, 1), y=dp.Categorical(0, 1))
    columns = {"x": draw.random(rows), "y": draw.integers(0, 2, rows)}
    data = dp.PrivateDataset(columns, schema, ledger=dp.Ledger(limit=dp.PureDP(1)))
    before = model.generator.bit_generator.state
    private_score(model, data, Accuracy(), dp.PureDP(1))
    assert model.generator.bit_generator.state == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_process_that_forks_during_a_run_can_search() -> None:
    """The turn that a thread of the parent holds isn't waited for."""
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        with renew():
            inside.set()
            done.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(20)
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(10)
        with renew():
            os._exit(0)
    try:
        assert os.waitpid(child, 0)[1] == 0
    finally:
        done.set()
        thread.join()
