"""Plans that are paid in advance: charged once, taken up again, and never read twice."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet import events
from discreet.ledger import Nobody, PaidPlan

SCHEMA = dp.Schema(x=dp.Real(0, 1))
COUNT = dp.Count()
ONE = events.DiscreteLaplace(10)
PLAN = events.Repeat(ONE, 4)
BUDGET = dp.PureDP("1/10")
LIMIT = dp.PureDP("2/5")


def open_data(ledger: dp.Ledger) -> dp.PrivateDataset:
    return dp.PrivateDataset({"x": [0.25, 0.75]}, SCHEMA, ledger=ledger)


@pytest.fixture
def ledger(tmp_path: Path) -> dp.Ledger:
    return dp.Ledger(f"sqlite:///{tmp_path}/budget.db", limit=LIMIT)


def charges(ledger: dp.Ledger) -> list[Any]:
    return [entry for entry in ledger.entries() if entry.kind == "charge"]


def test_a_prepaid_door_is_a_data_set_with_another_payer(ledger: dp.Ledger) -> None:
    data = open_data(ledger)
    with data.prepaid(PLAN) as door:
        assert isinstance(door, dp.PrivateDataset)
        assert door.ledger is ledger
        assert door.entry == charges(ledger)[0]
        release = door.release(COUNT, BUDGET)
        assert release.entry == door.entry
        with door.prepaid(
            events.Repeat(ONE, 2)
        ) as inner:  # part of the plan, so it costs nothing more
            inner.release(COUNT, BUDGET)
    assert data.entry is None
    assert len(charges(ledger)) == 1
    with pytest.raises(ValueError, match="closed"):
        door.release(COUNT, BUDGET)


def test_a_plan_with_a_token_is_charged_once_and_goes_on_behind_what_was_begun(
    ledger: dp.Ledger,
) -> None:
    for begun in (0, 2, 3):
        with open_data(ledger).prepaid(PLAN, token="training of May") as door:
            assert door.begun == begun
            for _ in range(2 if begun == 0 else 1):
                door.release(COUNT, BUDGET)
    assert ledger.spent() == LIMIT
    with (
        open_data(ledger).prepaid(PLAN, token="training of May") as door,
        pytest.raises(ValueError, match="next in it is nothing more"),
    ):
        door.release(COUNT, BUDGET)
    ledger.verify()


def test_a_step_is_on_the_disk_before_its_rows_are_read(
    ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = open_data(ledger)
    order: list[int] = []
    engine = type(data._engine)
    totals = engine.totals
    monkeypatch.setattr(
        engine, "totals", lambda *a: (order.append(len(charges(ledger))), totals(*a))[1]
    )
    with data.prepaid(PLAN, token="t") as door:
        door.release(COUNT, BUDGET)
        door.release(COUNT, BUDGET)
    assert order == [2, 3]  # the plan and one step; the plan and two


def test_a_step_that_failed_after_it_was_begun_is_not_repeated(
    ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = open_data(ledger)
    monkeypatch.setattr(type(data._engine), "totals", lambda *_: _interrupt())
    with data.prepaid(PLAN, token="t") as door, pytest.raises(KeyboardInterrupt):
        door.release(COUNT, BUDGET)
    monkeypatch.undo()
    with open_data(ledger).prepaid(PLAN, token="t") as door:
        assert door.begun == 1


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_two_doors_of_one_plan_never_begin_the_same_step(ledger: dp.Ledger) -> None:
    data = open_data(ledger)
    with data.prepaid(PLAN, token="t") as one, data.prepaid(PLAN, token="t") as other:
        one.release(COUNT, BUDGET)
        with pytest.raises(ValueError, match="begun before, here or elsewhere"):
            other.release(COUNT, BUDGET)
        with pytest.raises(ValueError, match="closed"):
            other.release(COUNT, BUDGET)
        one.release(COUNT, BUDGET)
    assert len(charges(ledger)) == 3


def _take_steps(url: str, results: Any) -> None:
    taken = 0
    for _ in range(20):
        try:
            with open_data(dp.Ledger(url)).prepaid(PLAN, token="t") as door:
                while True:
                    door.release(COUNT, BUDGET)
                    taken += 1
        except ValueError as error:
            if "nothing more" in str(error):
                break
    results.put(taken)


def test_processes_share_the_steps_of_a_plan_without_repeating_one(ledger: dp.Ledger) -> None:
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    workers = [context.Process(target=_take_steps, args=(ledger.url, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    taken = [results.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    assert sum(taken) == 4
    assert ledger.spent() == LIMIT


def test_the_progress_of_a_long_plan_is_found_without_reading_all_of_it(
    ledger: dp.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = events.Repeat(events.DiscreteLaplace(1000), 60)
    with open_data(ledger).prepaid(plan, token="t") as door:
        for _ in range(37):
            door.release(COUNT, dp.PureDP("1/1000"))
    looked: list[str] = []
    find = type(ledger).find
    monkeypatch.setattr(type(ledger), "find", lambda *a: (looked.append(a[1]), find(*a))[1])
    with open_data(ledger).prepaid(plan, token="t") as door:
        assert door.begun == 37
    assert len(looked) < 16


def test_a_part_of_a_plan_has_no_token_of_its_own(ledger: dp.Ledger) -> None:
    with (
        open_data(ledger).prepaid(PLAN, token="t") as door,
        pytest.raises(ValueError, match="token: a part of a plan"),
        door.prepaid(ONE, token="u"),
    ):
        pass


def test_a_charge_with_a_token_is_booked_once(ledger: dp.Ledger) -> None:
    entry = ledger.charge(ONE, BUDGET, note="a click", token="click 1")
    assert ledger.charge(ONE, BUDGET, note="the same click", token="click 1") == entry
    assert ledger.find("click 1") == entry
    assert ledger.find(entry.token) == entry
    assert ledger.find("click 2") is None
    assert len(charges(ledger)) == 1
    assert ledger.charge(ONE, BUDGET, token="click 2") != entry
    with pytest.raises(ValueError, match="token: a charge for something else"):
        ledger.charge(events.DiscreteLaplace(20), token="click 1")
    with pytest.raises(ValueError, match="token: a charge for something else"):
        ledger.account("mine", LIMIT).charge(ONE, BUDGET, token="click 1")
    for token in ("", 3):
        with pytest.raises(TypeError, match="token must be"):
            ledger.charge(ONE, BUDGET, token=token)  # type: ignore[arg-type]
    assert len(charges(ledger)) == 2
    ledger.verify()


def test_tokens_of_any_text_are_kept_apart(ledger: dp.Ledger) -> None:
    tokens = ["a", "a ", "é", "e\u0301", "\ud800", "x" * 10_000, "0" * 32, "0" * 31]
    for token in tokens:
        ledger.charge(events.Compose(), token=token)
    assert len(charges(ledger)) == len(tokens)
    assert len({ledger.find(token).number for token in tokens}) == len(tokens)  # type: ignore[union-attr]


def test_public_rows_are_paid_by_nobody() -> None:
    data = dp.PrivateDataset({"x": [0.25, 0.75]}, SCHEMA, unit=dp.PUBLIC)
    assert data.ledger is None
    assert Nobody().charge(ONE, BUDGET) is None
    with data.prepaid(PLAN, token="nobody keeps this") as door:
        assert door.entry is None
        assert door.release(COUNT, BUDGET).is_private is False
    plan = PaidPlan(PLAN, None)
    assert plan.charge(ONE) is None
    assert plan.begun == 1
