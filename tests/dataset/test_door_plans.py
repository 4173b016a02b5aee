"""A prepaid plan and its door: closed means closed, whoever waits, and what is planned must be an event."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import pytest

import discreet as dp
from discreet import events
from discreet.ledger.plans import PaidPlan
from discreet.unit import Unit
from small_tables import draw_table

SCHEMA = dp.Schema(x=dp.Real(0, 10))
COUNT = events.DiscreteLaplace(2, 1)


def rows(count: int = 20) -> dict[str, Any]:
    return draw_table(count, x=(0, 10))


def test_who_waited_while_a_plan_was_closed_gets_nothing() -> None:
    plan = PaidPlan(events.Repeat(COUNT, 2), None, None)
    found: list[object] = []
    was_open, check = threading.Event(), plan.check

    def look() -> None:
        check()
        was_open.set()

    plan.check = look  # type: ignore[method-assign]

    def take() -> None:
        try:
            found.append(plan.charge(COUNT))
        except ValueError as error:
            found.append(error)

    thread = threading.Thread(target=take)
    with plan._lock:
        thread.start()
        was_open.wait(10)
        time.sleep(0.05)  # it has looked, and waits for the lock
        plan.close()
    thread.join()
    assert isinstance(found[0], ValueError)
    assert "closed" in str(found[0])
    assert plan.begun == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_forked_process_is_refused_before_it_waits_for_a_lock_that_nobody_opens() -> None:
    plan = PaidPlan(events.Repeat(COUNT, 2), None, None)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with plan._lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(5)
        try:
            plan.charge(COUNT)
        except RuntimeError:
            os._exit(0)
        os._exit(1)
    status = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    assert status == 0


@pytest.mark.parametrize("event", ["Count", dp.PureDP(1), None], ids=repr)
def test_what_is_planned_is_an_event_on_public_rows_too(event: Any) -> None:
    data = dp.PrivateDataset(rows(), SCHEMA, unit=dp.PUBLIC)
    with pytest.raises(TypeError, match="event must come from"), data.prepaid(event):
        pass


@pytest.mark.parametrize("most", [1, 3])
def test_a_step_sees_max_rows_of_each_person(most: int) -> None:
    class Rows(dp.Step):
        columns = ("x",)

        def event(self, schema: dp.Schema, unit: dp.Unit) -> events.Event:
            return events.Compose()

        def run(self, rows: Any) -> int:
            return len(rows.codes)

    unit = dp.Unit(dp.ADD_REMOVE, "id", most)
    table = {**rows(20), "id": [at // 5 for at in range(20)]}
    data = dp.PrivateDataset(table, SCHEMA, ledger=dp.Ledger(limit=dp.PureDP(1), unit=unit))
    assert data.run(Rows()) == 4 * most


def test_a_unit_says_and_keeps_how_many_rows_it_protects() -> None:
    unit = Unit(dp.REPLACE_ONE, "id", 7)
    assert Unit.from_dict(unit.to_dict()) == unit
    assert "at most 7 rows each" in str(unit)
    statement = str(dp.Ledger(limit=dp.PureDP(1), unit=unit).statement())
    assert "at most 7 rows each" in statement


def test_no_noise_has_no_event_for_what_a_person_moves() -> None:
    with pytest.raises(ValueError, match="no privacy guarantee"):
        dp.mechanisms.NoNoise().event(dp.coding.Sensitivity(1, 1))
    assert dp.mechanisms.NoNoise().event(dp.coding.Sensitivity(0, 0)) == events.Compose()
