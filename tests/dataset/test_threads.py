"""Doors under threads and forks: every answer is the asked one, paid once, and nobody waits for ever."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dp
from discreet import events
from discreet.engines.arrays import Arrays
from discreet.engines.code_cache import CodeCache
from discreet.engines.frames import Frames
from discreet.engines.turns import DUCKDB_RELATIONS, Turn, share_turn
from discreet.engines.wrappers import RowCache
from discreet.ledger import PaidPlan
from discreet.selection import Selection
from small_tables import draw_table

SCHEMA = dp.Schema(x=dp.Real(0, 1), n=dp.Integer(0, 9), c=dp.Categorical("a", "b", "c")).derive(
    half=dp.Bins("x", [0.5]), near=dp.Nearest(["x", "n"], [(0.1, 1), (0.9, 8)])
)
ROWS = draw_table(80, seed=2, x=(-0.2, 1.2), n=range(-2, 12), c=["a", "b", "c", "other"])
#: So little noise that a draw other than 0 has a chance of 2e^-1000.
SURE = dp.PureDP(1000)
EVENT = events.DiscreteLaplace("1/1000", 1)
QUERIES = [
    dp.Count(where=f"x > {at / 20} and n <= {at % 10}", by=by)
    for at in range(10)
    for by in (None, "c", ("half", "near"))
]


def dataset(source: Any = None) -> dp.PrivateDataset:
    source = ROWS if source is None else source
    return dp.PrivateDataset(source, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(10**9)))


@pytest.fixture
def eager_switches() -> Iterator[None]:
    """Threads change places after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(threads: int, act: Callable[[int], Any]) -> tuple[list[Any], list[BaseException]]:
    """What `act` gave in each of several threads that began together, and what it raised."""
    together, found, failed = threading.Barrier(threads), [], []

    def work(at: int) -> None:
        together.wait()
        try:
            found.append(act(at))
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(at,)) for at in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found, failed


@pytest.mark.usefixtures("eager_switches")
def test_no_event_of_a_plan_is_taken_twice() -> None:
    """Those of one answer are taken together, and there are as many as were paid."""
    other = events.DiscreteLaplace(7, 1)
    both = events.Compose(EVENT, other)
    for _ in range(20):
        plan = PaidPlan(events.Repeat(both, 40), "entry")
        found, failed = in_threads(8, lambda _, plan=plan: [plan.charge(both) for _ in range(5)])
        assert failed == []
        assert sum(map(len, found)) == 40
        with pytest.raises(ValueError, match="nothing more"):
            plan.charge(EVENT)


@pytest.mark.usefixtures("eager_switches")
def test_threads_can_not_ask_more_than_was_paid() -> None:
    """One that comes too late finds the door closed."""
    for _ in range(20):
        plan = PaidPlan(events.Repeat(EVENT, 20), "entry")
        taken = []

        def take(_: int, plan: PaidPlan = plan, taken: list[Any] = taken) -> None:
            for _ in range(10):
                taken.append(plan.charge(EVENT))

        _, failed = in_threads(4, take)
        assert len(taken) <= 20
        assert failed
        assert all(isinstance(error, ValueError) for error in failed)
        assert all("not the plan" in str(e) or "closed" in str(e) for e in failed)


MANY = pytest.param(32, 100, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])


@pytest.mark.usefixtures("eager_switches")
@pytest.mark.parametrize(("threads", "releases"), [(4, 8), MANY])
@pytest.mark.parametrize("form", ["arrays", "polars", "polars lazy"])
def test_each_thread_of_a_prepaid_door_has_the_answer_to_its_own_query(
    form: str, threads: int, releases: int
) -> None:
    source: Any = ROWS
    if form != "arrays":
        source = pl.DataFrame(source, strict=False)
        source = source.lazy() if form == "polars lazy" else source
    data = dataset(source)
    wanted = [np.asarray(dataset().release(query, SURE).value).tolist() for query in QUERIES]
    with data.prepaid(events.Repeat(EVENT, threads * releases)) as door:

        def work(number: int) -> int:
            right = 0
            for turn in range(releases):
                at = (number * 11 + turn) % len(QUERIES)
                found = np.asarray(door.release(QUERIES[at], SURE).value).tolist()
                right += found == wanted[at]
            return right

        found, failed = in_threads(threads, work)
        assert failed == []
        assert sum(found) == threads * releases
        with pytest.raises(ValueError, match="nothing more"):
            door.release(dp.Count(), SURE)


@pytest.mark.usefixtures("eager_switches")
def test_kept_codes_serve_the_query_that_they_were_made_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also while other threads make room for their own."""
    monkeypatch.setattr("discreet.engines.code_cache.MAX_CODES", 3)
    engine = Arrays(ROWS)
    kept = CodeCache(engine)
    coded = [query.coded(SCHEMA, dp.Unit()) for query in QUERIES]
    wanted = [engine.totals(query).tolist() for query in coded]

    def work(number: int) -> int:
        places = [(number * 5 + turn) % len(coded) for turn in range(60)]
        return sum(kept.totals(coded[at]).tolist() == wanted[at] for at in places)

    found, failed = in_threads(8, work)
    assert failed == []
    assert sum(found) == 8 * 60


def test_columns_kept_for_a_lazy_frame_are_those_of_the_query() -> None:
    """Even if another thread asks something else just while they are looked up."""
    engine = Frames(pl.DataFrame(ROWS, strict=False).lazy())
    first, second = (dp.Count(by=name).coded(SCHEMA, dp.Unit()) for name in ("c", "half"))
    wanted, others = engine.totals(first).tolist(), [second]

    class Interrupted(dict[Any, Any]):
        def __contains__(self, code: object) -> bool:
            if others:
                engine.totals(others.pop())
            return super().__contains__(code)

    assert engine._last is not None
    engine._last.names = Interrupted(engine._last.names)
    assert engine.totals(first).tolist() == wanted


@pytest.mark.usefixtures("eager_switches")
def test_threads_of_one_run_read_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowCache, "MAX_TABLES", 1)
    reads, honest = [], Arrays.rows

    def slow(self: Arrays, *arguments: Any) -> Any:
        reads.append(1)
        return honest(self, *arguments)

    monkeypatch.setattr(Arrays, "rows", slow)
    kept = RowCache(Arrays(ROWS))
    query = dp.Count().coded(SCHEMA, dp.Unit())
    asked = [(SCHEMA.code("x"),), (SCHEMA.code("n"),)]
    wanted = [honest(kept._engine, query, codes).tolist() for codes in asked]  # type: ignore[arg-type]

    def work(number: int) -> bool:
        at = number % 2
        return all(kept.rows(query, asked[at]).tolist() == wanted[at] for _ in range(30))

    found, failed = in_threads(6, work)
    assert failed == []
    assert all(found)
    reads.clear()
    same = RowCache(Arrays(ROWS))
    in_threads(6, lambda _: same.rows(query, asked[0]))
    assert len(reads) == 1


def test_runs_of_a_selection_may_be_made_by_threads() -> None:
    """Two searches over one data set at once."""
    data = dataset()
    plan = Selection(((EVENT,),), (1,), Fraction(1), Fraction(1, 3))
    wanted = dataset().release(dp.Count(), SURE).value

    def work(_: int) -> Any:
        with data.prepaid(plan.event(data.unit)) as door:
            return door.select(
                plan, lambda at, views: (0.0, views[0].release(dp.Count(), SURE).value)
            )[1]

    found, failed = in_threads(4, work)
    assert failed == []
    assert found == [wanted] * 4


def in_child(act: Callable[[], bool]) -> int:
    """How a forked child ended: 0 if `act` was true there; it is stopped if it waits for ever."""
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            os._exit(0 if act() else 1)
        except BaseException:
            os._exit(2)
    return os.waitpid(child, 0)[1]


def parquet(folder: Path) -> Path:
    path = folder / "table.parquet"
    pl.DataFrame(ROWS, strict=False).write_parquet(path)
    return path


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")


@forks
def test_a_fork_while_a_thread_reads_leaves_the_child_free_to_read(tmp_path: Path) -> None:
    """Its parent's turns are none of its own, and it has a connection of its own."""
    data = dataset(parquet(tmp_path))
    wanted = data.release(dp.Count(where="x > 0.5"), SURE).value
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        with data._engine._first._session():  # type: ignore[attr-defined]
            inside.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(20)
    try:
        assert in_child(lambda: data.release(dp.Count(where="x > 0.5"), SURE).value == wanted) == 0
    finally:
        done.set()
        thread.join()
    assert data.release(dp.Count(where="x > 0.5"), SURE).value == wanted


@forks
@pytest.mark.parametrize("most", [1, 2])
def test_a_forked_child_finds_every_turn_free(most: int) -> None:
    turns, inside, done = [Turn(most), DUCKDB_RELATIONS], threading.Barrier(3), threading.Event()

    def hold() -> None:
        with turns[0].take(), share_turn("a connection").take():
            inside.wait(20)
            done.wait(60)

    def hold_relations() -> None:
        with DUCKDB_RELATIONS.take():
            inside.wait(20)
            done.wait(60)

    kept = share_turn("a connection")
    assert share_turn("a connection") is kept
    threads = [threading.Thread(target=act) for act in (hold, hold_relations)]
    for thread in threads:
        thread.start()
    inside.wait(20)

    def free() -> bool:
        for turn in (*turns, kept):
            with turn.take():
                pass
        return True

    try:
        assert in_child(free) == 0
    finally:
        done.set()
        for thread in threads:
            thread.join()


@forks
def test_a_forked_child_does_not_wait_for_a_door_that_it_may_not_use() -> None:
    data = dataset()
    with data.prepaid(events.Repeat(EVENT, 9)) as door, door._payer._lock:

        def refused() -> bool:
            with pytest.raises(RuntimeError, match="forked"):
                door.release(dp.Count(), SURE)
            return True

        assert in_child(refused) == 0
