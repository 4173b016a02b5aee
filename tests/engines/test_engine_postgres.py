"""PostgreSQL: its types, collations, errors and addresses. The rows never leave, nor does a password."""

from __future__ import annotations

import decimal
import math
import random
import struct
import traceback
from typing import Any

import oracle
import psycopg
import pytest
import tables

import discreet as dp
from discreet.engines.base import EngineFailed
from discreet.matching import ColumnMismatch
from discreet.testing import exact_totals


@pytest.fixture(scope="module")
def database(postgres_server: Any) -> str:
    name = postgres_server.new_database("engines")
    return str(postgres_server.url(name))


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def integers(source: Any, schema: dp.Schema, query: Any, unit: Any = dp.PUBLIC) -> Any:
    return exact_totals(dp.PrivateDataset(source, schema, unit=unit), query).tolist()


def test_numbers_of_every_type(database: str) -> None:
    cells: dict[str, list[Any]] = {
        "smallint": [-32768, 32767, 5, None],
        "integer": [-(2**31), 2**31 - 1, 5, None],
        "bigint": [-(2**63), 2**63 - 1, 2**53 + 1, None],
        "real": [1e-45, 3.4e38, 0.1, math.nan, math.inf, -math.inf, None],
        "double precision": [5e-324, -5e-324, 1e300, -1e308, math.nan, math.inf, -math.inf, -0.0, None],
        "numeric": ["1e400", "-1e400", "1e-400", "-1e-400", "1e-310", "NaN", "Infinity", "0.1", None],
        "numeric(12, 3)": ["2.500", "-3.700", "999999999.999", None],
        "boolean": [True, False, None],
    }  # fmt: skip
    schema = dp.Schema(
        v=dp.Integer(-40, 100),
        w=dp.Real(0, 1e9),
        z=dp.Real(-1e279, 1e270),
        k=dp.Categorical(-4, 0, 1, 2.5),
    )
    queries = [
        dp.Moments("v", "w", "z"), dp.Sum("v"), dp.Sum("w"), dp.Sum("z"), dp.Histogram("k"),
        dp.Quantile("w"), dp.Mean("z"),
    ]  # fmt: skip
    for kind, values in cells.items():
        run(database, "drop table if exists t")
        columns = ", ".join(f"{name} {kind}" for name in "vwzk")
        run(database, f"create table t ({columns})")
        with psycopg.connect(database, autocommit=True) as connection:
            for value in values:
                connection.execute(
                    f"insert into t select v, v, v, v from (select %s::{kind} as v) q".encode(),
                    (value,),
                )
        rows = []
        for value in values:
            cell = value
            if isinstance(value, str):
                cell = float(decimal.Decimal(value))
            elif kind == "real" and value is not None:
                cell = struct.unpack("f", struct.pack("f", value))[0]
            rows.append(dict.fromkeys("vwzk", cell))
        dataset = dp.PrivateDataset(f"{database}?table=t", schema, unit=dp.PUBLIC)
        for query in queries:
            wanted = oracle.totals(query, schema, rows)
            assert exact_totals(dataset, query).tolist() == wanted, (kind, query)


def test_random_doubles_never_raise(database: str) -> None:
    """All bits, in bounds of every size: PostgreSQL raises on underflow, so none may happen."""
    draw = random.Random(0)
    cells = [struct.unpack("d", struct.pack("Q", draw.getrandbits(64)))[0] for _ in range(300)]
    cells += [s * 2.0**e for e in range(-1074, 1000, 13) for s in (1, -1)]
    url = tables.postgres_url({"x": cells}, {"x": "real"}, Address(database), "doubles")
    rows = [{"x": cell} for cell in cells]
    for lower, upper in [
        (0, 9e279),
        (-4e279, 4e279),
        (0, 1e-279),
        (-1e-270, 1e9),
        (0, 0),
        (-7, 2**21),
    ]:
        schema = dp.Schema(x=dp.Real(lower, upper))
        for query in [dp.Sum("x"), dp.Moments("x"), dp.Quantile("x")]:
            assert integers(url, schema, query) == oracle.totals(query, schema, rows), (
                lower,
                query,
            )


class Address:
    """The one method of a server that `tables.postgres_url` needs."""

    def __init__(self, url: str) -> None:
        self._url = url

    def url(self) -> str:
        return self._url


TEXT = [
    "F",
    "f",
    "F ",
    " F",
    "Ä",
    "A\u0308",
    "日本",
    "it's",
    'say "x"',
    "back\\slash",
    "100%",
    "",
    None,
]


@pytest.mark.parametrize("kind", ["text", "varchar(20)", "mood", "short", 'text collate "C"'])
def test_text_is_compared_by_bytes(database: str, kind: str) -> None:
    run(
        database,
        "drop domain if exists short",
        "drop table if exists texts",
        "drop type if exists mood",
        "create type mood as enum (" + ", ".join(_quoted(t) for t in TEXT if t is not None) + ")",
        "create domain short as text",
        f"create table texts (s {kind})",
    )
    with psycopg.connect(database, autocommit=True) as connection:
        for text in TEXT:
            connection.execute(b"insert into texts values (%s)", (text,))
    values = [text for text in TEXT if text is not None][::2]
    schema = dp.Schema(s=dp.Categorical(*values, "NUL\0", "100%%"))
    query = dp.Histogram("s")
    wanted = oracle.totals(query, schema, [{"s": text} for text in TEXT])
    assert integers(f"{database}?table=texts", schema, query) == wanted
    run(database, "drop table texts")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def test_padding_of_char_is_no_part_of_the_value(database: str) -> None:
    run(database, "drop table if exists padded", "create table padded (s char(4), person char(6))")
    run(database, "insert into padded values ('F', 'a'), ('F ', 'a '), ('M', 'b'), (null, null)")
    schema = dp.Schema(s=dp.Categorical("F", "M", "F   "))
    url = f"{database}?table=padded"
    assert integers(url, schema, dp.Histogram("s")) == [[2], [1], [0]]
    unit = dp.Unit(dp.PUBLIC, "person", 1)
    assert integers(url, schema, dp.Histogram("s"), unit) == [[1], [1], [0]]


def test_ids_of_every_type(database: str) -> None:
    run(
        database,
        "drop table if exists ids",
        "create table ids (x float8, n numeric, u uuid, t text)",
    )
    big = 10**30
    run(
        database,
        f"insert into ids values (1, {big}, '00000000-0000-0000-0000-000000000001', 'a'), "
        f"(2, {big}.0, '00000000-0000-0000-0000-000000000001', 'A'), "
        f"(3, {big + 1}, '00000000-0000-0000-0000-000000000002', 'a'), "
        "(4, 'NaN', null, null), (5, 'Infinity', null, 'a ')",
    )
    schema = dp.Schema(x=dp.Real(0, 10))
    for name, persons in {"n": 2, "u": 2, "t": 3}.items():
        unit = dp.Unit(dp.PUBLIC, name, 1)
        assert integers(f"{database}?table=ids", schema, dp.Count(), unit) == [[persons]], name


def test_types_that_compare_otherwise_are_refused(database: str) -> None:
    run(
        database,
        "drop table if exists others",
        "create collation if not exists loose "
        "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "create table others (d date, j jsonb, b bytea, l text collate loose, m money, a int[])",
    )
    for name in "djbma":
        reason = "is declared as text" if name == "d" else "has the PostgreSQL type"
        with pytest.raises(ColumnMismatch, match=f"column '{name}' {reason}"):
            dp.PrivateDataset(
                f"{database}?table=others", dp.Schema({name: dp.Categorical("x")}), unit=dp.PUBLIC
            )
    with pytest.raises(ColumnMismatch, match="column 'l' has a collation under which"):
        dp.PrivateDataset(
            f"{database}?table=others", dp.Schema(l=dp.Categorical("x")), unit=dp.PUBLIC
        )
    with pytest.raises(ColumnMismatch, match="no column 'x'; it has"):
        dp.PrivateDataset(f"{database}?table=others", dp.Schema(x=dp.Real(0, 1)), unit=dp.PUBLIC)
    run(database, "drop table if exists words", "create table words (s text)")
    with pytest.raises(ColumnMismatch, match="column 's' is declared as numbers"):
        dp.PrivateDataset(f"{database}?table=words", dp.Schema(s=dp.Real(0, 1)), unit=dp.PUBLIC)


def test_names_of_tables(database: str) -> None:
    run(
        database,
        'create schema if not exists "Clinic 1.2"',
        'create table if not exists "Clinic 1.2"."Pat""ients" ("odd ""name" float8)',
        'insert into "Clinic 1.2"."Pat""ients" values (1), (2)',
        'create or replace view "Clinic 1.2".seen as select * from "Clinic 1.2"."Pat""ients"',
    )
    schema = dp.Schema({'odd "name': dp.Real(0, 10)})
    for name in ['"Clinic 1.2"."Pat""ients"', '"Clinic 1.2".seen']:
        assert integers(f"{database}?table={name}", schema, dp.Sum('odd "name'))[0][0] > 0
    with pytest.raises(LookupError, match="no table 'nowhere'; tables there: "):
        dp.PrivateDataset(f"{database}?table=nowhere", schema, unit=dp.PUBLIC)


def test_many_terms_and_many_categories(database: str) -> None:
    """More sums than PostgreSQL returns at once, and more values than a chain of comparisons."""
    names = [f"x{i}" for i in range(57)]
    draw = random.Random(0)
    table = {
        n: [draw.choice([draw.uniform(-2, 9), math.nan, None]) for _ in range(5)] for n in names
    }
    url = tables.postgres_url(table, dict.fromkeys(names, "real"), Address(database), "wide")
    schema = dp.Schema({name: dp.Real(-1, i + 1) for i, name in enumerate(names)})
    query = dp.Gram(*names)
    assert len(query.terms(schema)) > 1664
    rows = [dict(zip(names, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    assert integers(url, schema, query) == oracle.totals(query, schema, rows)
    values = [f"c{i}" for i in range(80)]
    schema = dp.Schema(s=dp.Categorical(*values)).derive(
        points=dp.Score({"s": [i * 2**31 for i in range(80)]}, link=[3, 1, 4])
    )
    cells = [draw.choice([*values, "c", None]) for _ in range(400)]
    url = tables.postgres_url({"s": cells}, {"s": "text"}, Address(database), "many")
    query = dp.Sum("points", by="s")
    wanted = oracle.totals(query, schema, [{"s": cell} for cell in cells])
    assert integers(url, schema, query) == wanted


def test_transactions_are_read_only(database: str) -> None:
    run(
        database,
        "drop table if exists log cascade",
        "create table log (x float8)",
        "insert into log values (1)",
        "create or replace function spy() returns float8 volatile language plpgsql as "
        "'begin insert into log values (9); return 1; end'",
        "create view spying as select spy() as x from log",
    )
    dataset = dp.PrivateDataset(
        f"{database}?table=spying", dp.Schema(x=dp.Real(0, 1)), unit=dp.PUBLIC
    )
    with pytest.raises(EngineFailed, match="could not be read"):
        exact_totals(dataset, dp.Sum("x"))
    with psycopg.connect(database) as connection:
        assert connection.execute(b"select count(*) from log").fetchone() == (1,)


def test_messages_and_passwords_are_withheld(database: str) -> None:
    run(
        database,
        "drop table if exists secrets cascade",
        "create table secrets (v text)",
        "insert into secrets values ('secret 4711')",
        "create view failing as select v::float8 as x from secrets",
    )
    schema = dp.Schema(x=dp.Real(0, 1))
    dataset = dp.PrivateDataset(f"{database}?table=failing", schema, unit=dp.PUBLIC)
    with pytest.raises(EngineFailed) as caught:
        exact_totals(dataset, dp.Sum("x"))
    assert "4711" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    with_password = database.replace("owner@", "owner:hunter2@")
    held = dp.PrivateDataset(f"{with_password}?table=failing", schema, unit=dp.PUBLIC)
    assert "hunter2" not in repr(held) + repr(held._engine) + str(held._engine)
    bad = [
        "postgresql://owner:hunter2@127.0.0.1:1/db?table=t",
        "postgresql://owner:hunter2@127.0.0.1:port/db?table=t",
        "postgresql://owner:hunter2@[::1/db?table=t",
        "postgresql://owner:hunter2@127.0.0.1/db",
        "postgresql://owner:hunter2@127.0.0.1/db?table=a.b.c",
        "mysql://owner:hunter2@127.0.0.1/db?table=t",
        with_password + "?table=nowhere",
        with_password + "?table=failing&sslmode=hunter2",
    ]
    for url in bad:
        with pytest.raises((EngineFailed, ValueError, LookupError)) as refused:
            dp.PrivateDataset(url, schema, unit=dp.PUBLIC)
        assert "hunter2" not in "".join(traceback.format_exception(refused.value))


def test_a_table_that_may_not_be_read_is_refused_before_the_charge(database: str) -> None:
    run(
        database,
        "drop table if exists closed",
        "create table closed (x float8)",
        "do 'begin create role reader login; exception when duplicate_object then null; end'",
    )
    as_reader = database.replace("owner@", "reader@")
    ledger = dp.Ledger(limit=dp.PureDP(1))
    with pytest.raises(EngineFailed):
        dp.PrivateDataset(f"{as_reader}?table=closed", dp.Schema(x=dp.Real(0, 1)), ledger=ledger)


@pytest.mark.filterwarnings("ignore:fetch_arrow:DeprecationWarning")  # Ibis's own
def test_ibis_tables(database: str, tmp_path: Any) -> None:
    import ibis

    run(database, "drop table if exists few", "create table few (x float8, s text, person int)")
    run(
        database, "insert into few values (1, 'F', 1), (2, 'f', 1), ('NaN', 'M', 2), (null, 'M', 2)"
    )
    schema = dp.Schema(x=dp.Real(0, 4), s=dp.Categorical("F", "M"))
    rows = [
        {"x": x, "s": s, "person": p}
        for x, s, p in [(1.0, "F", 1), (2.0, "f", 1), (math.nan, "M", 2), (None, "M", 2)]
    ]
    with psycopg.connect(database, autocommit=True) as connection:
        backend = ibis.postgres.from_connection(connection)
        table = backend.table("few")
        duck = ibis.duckdb.connect()
        local = duck.create_table("few", table.to_pyarrow())
        for source in [
            table,
            table.filter(table.person > 0),
            local,
            local.filter(local.person > 0),
        ]:
            for query in [dp.Moments("x", by="s"), dp.Quantile("x"), dp.Sum("x")]:
                wanted = oracle.totals(query, schema, rows)
                assert integers(source, schema, query) == wanted
                unit = dp.Unit(dp.PUBLIC, "person", 1)
                wanted = oracle.totals(query, schema, rows, id_column="person", most=1)
                assert integers(source, schema, query, unit) == wanted
    sqlite = ibis.sqlite.connect().create_table("t", schema={"x": "float64"})
    with pytest.raises(TypeError, match="not of sqlite"):
        dp.PrivateDataset(sqlite, schema, unit=dp.PUBLIC)
