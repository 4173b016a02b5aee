"""Whatever is damaged in a ledger's tables, its methods work or say `LedgerCorrupt`."""

from __future__ import annotations

import copy
import json
import pickle
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.events import Assumed, DiscreteLaplace, Gaussian
from discreet.ledger import BudgetExceeded, Ledger, LedgerCorrupt, LedgerUnavailable
from discreet.ledger.chain import canonical, digest
from discreet.measures import ApproxDP, PureDP
from discreet.unit import Unit

LIMITS: dict[str, dict[str, Any]] = {
    "basic": {"limit": ApproxDP(1, 1e-6)},
    "renyi": {"limit": ApproxDP(1, 1e-6), "composition": "renyi", "delta_reserve": 1e-7},
}

#: What a field may turn into: other types, texts that are nearly right, texts that are huge.
JUNK: tuple[Any, ...] = (
    None, -1, 0, 7, 2**62, 1.5, "", "x", b"\xff\xfe", "\udcff".encode("utf-8", "surrogatepass"),
    "{", "[]", "{}", "null", '"text"', "[" * 5000, '{"epsilon":"1"}', '{"epsilon":"-1","delta":"0"}',
    '{"epsilon":"1/0","delta":"0"}', '{"epsilon":"inf","delta":"inf"}', '{"epsilon":1,"delta":2}',
    '{"epsilon":"' + "9" * 5000 + '","delta":"0"}', '{"epsilon":"1e5","delta":"nan"}', "0" * 64,
)  # fmt: skip

#: What a part of an entry may turn into.
PARTS: tuple[Any, ...] = (
    None, True, -1, 0, 10**400, 1.5, "", "x", "-1", "1/0", "inf", "9" * 400, "9" * 5000, [], {}, [[]],
    {"a": {}},
)  # fmt: skip


@pytest.fixture
def shelf() -> Iterator[Path]:
    """Where ledgers don't wait for the disk, like temporary ones."""
    made = Path(tempfile.mkdtemp(prefix="discreet-ledgers-"))
    yield made
    shutil.rmtree(made)


TABLES = {
    "discreet_version": ("version",),
    "discreet_entries": ("number", "hash", "body", "token"),
    "discreet_balances": ("account", "entry", "caps", "totals"),
}


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def _template(path: Path, composition: str) -> bytes:
    """The bytes of a ledger with accounts, all sorts of entries, and tables without constraints."""
    ledger = Ledger(
        f"sqlite:///{path}", unit=Unit(id_column="id", max_rows=2), accept_assumed=True,
        **LIMITS[composition],
    )  # fmt: skip
    team = ledger.account("team", ApproxDP(0.5, 1e-7))
    if composition == "renyi":
        team.charge(Gaussian(100), note="noise")
        ledger.external(ApproxDP(0.01, 1e-8), "elsewhere")
    team.charge(DiscreteLaplace(20), note="counts")
    team.account("inner", ApproxDP(0.2, 1e-8)).charge(Assumed(DiscreteLaplace(20), "a premise"))
    ledger._store.disconnect()
    connection = _connect(path)
    connection.execute("PRAGMA journal_mode=DELETE")
    for table, columns in TABLES.items():  # fields that hold anything, also NULL and twice the same
        connection.execute(f"ALTER TABLE {table} RENAME TO old")
        connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        connection.execute(f"INSERT INTO {table} SELECT {', '.join(columns)} FROM old")
        connection.execute("DROP TABLE old")
    connection.execute("VACUUM")
    connection.close()
    return path.read_bytes()


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else ()
    for key, part in inner:
        yield from _leaves(part, (*path, key))


def _damage_field(connection: sqlite3.Connection, chance: random.Random) -> str:
    table = chance.choice(list(TABLES))
    column = chance.choice(TABLES[table])
    rows = [row[0] for row in connection.execute(f"SELECT rowid FROM {table}")]
    row = chance.choice(rows)
    (value,) = connection.execute(
        f"SELECT {column} FROM {table} WHERE rowid = ?", (row,)
    ).fetchone()
    junk = chance.choice(JUNK)
    if isinstance(value, str) and value and chance.random() < 0.4:  # a few characters are others
        at = chance.randrange(len(value))
        junk = value[:at] + chance.choice('0x"}/-,') + value[at + chance.choice((0, 1, 20)) :]
    if chance.random() < 0.1:
        connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
        return f"{table} row {row} deleted"
    if isinstance(junk, bytes) and chance.random() < 0.5:  # text that isn't UTF-8
        set_to = "CAST(? AS TEXT)"
    else:
        set_to = "?"
    connection.execute(f"UPDATE {table} SET {column} = {set_to} WHERE rowid = ?", (junk, row))
    return f"{table}.{column} row {row} = {str(junk)[:60]!r}"


def _damage_entry(connection: sqlite3.Connection, chance: random.Random) -> str:
    """Change a part of an entry and make all hashes fit, as a careful forger would."""
    rows = connection.execute(
        "SELECT number, body FROM discreet_entries ORDER BY number"
    ).fetchall()
    victim, text = chance.choice(rows)
    data = json.loads(text)
    path = chance.choice([leaf for leaf in _leaves(data) if leaf])
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    part = chance.choice(PARTS)
    if chance.random() < 0.25:
        del holder[path[-1]]
        what = f"entry {victim}: {path} deleted"
    else:
        holder[path[-1]] = part
        what = f"entry {victim}: {path} = {str(part)[:60]!r}"
    previous = None
    for number, body in rows:
        entry = data if number == victim else json.loads(body)
        if previous is not None and "previous" in entry:
            entry["previous"] = previous
        changed = canonical(entry)
        previous = digest(changed)
        connection.execute(
            "UPDATE discreet_entries SET body = ?, hash = ? WHERE number = ?",
            (changed, previous, number),
        )
    return what


def _acts(ledger: Ledger, spare: Path) -> dict[str, Callable[[], object]]:
    """Every public method and property, of the ledger and of its accounts."""
    acts: dict[str, Callable[[], object]] = {}
    for name, find in {
        "ledger": lambda: ledger,
        "team": lambda: ledger.account("team"),
        "inner": lambda: ledger.account("team").account("inner"),
    }.items():
        acts |= {
            f"{name} open": find,
            f"{name} unit": lambda find=find: find().unit,
            f"{name} limit": lambda find=find: find().limit,
            f"{name} composition": lambda find=find: find().composition,
            f"{name} url": lambda find=find: find().url,
            f"{name} head": lambda find=find: find().head,
            f"{name} spent": lambda find=find: repr(find().spent()),
            f"{name} remaining": lambda find=find: repr(find().remaining()),
            f"{name} repr": lambda find=find: repr(find()),
            f"{name} entries": lambda find=find: repr([e.to_dict() for e in find().entries()]),
            f"{name} statement": lambda find=find: str(find().statement()),
            f"{name} certificate": lambda find=find: find().statement().to_json(),
            f"{name} verify": lambda find=find: find().verify(),
            f"{name} find": lambda find=find: find().find("0" * 32),
            f"{name} find its own": lambda find=find: find().find(TOKEN),
            f"{name} pickle": lambda find=find: pickle.loads(pickle.dumps(find())),
            f"{name} copy": lambda find=find: copy.deepcopy(find()),
            f"{name} backup": lambda find=find: find().backup(spare),
            f"{name} charge": lambda find=find: str(find().charge(DiscreteLaplace(1000))),
            f"{name} external": lambda find=find: find().external(PureDP(0.001), "elsewhere"),
            f"{name} account": lambda find=find: find().account("more", ApproxDP(0.1, 1e-8)),
        }
    return acts


TOKEN = "f" * 32


def _try(what: str, act: Callable[[], object], *, version: bool) -> bool:
    """Whether it worked; fails unless it works or says that the ledger is damaged."""
    said = ""
    try:
        act()
    except (LedgerCorrupt, BudgetExceeded) as error:
        said = str(error)
    except LedgerUnavailable as error:
        # the number of a newer version can't be told from the truth
        said = str(error) if version and "install a newer discreet" in str(error) else "\n"
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {str(error)[:200]}") from error
    assert "\n" not in said, what
    assert len(said) < 1000, what
    return not said


def _check(shelf: Path, composition: str, seed: int, rounds: int) -> tuple[int, int]:
    chance = random.Random(seed)
    path, spare = shelf / "budget.db", shelf / "spare.db"
    template = _template(path, composition)
    worked = failed = 0
    for i in range(rounds):
        for part in shelf.iterdir():
            part.unlink()
        path.write_bytes(template)
        before = Ledger(f"sqlite:///{path}")  # opened when all was well
        if i % 2:
            assert before.account("team").limit == ApproxDP(0.5, 1e-7)
        before._store.disconnect()
        connection = _connect(path)
        damage = chance.choice((_damage_field, _damage_entry))
        what = damage(connection, chance)
        connection.close()
        version = "discreet_version" in what
        for how in ("opened before", "opened now"):
            ledger = before
            if how == "opened now" and not _try(
                f"{what}: open", lambda: Ledger(f"sqlite:///{path}"), version=version
            ):
                failed += 1
                continue
            if how == "opened now":
                ledger = Ledger(f"sqlite:///{path}")
            acts = list(_acts(ledger, spare).items())
            for name, act in chance.sample(acts, 12):
                spare.unlink(missing_ok=True)
                good = _try(f"{what}: {how}: {name}", act, version=version)
                worked, failed = worked + good, failed + (not good)
            ledger._store.disconnect()
    return worked, failed


@pytest.mark.parametrize("composition", LIMITS)
def test_a_damaged_field_gives_ledger_corrupt_or_does_no_harm(shelf, composition) -> None:
    worked, failed = _check(shelf, composition, seed=1, rounds=12)
    assert worked > 20
    assert failed > 20


@pytest.mark.slow
@pytest.mark.parametrize("composition", LIMITS)
@pytest.mark.parametrize("seed", range(4))
def test_many_damaged_fields_give_ledger_corrupt_or_do_no_harm(shelf, composition, seed) -> None:
    _check(shelf, composition, seed=100 + seed, rounds=250)


def test_a_ledger_without_damage_works_throughout(shelf: Path) -> None:
    """The control: nothing but damage makes an act fail."""
    path, spare = shelf / "budget.db", shelf / "spare.db"
    for composition in LIMITS:
        path.unlink(missing_ok=True)
        path.write_bytes(_template(shelf / f"{composition}.db", composition))
        for name, act in _acts(Ledger(f"sqlite:///{path}"), spare).items():
            spare.unlink(missing_ok=True)
            assert _try(name, act, version=False), name


def test_a_lost_balance_does_not_give_an_account_a_fresh_start(url: str) -> None:
    ledger = Ledger(url, limit=PureDP(1))
    ledger.account("team", PureDP(0.1)).charge(DiscreteLaplace(10))
    connection = _connect(Path(url.removeprefix("sqlite:///")))
    connection.execute("DELETE FROM discreet_balances WHERE account = '/team'")
    connection.close()
    for limit in (None, PureDP(0.1)):
        with pytest.raises(LedgerCorrupt, match="balance of account /team is missing"):
            ledger.account("team", limit)
    ledger.account("others", PureDP(0.1))  # who has nothing to do with it


def test_a_half_opened_ledger_has_a_repr() -> None:
    half = Ledger.__new__(Ledger)
    assert repr(half) == "Ledger(not open)"
    with pytest.raises(LedgerUnavailable) as caught:
        Ledger("sqlite:////no/such/place/budget.db", limit=PureDP(1))
    frame = caught.tb
    while frame is not None:
        for value in frame.tb_frame.f_locals.values():
            if isinstance(value, Ledger):
                assert repr(value) == "Ledger(not open)"
        frame = frame.tb_next
