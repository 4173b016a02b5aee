"""What a ledger says about itself."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from discreet.events import (
    Assumed,
    Compose,
    DiscreteLaplace,
    External,
    Gaussian,
    Parallel,
    event_from_dict,
)
from discreet.ledger import Entry, Ledger
from discreet.ledger.chain import who
from discreet.ledger.statement import describe
from discreet.measures import ZCDP, ApproxDP, PureDP, Renyi, measure_from_dict
from discreet.unit import REPLACE_ONE, Unit

PAIR = ApproxDP(1, 1e-6)


@pytest.fixture
def ledger() -> Ledger:
    made = Ledger(limit=PAIR, unit=Unit(REPLACE_ONE, "person", 2), accept_assumed=True)
    made.charge(DiscreteLaplace(10), note="count of patients")
    made.external(ApproxDP(0.2, 1e-8), "the hospital's yearbook, 2023")
    made.account("team", PureDP(0.5)).charge(
        Assumed(DiscreteLaplace(20), "real arithmetic"), note="a mean"
    )
    return made


def test_for_people(ledger: Ledger) -> None:
    text = str(ledger.statement())
    head, count = ledger.head
    for words in (
        "cost at most ApproxDP(epsilon=1, delta=1e-06)",
        "a person's data is replaced, the number of rows is public",
        "by column 'person', at most 2 rows each",
        "35.0% so far (a fill level; the guarantee is the limit)",
        "spent      ApproxDP(epsilon=0.35, delta=1e-08)",
        "left       ApproxDP(epsilon=0.65, delta=9.9e-07)",
        "the guarantee rests on entry 4: real arithmetic",
        "entry 2 was priced by a person: the hospital's yearbook, 2023",
        "DiscreteLaplace(scale=10, sensitivity=1): ApproxDP(epsilon=0.1, delta=0)",
        "(count of patients)",
        "opened the ledger",
        "made account /team",
        who(),
        f"{count} entries in the ledger, head {head}",
    ):
        assert words in text
    assert count == 5


def test_for_machines(ledger: Ledger) -> None:
    statement = ledger.statement()
    data = json.loads(statement.to_json())
    assert data == json.loads(json.dumps(statement.to_dict()))
    assert measure_from_dict(data["limit"]) == PAIR
    assert Unit.from_dict(data["unit"]) == ledger.unit
    assert data["declared"] == [2]
    assert data["assumed"] == [{"entry": 4, "why": "real arithmetic"}]
    assert measure_from_dict(data["fill"]["spent"]) == ledger.spent()
    assert measure_from_dict(data["fill"]["remaining"]) == ledger.remaining()
    assert (data["head"], data["count"]) == ledger.head
    assert [entry["number"] for entry in data["entries"]] == [0, 1, 2, 3, 4]
    assert event_from_dict(data["entries"][1]["event"]) == DiscreteLaplace(10)
    assert data["terms"]["filter"] == {"composition": "basic"}
    ledger.verify(data["head"], data["count"])


def test_of_an_account(ledger: Ledger) -> None:
    team = ledger.account("team")
    statement = team.statement()
    assert [entry.number for entry in statement.entries] == [3, 4]
    assert statement.limit == PureDP(0.5)
    assert statement.used == pytest.approx(0.1)
    assert "Privacy statement of this account /team" in str(statement)
    assert statement.count == 5
    assert statement.declared == ()


def test_entries_are_plain_and_frozen(ledger: Ledger) -> None:
    entry = ledger.entries()[1]
    assert isinstance(entry, Entry)
    assert entry.event == DiscreteLaplace(10)
    assert entry.booked == ApproxDP(0.1, 0)
    assert entry.account == "/"
    assert entry.delta == 0
    assert entry.who == who()
    made = datetime.fromisoformat(entry.time)
    assert made.tzinfo is not None
    assert abs(datetime.now(UTC) - made) < timedelta(minutes=5)
    with pytest.raises(AttributeError):
        entry.note = "another"


def test_a_charge_returns_the_entry_that_is_stored() -> None:
    ledger = Ledger(limit=PAIR, composition="renyi", delta_reserve=1e-7)
    made = [
        ledger.charge(Gaussian(100), note="α"),
        ledger.external(ApproxDP(0.01, 1e-8), "elsewhere"),
        ledger.charge(External(Renyi({14: 0.01, 29: 0.02, math.inf: math.inf}), "a curve")),
    ]
    assert ledger.entries()[1:] == made
    assert ledger.statement().entries[1:] == tuple(made)
    ledger.verify()


def test_infinities_are_written_as_text() -> None:
    ledger = Ledger(limit=PAIR, composition="renyi")
    ledger.charge(Gaussian(100))
    data = json.loads(ledger.statement().to_json())
    assert data["entries"][1]["booked"]["curve"]["inf"] == "inf"


def test_a_reserve_next_to_a_zcdp_limit_is_part_of_the_guarantee() -> None:
    statement = Ledger(limit=ZCDP(1), delta_reserve=1e-7).statement()
    assert "cost at most ZCDP(rho=1), outside an event of probability 1e-07" in str(statement)
    assert "outside" not in str(Ledger(limit=ZCDP(1)).statement())


def test_long_statements_show_the_last_entries() -> None:
    ledger = Ledger(limit=PureDP(100))
    for i in range(60):
        ledger.charge(DiscreteLaplace(100), note=f"number {i}.")
    text = str(ledger.statement())
    assert "... 11 earlier entries" in text
    assert "number 59." in text
    assert "number 5." not in text
    assert len(ledger.statement().to_dict()["entries"]) == 61


def test_repr_shows_limit_and_fill_and_nothing_else(ledger: Ledger) -> None:
    assert repr(ledger) == "Ledger(limit=ApproxDP(epsilon=1, delta=1e-06), 35% used)"


def test_long_events_are_shortened() -> None:
    many = Parallel([DiscreteLaplace(Fraction(1, 3))] * 5)
    assert describe(many).endswith("5 in all], reach=1)")
    ledger = Ledger(limit=PureDP(100))
    ledger.charge(Compose(many, many))
    assert max(map(len, str(ledger.statement()).splitlines())) < 200


FORGED = (
    "x\n  guarantee  nothing was charged",
    "x\r  spent      PureDP(epsilon=0)",
    "x\x1b[2K\x1b[1A  left       everything",
    "x\x9b2J",
    "x\u2028  anchor     0 entries",
    "x\u2029y",
    "x\x85y\x0by\x0cy\x1cy\x1dy\x1ey",
    "x\u202egniht on\u202c",
    "x\u2066y\u2069\u200e\u200f\u061c",
    "x\u200by\u2060\ufeff\xad\u180e",
    "x" + 300 * " " + "  guarantee  nothing was charged",
    "x" + 300 * "\u2800" + "guarantee nothing was charged",
    "x" + 300 * "\u3164" + "guarantee nothing was charged",
    "x\ud800y",
    "x\U000e0041y",
)


@pytest.mark.parametrize("note", FORGED)
def test_no_note_passes_for_a_line_of_the_statement(note: str, monkeypatch) -> None:
    from discreet.ledger import chain, journal

    def print_one(texts: list[str]) -> str:
        ledger = Ledger(limit=PureDP(10), accept_assumed=True)
        monkeypatch.setattr(journal, "who", lambda: texts[0])
        ledger.charge(DiscreteLaplace(10), note=texts[1])
        ledger.external(PureDP(0.1), texts[2])
        ledger.charge(Assumed(DiscreteLaplace(10), texts[3]))
        stored = ledger.entries()
        assert [stored[1].who, stored[1].note, stored[2].note] == texts[:3]  # to the last character
        assert json.loads(ledger.statement().to_json())["entries"][1]["note"] == texts[1]
        ledger.verify()
        return str(ledger.statement())

    assert chain.who() in print_one([chain.who(), "note", "declared", "premise"])
    usual = print_one(["ann@desk", "note", "declared", "premise"]).split("\n")
    forged = print_one([note] * 4).split("\n")
    assert len(forged) == len(usual)
    assert "\n".join(forged).splitlines() == forged
    for line, other in zip(forged, usual, strict=True):
        assert line.isprintable()
        assert line[:13] == other[:13]
        assert not set(line) & set("\u2800\u3164")
        assert len(line) < 700
        assert 100 * " " not in line


def test_ordinary_notes_are_printed_as_they_are() -> None:
    ledger = Ledger(limit=PureDP(1))
    for note in ("naïve \u2603", "年齢の平均", "C:\\data (May)", "l'été, 50 %"):
        ledger.charge(DiscreteLaplace(100), note=note)
        assert f"({note})" in str(ledger.statement())


def test_numbers_beyond_all_floats_are_printed() -> None:
    ledger = Ledger(limit=PureDP(10**400))
    ledger.charge(DiscreteLaplace(10**400))
    ledger.external(PureDP(10**399), "a great deal")
    text = str(ledger.statement())
    assert "DiscreteLaplace(scale=1e+400, sensitivity=1)" in text
    assert "PureDP(epsilon=1e+399)" in text
    assert repr(ledger) == "Ledger(limit=PureDP(epsilon=1e+400), 10% used)"
