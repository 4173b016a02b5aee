"""Connections to PostgreSQL that are cut around the commit, by a wire that the tests hold."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from discreet.events import DiscreteLaplace
from discreet.ledger import BudgetExceeded, Ledger, LedgerUnavailable, LedgerUnknown
from discreet.ledger.dialects.postgres import PostgreSQL
from discreet.measures import PureDP

_names = itertools.count()


class Wire:
    """Passes bytes between clients and the server, until a plan for the next commit says otherwise.

    Plans: ``"lose"`` cuts before the server gets the commit, ``"deafen"`` cuts before the client
    gets the answer, ``"hold"`` cuts the client and keeps the commit for `release` or `drop`.
    """

    def __init__(self, port: int) -> None:
        self.server = port
        self.plans: list[str] = []
        self.at = b"COMMIT\0"
        self.down = False
        self.then_down = False
        self.held: list[tuple[socket.socket, bytes]] = []
        self.open: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                if self.down:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self.server))
                self.open += [client, server]
                deaf = threading.Event()
                for target in (self._up, self._back):
                    threading.Thread(
                        target=target, args=(client, server, deaf), daemon=True
                    ).start()

    def _up(self, client: socket.socket, server: socket.socket, deaf: threading.Event) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                plan = self.plans.pop(0) if self.plans and self.at in data else ""
                if plan:
                    self.down = self.then_down
                if plan == "hold":
                    self.held.append((server, data))
                    deaf.set()
                    self._cut(client)
                    return
                if plan == "lose":
                    break
                if plan == "deafen":
                    deaf.set()
                server.sendall(data)
        self._cut(client)
        if not deaf.is_set():
            self._cut(server)

    def _back(self, client: socket.socket, server: socket.socket, deaf: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if deaf.is_set():
                    break
                client.sendall(data)
        self._cut(client)
        if not any(server is kept for kept, _ in self.held):
            self._cut(server)

    @staticmethod
    def _cut(end: socket.socket) -> None:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()

    def release(self) -> None:
        """Give the server what was held; the client is long gone."""
        for server, data in self.held:
            server.sendall(data)
            server.shutdown(socket.SHUT_WR)
        self.held.clear()

    def drop(self) -> None:
        """Let the server know that the client is gone."""
        for server, _ in self.held:
            self._cut(server)
        self.held.clear()

    def close(self) -> None:
        self.listener.close()
        for end in self.open:
            self._cut(end)


@pytest.fixture
def wire(postgres_server) -> Iterator[Wire]:
    made = Wire(postgres_server.port)
    yield made
    made.close()


@pytest.fixture
def ledger(wire: Wire) -> Ledger:
    """A ledger behind the wire, with room for ten charges of 0.1."""
    return Ledger(_new_url(wire), limit=PureDP(1))


def _new_url(wire: Wire) -> str:
    return f"postgresql://owner@127.0.0.1:{wire.port}/postgres?ledger=lost_{next(_names)}"


@pytest.fixture
def impatient(monkeypatch) -> None:
    monkeypatch.setattr(PostgreSQL, "patience_seconds", 0.5)
    monkeypatch.setattr(PostgreSQL, "wait_seconds", 1)


def _booked(ledger: Ledger, count: int) -> None:
    ledger.verify()
    assert len(ledger.entries()) == 1 + count
    assert ledger.spent() == PureDP(count * PureDP("0.1").epsilon)


@pytest.mark.parametrize("plan", ["lose", "deafen"])
def test_a_cut_at_the_commit_charges_once(ledger: Ledger, wire: Wire, plan: str) -> None:
    wire.plans = [plan]
    entry = ledger.charge(DiscreteLaplace(10))
    assert wire.plans == []
    assert ledger.find(entry.token) == entry
    _booked(ledger, 1)


def test_cuts_again_and_again(ledger: Ledger, wire: Wire) -> None:
    wire.plans = ["lose", "lose", "deafen", "lose", "deafen", "deafen", "lose"]
    charged = [ledger.charge(DiscreteLaplace(10)) for _ in range(4)]
    assert [entry.number for entry in charged] == [1, 2, 3, 4]
    assert ledger.entries()[1:] == charged
    _booked(ledger, 4)


@pytest.mark.parametrize("at", [b"BEGIN", b"SELECT", b"INSERT", b"UPDATE"])
@pytest.mark.parametrize("plan", ["lose", "deafen"])
def test_a_cut_before_the_commit_charges_once(ledger, wire, at, plan) -> None:
    wire.at, wire.plans = at, [plan]
    entry = ledger.charge(DiscreteLaplace(10))
    assert wire.plans == []
    assert entry.number == 1
    _booked(ledger, 1)


@pytest.mark.parametrize("plan", ["lose", "deafen"])
def test_the_last_charge_that_fits_and_the_first_that_does_not(ledger, wire, plan) -> None:
    for _ in range(9):
        ledger.charge(DiscreteLaplace(10))
    wire.plans = [plan]
    assert ledger.charge(DiscreteLaplace(10)).number == 10
    wire.plans, wire.at = [plan], b"BEGIN"
    with pytest.raises(BudgetExceeded):
        ledger.charge(DiscreteLaplace(10))
    _booked(ledger, 10)


def test_a_retry_that_finds_the_budget_gone_is_refused(ledger: Ledger, wire: Wire) -> None:
    """Somebody else takes the rest between the lost commit and the next attempt."""
    other = Ledger(ledger.url.replace(str(wire.port), str(wire.server)))
    wire.plans = ["hold"]
    refused: list[BaseException] = []

    def charge() -> None:
        try:
            ledger.charge(DiscreteLaplace(10))
        except BudgetExceeded as error:
            refused.append(error)

    thread = threading.Thread(target=charge)
    taker = threading.Thread(target=lambda: other.charge(DiscreteLaplace(1), PureDP(1)))
    thread.start()
    while not wire.held:
        time.sleep(0.01)
    taker.start()
    time.sleep(0.3)  # both wait for the lock; who comes first doesn't matter to the sums
    wire.drop()
    thread.join()
    taker.join()
    other.verify()
    assert len(other.entries()) == 2
    assert len(refused) == 1 - (other.spent() != PureDP(1))


def test_a_commit_that_is_still_on_its_way_is_waited_for(ledger: Ledger, wire: Wire) -> None:
    """The client is cut off; the server gets the commit a second later."""
    wire.plans = ["hold"]
    found = []
    thread = threading.Thread(target=lambda: found.append(ledger.charge(DiscreteLaplace(10))))
    start = time.monotonic()
    thread.start()
    while not wire.held:
        time.sleep(0.01)
    time.sleep(1)
    assert thread.is_alive()  # it neither charges again nor says no
    wire.release()
    thread.join()
    assert time.monotonic() - start > 1
    assert found == ledger.entries()[1:]
    _booked(ledger, 1)


@pytest.mark.parametrize("becomes", ["charged", "not charged"])
def test_a_commit_that_hangs_too_long_is_unknown(impatient, ledger, wire, becomes) -> None:
    wire.plans = ["hold"]
    with pytest.raises(LedgerUnknown, match="others kept it locked") as caught:
        ledger.charge(DiscreteLaplace(10))
    with pytest.raises(LedgerUnavailable, match="locked"):
        ledger.find(caught.value.token)  # still nobody knows
    assert ledger.remaining() == PureDP(1)  # readers don't wait
    wire.release() if becomes == "charged" else wire.drop()
    entry = ledger.find(caught.value.token)
    assert (entry is not None) == (becomes == "charged")
    _booked(ledger, int(becomes == "charged"))


@pytest.mark.parametrize("plan", ["lose", "deafen"])
def test_a_server_that_stays_away_is_unknown(impatient, ledger, wire, plan) -> None:
    wire.plans, wire.then_down = [plan], True
    with pytest.raises(LedgerUnknown) as caught:
        ledger.charge(DiscreteLaplace(10))
    error = caught.value
    assert error.__context__ is None
    assert f"ledger.find('{error.token}')" in str(error)
    assert "\n" not in str(error)
    assert ledger.url in str(error)
    with pytest.raises(LedgerUnavailable):
        ledger.find(error.token)
    wire.down = False
    entry = ledger.find(error.token)
    assert (entry is not None) == (plan == "deafen")
    _booked(ledger, int(plan == "deafen"))


def test_a_server_that_is_away_before_the_commit_is_no_charge(impatient, ledger, wire) -> None:
    wire.at, wire.plans, wire.then_down = b"INSERT", ["deafen"], True
    with pytest.raises(LedgerUnavailable, match="Nothing was charged, so nothing may be read"):
        ledger.charge(DiscreteLaplace(10))
    wire.down = False
    _booked(ledger, 0)


def test_accounts_and_openings_are_made_once(wire: Wire) -> None:
    wire.plans = ["deafen", "deafen", "deafen"]
    url = _new_url(wire)
    Ledger(url, limit=PureDP(1)).charge(DiscreteLaplace(10))  # makes schema, tables; charges
    wire.plans = ["deafen"]
    ledger = Ledger(url)
    team = ledger.account("team", PureDP(0.5))
    wire.plans = ["lose"]
    inner = team.account("inner", PureDP(0.2))
    inner.charge(DiscreteLaplace(10))
    assert [entry.kind for entry in ledger.entries()] == [
        "ledger",
        "charge",
        "account",
        "account",
        "charge",
    ]
    ledger.verify()


def test_reads_go_on_after_a_cut(ledger: Ledger, wire: Wire) -> None:
    ledger.charge(DiscreteLaplace(10))
    for act in (ledger.remaining, ledger.statement, ledger.verify, ledger.entries):
        wire.at, wire.plans = b"SELECT", ["deafen"]
        act()
        assert wire.plans == []


def test_a_look_without_the_lock_would_be_too_early(ledger, wire, monkeypatch) -> None:
    """The control: a ledger that only reads after a lost commit charges the same answer twice."""
    store = ledger._store

    def hasty(find, token, patience):
        found = store.read(find)
        wire.release()  # the commit arrives just after the look
        return found

    monkeypatch.setattr(store, "_find", hasty)
    wire.plans = ["hold"]
    with pytest.raises(LedgerUnavailable, match="duplicate key"):  # the index on tokens is the net
        ledger.charge(DiscreteLaplace(10))
    assert ledger.spent() == PureDP(0.1)  # and it said that nothing was charged
