"""What the chain notices, and what it can't."""

from __future__ import annotations

import json
import shutil
import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest

from discreet.events import DiscreteLaplace
from discreet.ledger import Ledger, LedgerCorrupt
from discreet.ledger.chain import canonical, digest
from discreet.measures import ApproxDP, PureDP

PAIR = ApproxDP(1, 1e-6)


@pytest.fixture
def ledger(url: str) -> Ledger:
    made = Ledger(url, limit=PAIR)
    team = made.account("team", PureDP(0.5))
    for i in range(4):
        made.charge(DiscreteLaplace(20), note=f"question {i}")
        team.charge(DiscreteLaplace(20))
    made.verify()
    return made


def _sql(ledger: Ledger, *statements: str, values: tuple[object, ...] = ()) -> None:
    with sqlite3.connect(ledger.url.removeprefix("sqlite:///")) as connection:
        for statement in statements:
            connection.execute(statement, values)
    connection.close()


def _body(ledger: Ledger, number: int) -> dict[str, object]:
    with ledger._store.reading() as connection:
        found = connection.exec_driver_sql(
            "SELECT body FROM discreet_entries WHERE number = ?", (number,)
        )
        return json.loads(found.scalar_one())


def _rewrite(ledger: Ledger, number: int, **changes: object) -> None:
    """Change an entry and make its own hash fit."""
    body = canonical({**_body(ledger, number), **changes})
    statement = "UPDATE discreet_entries SET body = ?, hash = ? WHERE number = ?"
    _sql(ledger, statement, values=(body, digest(body), number))


def test_an_edited_entry(ledger: Ledger) -> None:
    _sql(
        ledger, "UPDATE discreet_entries SET body = replace(body, '1/20', '1/40') WHERE number = 3"
    )
    with pytest.raises(LedgerCorrupt, match="Entry 3 was changed"):
        ledger.verify()
    assert ledger.head[1] == 10


def test_an_edited_entry_with_a_fitting_hash(ledger: Ledger) -> None:
    _rewrite(ledger, 3, note="something else")
    with pytest.raises(LedgerCorrupt, match="Entry 4 doesn't follow"):
        ledger.verify()


def test_an_entry_that_is_no_json(ledger: Ledger) -> None:
    for body in ("{", "[]", "7"):
        _sql(ledger, "UPDATE discreet_entries SET body = ? WHERE number = 3", values=(body,))
        with pytest.raises(LedgerCorrupt, match="Entry 3"):
            ledger.verify()
        with pytest.raises(LedgerCorrupt, match="Entry 3"):
            ledger.entries()


def test_a_removed_entry(ledger: Ledger) -> None:
    _sql(ledger, "DELETE FROM discreet_entries WHERE number = 5")
    with pytest.raises(LedgerCorrupt, match="Entry 5 is missing"):
        ledger.verify()


def test_an_edited_opening(ledger: Ledger) -> None:
    _sql(ledger, "UPDATE discreet_entries SET body = replace(body, '1', '2') WHERE number = 0")
    with pytest.raises(LedgerCorrupt, match="Entry 0 was changed"):
        Ledger(ledger.url)
    with pytest.raises(LedgerCorrupt, match="Entry 0"):
        ledger.verify()


def test_edited_balances(ledger: Ledger) -> None:
    _sql(ledger, """UPDATE discreet_balances SET totals = '{"delta":"0","epsilon":"0"}'""")
    with pytest.raises(LedgerCorrupt, match="balance of account / isn't"):
        ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE discreet_balances SET caps = replace(caps, '1', '2') WHERE account = '/team'",
        "UPDATE discreet_balances SET totals = 'x' WHERE account = '/team'",
        "UPDATE discreet_balances SET entry = 2 WHERE account = '/team'",
    ],
)
def test_edited_accounts(ledger: Ledger, statement: str) -> None:
    _sql(ledger, statement)
    with pytest.raises(LedgerCorrupt, match="account /team"):
        ledger.verify()


def test_a_balance_that_is_missing_or_too_many(ledger: Ledger) -> None:
    _sql(ledger, "UPDATE discreet_balances SET account = '/other' WHERE account = '/team'")
    with pytest.raises(LedgerCorrupt, match="/other, /team"):
        ledger.verify()
    _sql(ledger, "DELETE FROM discreet_balances")
    with pytest.raises(LedgerCorrupt, match="balance of account / is missing"):
        ledger.charge(DiscreteLaplace(10))
    assert repr(ledger) == "Ledger(limit=ApproxDP(epsilon=1, delta=1e-06), not readable)"


def test_a_cut_tail_is_noticed_by_the_balances(ledger: Ledger) -> None:
    _sql(ledger, "DELETE FROM discreet_entries WHERE number >= 8")
    with pytest.raises(LedgerCorrupt, match="the last entries were cut off"):
        ledger.verify()


def test_a_tail_cut_with_its_balances_is_noticed_against_an_anchor_only(ledger: Ledger) -> None:
    head, count = ledger.head
    assert count == 10
    totals = _body(ledger, 8)["totals"]["/"]
    _sql(ledger, "DELETE FROM discreet_entries WHERE number = 9")
    change = "UPDATE discreet_balances SET totals = ? WHERE account = ?"
    _sql(ledger, change, values=(canonical(totals), "/"))
    _sql(ledger, change, values=(canonical(_body(ledger, 7)["totals"]["/team"]), "/team"))
    with pytest.raises(LedgerCorrupt, match="Entry 9, which this process saw"):
        ledger.verify()
    other = Ledger(ledger.url)
    other.verify()  # nothing inside the file tells somebody who opens it now
    with pytest.raises(LedgerCorrupt, match="head hash isn't in the ledger"):
        other.verify(head=head)
    with pytest.raises(LedgerCorrupt, match="9 entries, but 10 were seen"):
        other.verify(head=head, count=count)
    with pytest.raises(LedgerCorrupt, match="9 entries, but 10 were seen"):
        other.verify(count=count)


def test_a_restored_backup_is_noticed_against_an_anchor(ledger: Ledger, tmp_path: Path) -> None:
    path = Path(ledger.url.removeprefix("sqlite:///"))
    ledger._store.disconnect()  # the last connection that closes writes the log into the file
    shutil.copy(path, tmp_path / "backup.db")
    ledger.charge(DiscreteLaplace(20), note="the one to forget")
    head, count = ledger.head
    ledger.verify(head, count)
    ledger._store.disconnect()
    shutil.copy(tmp_path / "backup.db", path)
    restored = Ledger(ledger.url)
    restored.verify()
    with pytest.raises(LedgerCorrupt, match="backup was restored"):
        restored.verify(head, count)
    restored.charge(DiscreteLaplace(20), note="another one")
    with pytest.raises(LedgerCorrupt, match="backup was restored"):
        restored.verify(head, count)


def test_an_old_anchor_holds_while_the_ledger_grows(ledger: Ledger) -> None:
    head, count = ledger.head
    ledger.charge(DiscreteLaplace(20))
    ledger.verify(head, count)
    ledger.verify(head)
    ledger.verify(count=count)
    with pytest.raises(LedgerCorrupt):
        ledger.verify(head, count - 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"booked": {"epsilon": "-1/20", "delta": "0"}}, "less than nothing"),
        ({"booked": {"epsilon": "1/40", "delta": "0"}}, "total of account / is wrong"),
        ({"totals": {"/team": {}}}, "all accounts above"),
        ({"kind": "refund"}, "kind"),
        ({"kind": "ledger"}, "kind"),
        ({"account": "/nobody", "totals": {"/": {}, "/nobody": {}}}, "lacks a part|is wrong"),
        ({"booked": None}, "lacks a part"),
    ],
)
def test_a_last_entry_rewritten_with_a_fitting_hash_must_still_add_up(ledger, changes, words):
    _rewrite(ledger, 9, **changes)
    with pytest.raises(LedgerCorrupt, match=words):
        ledger.verify()


def test_entries_that_pass_a_limit_are_noticed(ledger: Ledger) -> None:
    last = _body(ledger, 9)
    booked = {"epsilon": "10", "delta": "0"}
    totals = {
        "/": {"epsilon": str(10 + PureDP("0.35").epsilon), "delta": "0"},
        "/team": {"epsilon": str(10 + PureDP("0.15").epsilon), "delta": "0"},
    }
    assert last["totals"] != totals
    _rewrite(ledger, 9, booked=booked, totals=totals)
    with pytest.raises(LedgerCorrupt, match="passes the limit of account /"):
        ledger.verify()


def test_a_ledger_without_entries(ledger: Ledger) -> None:
    _sql(ledger, "DELETE FROM discreet_entries")
    with pytest.raises(LedgerCorrupt, match="missing"):
        ledger.verify()
    with pytest.raises(LedgerCorrupt, match="missing"):
        ledger.charge(DiscreteLaplace(20))
    with pytest.raises(LedgerCorrupt, match="entry that made account /team"):
        ledger.account("team")


def test_hashes_tie_each_entry_to_the_one_before(ledger: Ledger) -> None:
    entries = ledger.entries()
    assert entries[0].previous == "0" * 64
    for before, after in pairwise(entries):
        assert after.previous == before.hash
        assert digest(canonical(_body(ledger, after.number))) == after.hash
