"""The ledger of a fit or question that was given none: the same entries as any other, and no file."""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dp
from discreet import events
from discreet.ledger import BudgetExceeded, LedgerUnavailable, temporary
from discreet.ledger.own import OwnLedger
from discreet.models.naive_bayes import GaussianNB

UNIT = dp.Unit(dp.ADD_REMOVE)
LIMITS = (dp.PureDP(1), dp.ApproxDP(1, 1e-6), dp.ZCDP("1/2"))
QUARTER = events.DiscreteLaplace(4)  # costs 1/4
#: What differs between two entries for the same charge.
CHANGING = ("time", "hash", "previous", "token")


def told(entry: object) -> dict[str, object]:
    return {name: value for name, value in vars(entry).items() if name not in CHANGING}


def count_of(ledger: dp.Ledger) -> int:
    """How many such charges fit: some."""
    for count in range(1000):
        try:
            ledger.charge(QUARTER)
        except BudgetExceeded:
            assert count >= 4
            return count
    raise AssertionError


@pytest.mark.parametrize("limit", LIMITS, ids=repr)
def test_it_charges_as_any_other_ledger(limit: dp.measures.Measure) -> None:
    own, other = OwnLedger(limit, UNIT), dp.Ledger(limit=limit, unit=UNIT)
    assert (own.unit, own.limit, own.composition) == (other.unit, other.limit, other.composition)
    for _ in range(count_of(dp.Ledger(limit=limit, unit=UNIT))):
        assert told(own.charge(QUARTER, note="a note")) == told(
            other.charge(QUARTER, note="a note")
        )
        assert (own.spent(), own.remaining()) == (other.spent(), other.remaining())
        assert repr(own).split("(", 1)[1] == repr(other).split("(", 1)[1]
    refusals = []
    for ledger in (own, other):
        with pytest.raises(BudgetExceeded) as caught:
            ledger.charge(QUARTER)
        refusals.append(str(caught.value))
    assert refusals[0] == refusals[1]
    assert own.charge(events.Compose()).booked == other.charge(events.Compose()).booked


def test_its_entries_hold_the_hashes_of_those_before() -> None:
    own = OwnLedger(dp.PureDP(1), UNIT)
    first, second = own.charge(QUARTER), own.charge(QUARTER)
    assert (first.number, second.number) == (1, 2)
    assert second.previous == first.hash != second.hash
    assert len(first.previous) == 64
    assert first.token != second.token


def test_a_token_is_charged_once() -> None:
    own = OwnLedger(dp.PureDP(1), UNIT)
    assert own.find("mine") is None
    entry = own.charge(QUARTER, token="mine")
    assert own.charge(QUARTER, token="mine") is own.find("mine") is entry
    assert own.spent() == dp.PureDP("1/4")
    with pytest.raises(ValueError, match="something else"):
        own.charge(events.DiscreteLaplace(8), token="mine")
    assert own.spent() == dp.PureDP("1/4")


def test_assumed_events_need_consent() -> None:
    assumed = events.Assumed(QUARTER, "taken on trust")
    with pytest.raises(ValueError, match="accept_assumed"):
        OwnLedger(dp.PureDP(1), UNIT).charge(assumed)
    assert OwnLedger(dp.PureDP(1), UNIT, accept_assumed=True).charge(assumed).number == 1


def test_public_rows_and_endless_budgets_have_none() -> None:
    with pytest.raises(ValueError, match=r"dp\.PUBLIC"):
        OwnLedger(dp.PureDP(1), dp.Unit(dp.PUBLIC))
    with pytest.raises(ValueError, match="finite"):
        OwnLedger(dp.PureDP(float("inf")), UNIT)


def test_threads_together_keep_the_limit() -> None:
    own, accepted = OwnLedger(dp.PureDP(1), UNIT), []
    event = events.DiscreteLaplace(100)
    start = threading.Barrier(8)

    def charge() -> None:
        start.wait()
        for _ in range(40):
            try:
                accepted.append(own.charge(event).number)
            except BudgetExceeded:
                return

    threads = [threading.Thread(target=charge) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(accepted) == list(range(1, 101))  # each number once: 100 charges of 1/100
    assert own.remaining() == dp.PureDP(0)


def test_a_forked_process_is_refused() -> None:
    own = OwnLedger(dp.PureDP(1), UNIT)
    own.charge(QUARTER, token="mine")
    child = os.fork()
    if not child:
        refused = 0
        for use in (own.remaining, lambda: own.charge(QUARTER), lambda: own.find("mine")):
            try:
                use()
            except LedgerUnavailable:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    assert own.remaining() == dp.PureDP(Fraction(3, 4))


def test_it_is_neither_pickled_nor_asked_for_what_it_does_not_keep() -> None:
    own = OwnLedger(dp.PureDP(1), UNIT)
    with pytest.raises(TypeError, match=r"ledger=dp\.Ledger"):
        pickle.dumps(own)
    for use in (own.entries, own.statement, own.verify, lambda: own.account("a", dp.PureDP(1))):
        with pytest.raises(LedgerUnavailable, match=r"ledger=dp\.Ledger"):
            use()
    assert "memory" in own.url


def test_fits_and_questions_make_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(temporary, "_folders", {})  # this process may have one already
    x, y = np.linspace(0, 1, 40)[:, None], np.arange(40) % 2
    model = GaussianNB(epsilon="1/2", bounds=(0, 1), classes=[0, 1]).fit(x, y)
    entry = model.privacy_.entry
    assert entry is not None
    assert entry.booked == dp.PureDP("1/2")
    assert dp.mean(x[:, 0], bounds=(0, 1), epsilon=1).entry is not None
    assert list(tmp_path.iterdir()) == []
