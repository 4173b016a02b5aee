"""Tables that grow: a person is published once, padding is blurred, and a batch is published once."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.publish import GrowingTable, RowPerturbation
from discreet.publish.masks import (
    AngleEmbedding,
    ClampedSigmoid,
    WaveletApproximation,
    WaveletGaussian,
    WaveletLaplace,
)
from discreet.publish.masks.plan import MaskedRows
from discreet.publish.perturb import PerturbedRows
from discreet.publish.rows import ONE
from discreet.publish.tables import writing
from discreet.publish.tables.folders import Staging
from discreet.publish.tables.growing import GrowingRows
from discreet.publish.tables.persons import Persons
from discreet.publish.tables.sinks import ParquetFolder

SCHEMA = dp.Schema(x=dp.Real(0, 100))
PERSONS = dp.Unit(dp.REPLACE_ONE, id_column="who", max_rows=1)
EPSILON = 10**9
fork = multiprocessing.get_context("fork")
MASK = WaveletLaplace(EPSILON, order="position")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "DEFAULT_CELLS", 9)


def ledger_of(unit: Any = PERSONS, limit: Any = None) -> dp.Ledger:
    return dp.Ledger(limit=limit or dp.PureDP(4 * EPSILON), unit=unit)


def rows(ids: Any, first: float = 0.0) -> dict[str, Any]:
    return {"who": list(ids), "x": first + np.arange(len(list(ids))) * 1.0}


def read(folder: Path, batch: int) -> np.ndarray[Any, Any]:
    files = sorted(folder.glob(f"batch-{batch:06d}-*.parquet"))
    return np.concatenate([pq.read_table(file)["x"].to_numpy() for file in files])


def test_a_person_who_comes_back_is_padding(tmp_path: Path) -> None:
    ledger = ledger_of()
    table = GrowingTable(MASK, SCHEMA, ledger=ledger, to=tmp_path / "out")
    table.add("january", rows(range(20)), slots=20)
    # one is back, one twice in a batch, one has no id, and one slot is empty
    table.add("february", rows([30, 5, 31, 31, None, 32], 60.0), slots=7)
    assert np.abs(read(tmp_path / "out", 0) - np.arange(20)).max() < 0.1
    wanted = [60, 50, 62, 50, 50, 65, 50]
    assert np.abs(read(tmp_path / "out", 1) - wanted).max() < 0.1
    assert ledger.spent() == dp.PureDP(EPSILON)
    ledger.verify()


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "objects", "polars", "arrow"])
def test_ids_of_every_source_are_the_same_persons(tmp_path: Path, kind: str) -> None:
    import pandas as pd
    import polars as pl

    cells = {"who": ["a", "b", "é", None], "x": [60.0, 61.0, 62.0, 63.0]}
    pd.DataFrame(cells).to_csv(tmp_path / "rows.csv", index=False)
    pq.write_table(pa.table(cells), tmp_path / "rows.parquet")
    source = {
        "csv": tmp_path / "rows.csv",
        "parquet": tmp_path / "rows.parquet",
        "pandas": pd.DataFrame(cells),
        "objects": pd.DataFrame(cells, index=[7, 7, 7, 8]).astype(object),
        "polars": pl.DataFrame(cells),
        "arrow": pa.table(cells),
    }[kind]
    table = GrowingTable(MASK, SCHEMA, ledger=ledger_of(), to=tmp_path / "out")
    table.add("first", rows(["b", "é"]), slots=2)
    table.add("second", source, slots=4)
    assert np.abs(read(tmp_path / "out", 1) - [60, 50, 50, 50]).max() < 0.1


@pytest.mark.parametrize("first", ["integers", "doubles", "text", "file"])
@pytest.mark.parametrize("second", ["integers", "doubles", "text", "file"])
def test_a_number_is_the_same_person_as_text_in_a_file_and_in_an_array(
    tmp_path: Path, first: str, second: str
) -> None:
    """Files of text have no types: who is 7 in January's array and "7" in February's file came back."""

    def source(kind: str) -> Any:
        ids = {"integers": [7, 8], "doubles": [7.0, 8.0], "text": ["7", "08"]}.get(kind)
        if ids is not None:
            return {"who": np.array(ids), "x": [60.0, 61.0]}
        (tmp_path / "rows.csv").write_text("who,x\n7,60\n8.0,61\n")
        return tmp_path / "rows.csv"

    table = GrowingTable(MASK, SCHEMA, ledger=ledger_of(), to=tmp_path / "out")
    table.add("first", source(first), slots=2)
    table.add("second", source(second), slots=2)
    assert np.abs(read(tmp_path / "out", 0) - [60, 61]).max() < 0.1
    assert np.abs(read(tmp_path / "out", 1) - [50, 50]).max() < 0.1


def test_padding_is_blurred_like_any_row(tmp_path: Path) -> None:
    ledger = ledger_of(limit=dp.PureDP(1))
    table = GrowingTable(
        WaveletLaplace(1, order="position"), SCHEMA, ledger=ledger, to=tmp_path / "out"
    )
    table.add("first", rows(range(90)), slots=90)
    table.add("second", rows(range(90)), slots=90)
    new, back = (read(tmp_path / "out", batch) for batch in (0, 1))
    assert len(set(back.tolist())) == 90
    assert 0.3 < back.std() / new.std() < 3


@pytest.mark.parametrize(
    ("persons", "unit", "costs"),
    [
        ("stay", PERSONS, (1, 1, 1)),
        ("move", PERSONS, (2, 2, 2)),
        ("return", dp.REPLACE_ONE, (1, 2, 3)),
    ],
)
def test_what_batches_cost(tmp_path: Path, persons: Any, unit: Any, costs: Any) -> None:
    ledger = ledger_of(unit)
    table = GrowingTable(MASK, SCHEMA, ledger=ledger, to=tmp_path / "out", persons=persons)
    for name, cost in zip("abc", costs, strict=True):
        table.add(name, rows(range(9)), slots=9)
        assert ledger.spent() == dp.PureDP(cost * EPSILON)


def test_approximate_guarantees_and_perturbed_rows_grow_too(tmp_path: Path) -> None:
    ledger = ledger_of(limit=dp.ApproxDP(10, 1e-3))
    gaussian = WaveletGaussian(1, delta=1e-6, order="position")
    GrowingTable(gaussian, SCHEMA, ledger=ledger, to=tmp_path / "a", persons="move").add(
        "x", rows(range(9)), slots=9
    )
    assert ledger.spent() == dp.ApproxDP(2, "2e-6")
    channel = RowPerturbation(SCHEMA, epsilon=1)
    GrowingTable(channel, SCHEMA, ledger=ledger, to=tmp_path / "b").add(
        "x", rows(range(9)), slots=9
    )
    assert ledger.spent() == dp.ApproxDP(3, "2e-6")


def test_ids_are_those_of_a_unit_or_fewer_and_none_is_kept_in_clear(tmp_path: Path) -> None:
    state = Persons(tmp_path / "persons.db")
    ids = np.array([7, 7.0, "7", True, 1, None, float("nan"), "\udcff", 2**80, "7a"], dtype=object)
    taken = state.take(0, 0, ids, np.arange(len(ids)))
    assert taken.tolist() == [True, False, False, True, False, False, False, True, True, True]
    assert not state.take(1, 0, np.array(["7", " +07.0 ", "1"], object), np.arange(3)).any()
    # another try of the same part takes what it took
    assert state.take(0, 0, ids, np.arange(len(ids))).tolist() == taken.tolist()
    state.take(2, 0, np.array(["a very private name"], object), np.arange(1))
    assert b"a very private name" not in (tmp_path / "persons.db").read_bytes()
    assert (tmp_path / "persons.db").stat().st_mode & 0o077 == 0


def test_no_id_makes_a_batch_raise(tmp_path: Path) -> None:
    """Numbers too long to be written are nobody's: their rows are padding, as those without an id."""
    long = [
        Decimal("1e-5000"),
        Fraction(1, 3**9999),
        Decimal("1e-999999999"),
        np.longdouble("1e-4900"),
    ]
    others = [Decimal("0.5"), Fraction(1, 2), 5e-324, Decimal("1e300"), 10**5000, Decimal("sNaN")]
    ids = np.array([*long, *others], dtype=object)
    table = GrowingTable(MASK, SCHEMA, ledger=ledger_of(), to=tmp_path / "out")
    table.add("january", {"who": ids, "x": 60 + np.arange(len(ids)) * 1.0}, slots=len(ids))
    wanted = [50, 50, 50, 50, 64, 50, 66, 67, 50, 50]
    assert np.abs(read(tmp_path / "out", 0) - wanted).max() < 0.1


def test_a_batch_is_published_once_and_in_turn(tmp_path: Path, monkeypatch: Any) -> None:
    table = GrowingTable(MASK, SCHEMA, ledger=ledger_of(), to=tmp_path / "out")
    table.add("a", rows(range(20)), slots=20)
    with pytest.raises(ValueError, match="published already"):
        table.add("a", rows(range(20)), slots=20)
    with monkeypatch.context() as patch:
        patch.setattr(ParquetFolder, "publish", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            table.add("b", rows(range(20, 40)), slots=20)
    for name, slots in (("c", 20), ("b", 21)):
        with pytest.raises(ValueError, match="is not complete"):
            table.add(name, rows(range(20, 40)), slots=slots)
    table.add("b", rows(range(20, 40)), slots=20)
    assert np.abs(read(tmp_path / "out", 1) - np.arange(20)).max() < 0.1


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def test_the_last_part_that_was_entered_is_not_lost(tmp_path: Path, monkeypatch: Any) -> None:
    """The crash is after the entry and before the file is public; another batch comes next."""
    table = GrowingTable(MASK, SCHEMA, ledger=ledger_of(), to=tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(ParquetFolder, "publish", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            table.add("a", rows(range(9)), slots=9)
    table.add("b", rows(range(9, 18)), slots=9)
    assert np.abs(read(tmp_path / "out", 0) - np.arange(9)).max() < 0.1
    assert np.abs(read(tmp_path / "out", 1) - np.arange(9)).max() < 0.1


def test_without_the_newest_state_nothing_more_is_published(tmp_path: Path) -> None:
    table = GrowingTable(MASK, SCHEMA, ledger=ledger_of(), to=tmp_path / "out")
    table.add("a", rows(range(9)), slots=9)
    state = tmp_path / ".out.private" / "persons.db"
    old = state.read_bytes()
    table.add("b", rows(range(9, 18)), slots=9)
    for content in (old, None):
        state.unlink()
        if content is not None:
            state.write_bytes(content)
        with pytest.raises(RuntimeError, match="older than"):
            table.add("c", rows(range(9)), slots=9)
        state.touch()


def test_units_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    for unit, persons in (
        (dp.ADD_REMOVE, "stay"),
        (dp.REPLACE_ONE, "stay"),
        (dp.Unit(dp.REPLACE_ONE, id_column="who", max_rows=2), "move"),
        (dp.Unit(dp.ADD_REMOVE, id_column="who", max_rows=1), "stay"),
        (PERSONS, "return"),
    ):
        with pytest.raises(ValueError, match="its unit must be"):
            GrowingTable(MASK, SCHEMA, ledger=ledger_of(unit), to=tmp_path, persons=persons)
    with pytest.raises(ValueError, match="order='position'"):
        GrowingTable(WaveletLaplace(1), SCHEMA, ledger=ledger_of(), to=tmp_path)


def test_two_processes_do_not_write_one_table(tmp_path: Path) -> None:
    table = GrowingTable(MASK, SCHEMA, ledger=ledger_of(), to=tmp_path / "out")
    other = GrowingTable(MASK, SCHEMA, ledger=ledger_of(), to=tmp_path / "out")
    with table._folder.lock(), pytest.raises(RuntimeError, match="another process"):
        other.add("a", rows(range(9)), slots=9)


_BATCHES, _SLOTS = 12, 9000


def _grow(folder: Path) -> None:
    """Publish all batches, those that are not there yet; half of a batch's persons were in the one before."""
    writing.DEFAULT_CELLS = 900
    schema = dp.Schema(x=dp.Real(0, 10**6))
    ledger = dp.Ledger(f"sqlite:///{folder}/ledger.db")
    table = GrowingTable(MASK, schema, ledger=ledger, to=folder / "out")
    for batch in range(_BATCHES):
        ids = np.arange(_SLOTS) + batch * _SLOTS // 2
        try:
            table.add(f"batch {batch}", {"who": ids, "x": ids * 1.0}, slots=_SLOTS)
        except ValueError as error:
            if "published already" not in str(error):
                raise


@pytest.mark.long
def test_killed_at_any_moment_nothing_is_lost_or_published_twice(tmp_path: Path) -> None:
    """Processes die by SIGKILL, and somebody takes published files away; every draw is seen once."""
    dp.Ledger(f"sqlite:///{tmp_path}/ledger.db", limit=dp.PureDP(10 * EPSILON), unit=PERSONS)
    chance, kills = random.Random(5), 0
    seen: dict[str, bytes] = {}
    folder, taken = tmp_path / "out", tmp_path / "taken"
    taken.mkdir()
    while True:
        child = fork.Process(target=_grow, args=(tmp_path,))
        before = _count(folder, taken)
        child.start()
        deadline = time.monotonic() + 120
        while _count(folder, taken) <= before and child.is_alive():  # until it works
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.05))
        if kills < 25 and child.is_alive():
            os.kill(child.pid, signal.SIGKILL)
        child.join()
        for file in sorted(folder.glob("*.parquet")):
            content = file.read_bytes()
            assert seen.setdefault(file.name, content) == content
            if chance.random() < 0.3:
                os.replace(file, taken / file.name)
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        kills += 1
    assert kills >= 20
    ledger = dp.Ledger(f"sqlite:///{tmp_path}/ledger.db", read_only=True)
    ledger.verify()
    assert ledger.spent() == dp.PureDP(EPSILON)
    assert list((tmp_path / ".out.private" / "staged").iterdir()) == []
    names = [f"batch-{b:06d}-part-{p:06d}.parquet" for b in range(_BATCHES) for p in range(10)]
    assert sorted(seen) == names
    for batch in range(_BATCHES):
        parts = [pq.read_table(pa.BufferReader(seen[name])) for name in names[10 * batch :][:10]]
        found = pa.concat_tables(parts)["x"].to_numpy()
        ids = np.arange(_SLOTS) + batch * _SLOTS // 2
        came_back = (batch > 0) & (np.arange(_SLOTS) < _SLOTS // 2)
        assert np.abs(found - np.where(came_back, 5e5, ids)).max() < 1000


def _count(*folders: Path) -> int:
    return sum(len(list(folder.glob("*.parquet"))) for folder in folders)


NUMBERS = dp.Schema(x=dp.Integer(0, 1), y=dp.Real(0, 9))
WIDE = dp.Schema(x=dp.Integer(0, 1), y=dp.Real(0, 9), g=dp.Categorical("a", "b"))
BLURRED = {
    "laplace": WaveletLaplace(1, order="position"),
    "gaussian": WaveletGaussian(1, delta=1e-6, order="position"),
    "two levels": WaveletGaussian(1, delta=1e-6, order="position", levels=2, block=27),
    "few bits": WaveletGaussian("1/1000000", delta="1e-9", order="position"),
    "approximation": WaveletApproximation(1, order="position"),
}


@pytest.mark.parametrize("name", BLURRED)
def test_two_rows_of_a_block_move_it_no_farther_than_is_charged_for_persons_who_move(
    name: str,
) -> None:
    """By brute force over all pairs of slots, in integers; twice the price of one row is too little."""
    plan = BLURRED[name].plan(NUMBERS)
    release: Any = plan.release
    matrix = release.transform.dense[: release.kept].astype(object)
    two = release.event_of_two()
    far = [2 * ONE * sign for sign in (1, -1)]
    moved = [
        matrix[:, i] * first + matrix[:, j] * second
        for i in range(matrix.shape[1])
        for j in range(i)
        for first in far
        for second in far
    ]
    columns = len(plan.channel.numbers)
    if isinstance(two, dp.events.Gaussian):
        most = columns * max(int((v**2).sum()) for v in moved)
        assert most <= two.sensitivity_squared <= most * Fraction(1001, 1000)
        assert two.sensitivity_squared > 2 * release.event().sensitivity_squared
    else:
        assert columns * max(int(abs(v).sum()) for v in moved) <= two.sensitivity
        assert two.sensitivity == 2 * release.event().sensitivity


RELEASES = [
    *BLURRED.values(),
    ClampedSigmoid(40, order="position"),
    AngleEmbedding(1, order="position", variant="angle"),
    AngleEmbedding(1, order="position", variant="embedding"),
    None,
]


@pytest.mark.parametrize("mask", RELEASES, ids=lambda mask: type(mask).__name__)
def test_persons_who_move_cost_twice_the_measure_and_no_less_than_two_releases(mask: Any) -> None:
    schema = NUMBERS if mask is BLURRED["few bits"] else WIDE
    release: Any = PerturbedRows(RowPerturbation(schema, epsilon=1), 9)
    if mask is not None:
        release = MaskedRows(mask.plan(schema), 9)
    measure: Any = dp.PureDP(1) if mask is None else mask.plan(schema).measure
    if isinstance(measure, dp.ApproxDP):
        twice: Any = dp.ApproxDP(2 * measure.epsilon, 2 * measure.delta)
    else:
        twice = dp.PureDP(2 * measure.epsilon)
    moving, staying = (
        GrowingRows(release, Staging(Path("nowhere")), persons, None, 0).event(schema, PERSONS)
        for persons in ("move", "stay")
    )
    assert dp.accounting.satisfies(staying, measure)
    assert dp.accounting.satisfies(moving, twice)
    assert not dp.accounting.satisfies(moving, measure)
    for kind in (dp.ZCDP,) if isinstance(measure, dp.ApproxDP) else (dp.ZCDP, dp.PureDP):
        apart = dp.accounting.cost(dp.events.Repeat(staying, 2), kind)
        assert apart <= dp.accounting.cost(moving, kind)
