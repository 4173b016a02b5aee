"""Tables written once: one charge, bounded batches, public slots, and never a second draw."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.coding import Places
from discreet.publish import perturb
from discreet.publish.imaging import ImageMask, publish_images
from discreet.publish.masks import WaveletLaplace
from discreet.publish.masks.plan import MaskedRows
from discreet.publish.tables import writing
from discreet.publish.tables.folders import Staging
from discreet.publish.tables.sinks import ParquetFolder

SCHEMA = dp.Schema(x=dp.Real(0, 100), n=dp.Integer(0, 9), g=dp.Categorical("a", "b", "c"))
#: So little noise that a row can be told from all others.
EPSILON = 10**9


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "DEFAULT_CELLS", 3 * 27)


def table(rows: int) -> dict[str, Any]:
    places = np.arange(rows)
    return {"x": places % 101 * 1.0, "n": places % 10, "g": np.array(list("abc"))[places % 3]}


def data_of(source: Any, rows: int | None = None, limit: Any = None) -> dp.PrivateDataset:
    ledger = dp.Ledger(limit=limit or dp.PureDP(EPSILON), unit=dp.REPLACE_ONE)
    return dp.PrivateDataset(source, SCHEMA, ledger=ledger, rows=rows)


def parquet(folder: Path, rows: int, sizes: tuple[int, ...]) -> Path:
    folder.mkdir()
    whole, at = pa.table(table(rows)), 0
    for index, size in enumerate([*sizes, rows - sum(sizes)]):
        pq.write_table(whole.slice(at, size), folder / f"{index}.parquet", row_group_size=17)
        at += size
    return folder


def read(folder: Path) -> dict[str, Any]:
    found = pa.concat_tables([pq.read_table(file) for file in sorted(folder.glob("*.parquet"))])
    return {name: np.array(found[name].to_pylist()) for name in found.column_names}


def check(found: dict[str, Any], rows: int) -> None:
    wanted = table(rows)
    assert len(found["x"]) == rows
    assert np.abs(found["x"] - wanted["x"]).max() < 0.1
    assert np.abs(found["n"] - wanted["n"]).max() < 0.01
    assert (found["g"] == wanted["g"]).all()


def sources(folder: Path, rows: int) -> dict[str, Any]:
    import pandas as pd
    import polars as pl

    pd.DataFrame(table(rows)).to_csv(folder / "rows.csv", index=False)
    return {
        "arrays": table(rows),
        "pandas": pd.DataFrame(table(rows)),
        "objects": pd.DataFrame(table(rows)).astype({"g": object, "n": object}),
        "polars": pl.DataFrame(table(rows)),
        "arrow": pa.table(table(rows)),
        "csv": folder / "rows.csv",
        "parquet": parquet(folder / "in", rows, (1, 40, 0, 23)),
    }


@pytest.mark.parametrize(
    "name", ["arrays", "pandas", "objects", "polars", "arrow", "csv", "parquet"]
)
def test_rows_of_every_source_come_out_in_their_order(tmp_path: Path, name: str) -> None:
    data = data_of(sources(tmp_path, 100)[name], 100)
    written = WaveletLaplace(EPSILON, order="position").publish(data, to=tmp_path / "out")
    assert (written.rows, written.parts) == (100, 4)
    check(read(tmp_path / "out"), 100)
    assert data.ledger.spent() == dp.PureDP(EPSILON)


def test_perturbed_rows_and_images_are_written_by_the_same_way(tmp_path: Path) -> None:
    perturb(data_of(table(100)), epsilon=EPSILON, to=tmp_path / "rows")
    assert (read(tmp_path / "rows")["g"] == table(100)["g"]).all()
    schema = dp.Schema({f"p{k}": dp.Real(0, 1) for k in range(4)})
    ledger = dp.Ledger(limit=dp.PureDP(EPSILON), unit=dp.REPLACE_ONE)
    pixels = np.linspace(0, 1, 400).reshape(100, 4)
    images = dp.PrivateDataset(pixels, schema, ledger=ledger)
    mask = ImageMask((2, 2), epsilon=10**6, protects="image")
    publish_images(images, mask, to=tmp_path / "images")
    found = np.column_stack(list(read(tmp_path / "images").values()))
    assert np.abs(found - pixels).max() < 0.01


@pytest.mark.parametrize(("there", "declared"), [(100, 60), (60, 100), (0, 40)])
def test_as_many_rows_as_declared_whatever_there_is(
    tmp_path: Path, there: int, declared: int
) -> None:
    data = data_of(parquet(tmp_path / "in", there, ()), declared)
    WaveletLaplace(EPSILON, order="position").publish(data, to=tmp_path / "out")
    found = read(tmp_path / "out")
    assert len(found["x"]) == declared
    assert np.abs(found["x"][there:] - 50).max(initial=0) < 0.1


def test_a_batch_has_whole_blocks() -> None:
    """A block that is cut in two would be two smaller ones, with padding between them."""
    for block in (9, 27, 81):
        plan = WaveletLaplace(1, order="position", block=block).plan(SCHEMA)
        assert writing.size_for(MaskedRows(plan, 1000)) % block == 0


def test_a_table_is_published_once(tmp_path: Path) -> None:
    data, mask = data_of(table(100), limit=dp.PureDP(10)), WaveletLaplace(1, order="position")
    mask.publish(data, to=tmp_path / "out")
    before = {file: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    with pytest.raises(ValueError, match="is complete"):
        mask.publish(data, to=tmp_path / "out")
    assert {file: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before
    assert data.ledger.spent() == dp.PureDP(1)
    with pytest.raises(ValueError, match="holds a table already"):
        mask.publish(data, to=tmp_path / "out", private=tmp_path / "elsewhere")
    assert data.ledger.spent() == dp.PureDP(1)


def test_another_ledger_does_not_publish_over_what_is_there(tmp_path: Path) -> None:
    mask = WaveletLaplace(1, order="position")
    mask.publish(data_of(table(100), limit=dp.PureDP(10)), to=tmp_path / "out")
    before = {file: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    for other in (mask, WaveletLaplace(2, order="position")):
        data = data_of(table(100), limit=dp.PureDP(10))
        with pytest.raises(ValueError, match="this ledger don't know of"):
            other.publish(data, to=tmp_path / "out")
        assert data.ledger.spent() == dp.PureDP(0)
    assert {file: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before


def test_what_was_moved_away_is_not_drawn_again(tmp_path: Path) -> None:
    data, mask = data_of(table(100), limit=dp.PureDP(10)), WaveletLaplace(1, order="position")
    mask.publish(data, to=tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        file.unlink()
    with pytest.raises(ValueError, match="is complete"):
        mask.publish(data, to=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def crash_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int) -> None:
    """Let a method fail when it is called for the nth time."""
    honest, calls = getattr(owner, name), []

    def act(*arguments: Any) -> Any:
        calls.append(0)
        if len(calls) == call:
            raise KeyboardInterrupt
        return honest(*arguments)

    monkeypatch.setattr(owner, name, act)


@pytest.mark.parametrize("call", [1, 2, 4])
@pytest.mark.parametrize("where", ["write", "enter", "publish"])
def test_after_a_crash_the_same_call_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, call: int
) -> None:
    from discreet.ledger import Progress

    owner = {"write": Staging, "enter": Progress, "publish": ParquetFolder}[where]
    data = data_of(parquet(tmp_path / "in", 100, (50,)), 100)
    mask = WaveletLaplace(EPSILON, order="position")
    with monkeypatch.context() as patch:
        crash_at(patch, owner, where, call)
        with pytest.raises(KeyboardInterrupt):
            mask.publish(data, to=tmp_path / "out")
    seen = {file.name: file.read_bytes() for file in (tmp_path / "out").glob("*")}
    assert len(seen) == call - 1
    mask.publish(data, to=tmp_path / "out")
    check(read(tmp_path / "out"), 100)
    for name, content in seen.items():
        assert (tmp_path / "out" / name).read_bytes() == content
    assert data.ledger.spent() == dp.PureDP(EPSILON)
    assert list((tmp_path / ".out.private" / "staged").iterdir()) == []


def test_another_release_is_not_taken_for_the_one_that_was_begun(tmp_path: Path, monkeypatch):
    data = data_of(table(100), limit=dp.PureDP(10))
    with monkeypatch.context() as patch:
        crash_at(patch, ParquetFolder, "publish", 2)
        with pytest.raises(KeyboardInterrupt):
            WaveletLaplace(1, order="position").publish(data, to=tmp_path / "out")
    with pytest.raises(ValueError, match="event: the release that was begun"):
        WaveletLaplace(2, order="position").publish(data, to=tmp_path / "out")
    assert data.ledger.spent() == dp.PureDP(1)


def test_the_door_takes_steps_on_batches_alone(tmp_path: Path) -> None:
    data = data_of(table(100), limit=dp.PureDP(10))
    release = MaskedRows(WaveletLaplace(1, order="position").plan(SCHEMA), 100)
    places = Places(100, 9)
    with pytest.raises(TypeError, match="must be a BatchStep"):
        data.run_batches(release, places, token="t")  # type: ignore[arg-type]
    step = writing.BatchedRows(release, Staging(tmp_path))
    with (
        data.prepaid(release.event_of_row()) as plan,
        pytest.raises(ValueError, match="inside a plan"),
    ):
        plan.run_batches(step, places, token="t")
    assert data.ledger.spent() == dp.PureDP(1)  # of the plan
    assert list(tmp_path.iterdir()) == []


def blurred(data: dp.PrivateDataset, folder: Path) -> tuple[writing.BatchedRows, Places]:
    """A step on batches, and the places of 100 rows."""
    release = MaskedRows(WaveletLaplace(1, order="position").plan(SCHEMA), 100)
    return writing.BatchedRows(release, Staging(folder)), Places(100, 10)


def test_nothing_that_the_door_takes_draws_rows_again_for_a_charge(tmp_path: Path) -> None:
    """The same rows and token with anything else changed: what is drawn once is not drawn again."""
    arguments = inspect.signature(dp.PrivateDataset.run_batches).parameters
    assert list(arguments) == ["self", "step", "places", "measure", "token"]  # each is tried below
    data = data_of(table(100), limit=dp.PureDP(10))
    step, places = blurred(data, tmp_path)
    found = data.run_batches(step, places, token="t")
    for _ in range(3):  # and then it crashed
        next(found)
    for other in (replace(places, size=5), replace(places, slots=99), replace(places, size=1)):
        with pytest.raises(ValueError, match="other batches have this token"):
            list(data.run_batches(step, other, token="t"))
    for measure in (None, dp.PureDP(1), dp.PureDP(2)):
        again, _ = blurred(data, tmp_path)
        left = [number for number, _ in data.run_batches(again, places, measure, token="t")]
        assert left == ([] if measure else list(range(3, 10)))
    assert data.ledger.spent() == dp.PureDP(1)


def test_a_token_is_of_a_plan_or_of_batches(tmp_path: Path) -> None:
    """A prepaid plan of the same event under the token would be a second answer for one charge."""
    data = data_of(table(100), limit=dp.PureDP(10))
    step, places = blurred(data, tmp_path)
    event = step.event(SCHEMA, data.unit)
    whole = MaskedRows(WaveletLaplace(1, order="position").plan(SCHEMA), 100)
    list(data.run_batches(step, places, token="t"))
    with pytest.raises(ValueError, match="written in batches"), data.prepaid(event, token="t"):
        pass
    with data.prepaid(event, token="u") as plan:
        plan.run(whole)
    with pytest.raises(ValueError, match="a prepaid plan has this token"):
        list(data.run_batches(step, places, token="u"))
    with (
        data.prepaid(event, token="u", note="another") as plan,
        pytest.raises(ValueError, match="nothing more"),
    ):
        plan.run(whole)
    assert data.ledger.spent() == dp.PureDP(2)


def test_nothing_is_written_that_can_not_be_paid(tmp_path: Path) -> None:
    data = data_of(table(100), limit=dp.PureDP(1))
    with pytest.raises(dp.BudgetExceeded):
        WaveletLaplace(2, order="position").publish(data, to=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_sources_without_an_order_are_refused_with_the_way_out(tmp_path: Path) -> None:
    import duckdb
    import polars as pl

    mask = WaveletLaplace(1, order="position")
    with pytest.raises(ValueError, match=r"row_number\(\) OVER"):
        mask.publish(data_of(pl.DataFrame(table(100)).lazy(), 100), to=tmp_path / "out")
    relation = duckdb.from_arrow(pa.table(table(100)))
    with pytest.raises(ValueError, match="order_by="):
        mask.publish(data_of(relation, 100), to=tmp_path / "out")
    with pytest.raises(ValueError, match="leave order_by out"):
        mask.publish(data_of(table(100)), to=tmp_path / "out", order_by="n")
    with pytest.raises(ValueError, match="order='position'"):
        WaveletLaplace(1).publish(data_of(table(100)), to=tmp_path / "out")
    with pytest.raises(ValueError, match="give to="):
        mask.publish(data_of(table(100)), order_by="n")


def slotted(rows: int) -> pa.Table:
    """Rows in any order, some slots twice, some without a row, some outside."""
    draw = np.random.default_rng(0)
    order = draw.permutation(rows)
    whole = {name: np.asarray(column)[order] for name, column in table(rows).items()}
    return pa.table({**whole, "slot": pa.array(order.tolist())})


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_a_column_of_slots_orders_rows_that_have_no_order(tmp_path: Path, kind: str) -> None:
    import duckdb
    import polars as pl

    whole = slotted(100)
    source = pl.from_arrow(whole).lazy() if kind == "polars" else duckdb.from_arrow(whole)
    mask = WaveletLaplace(EPSILON, order="position")
    mask.publish(data_of(source, 100), to=tmp_path / "out", order_by="slot")
    check(read(tmp_path / "out"), 100)
    for column, words in (("nothing", "no column"), ("x", "whole numbers")):
        with pytest.raises(ValueError, match=words):
            mask.publish(data_of(source, 100), to=tmp_path / "other", order_by=column)


def test_a_row_moves_nothing_but_its_own_slot() -> None:
    """Rows that share a slot, slots without a row, and rows outside of all slots."""
    from discreet.coding.batches import as_batch

    places, padding = Places(20, 9), np.array([-7, -7])
    draw = np.random.default_rng(1)
    for _ in range(300):
        slots = draw.integers(-3, 25, 14)
        codes = draw.integers(0, 3, (14, 2))
        changed, row = codes.copy(), int(draw.integers(14))
        changed[row] = draw.integers(0, 3, 2)
        order = draw.permutation(14)
        apart = [
            place + 9 * number
            for number in range(places.batches)
            for place in np.flatnonzero(
                (
                    as_batch(number, places, slots, codes).fill(padding)
                    != as_batch(number, places, slots[order], changed[order]).fill(padding)
                ).any(axis=1)
            )
        ]
        assert apart in ([], [slots[row]])


def test_public_rows_are_written_without_a_ledger(tmp_path: Path) -> None:
    data = dp.PrivateDataset(table(100), SCHEMA, unit=dp.PUBLIC, rows=100)
    WaveletLaplace(EPSILON, order="position").publish(data, to=tmp_path / "out")
    check(read(tmp_path / "out"), 100)


def test_staged_draws_are_the_owners_alone_and_sizes_tell_nothing(tmp_path: Path) -> None:
    data = data_of(table(100), limit=dp.PureDP(10))
    WaveletLaplace("1/1000", order="position").publish(data, to=tmp_path / "out")
    private = tmp_path / ".out.private"
    assert private.stat().st_mode & 0o077 == 0
    assert json.loads((private / "release.json").read_text())["facts"]["rows"] == 100
    staging = Staging(tmp_path)
    sizes = {
        staging.path(0, staging.write(0, {"x": np.full(50, value)})).stat().st_size
        for value in (0.0, 1e300, -1e-300, np.pi)
    }
    assert len(sizes) == 1


@pytest.mark.parametrize("private", ["out", "out/private", "out/../out/deep/er", "link/private"])
def test_the_private_folder_is_not_in_the_one_that_is_published(
    tmp_path: Path, private: str
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out")
    data = data_of(table(30))
    mask = WaveletLaplace(EPSILON, order="position")
    with pytest.raises(ValueError, match="folder that is published"):
        mask.publish(data, to=tmp_path / "out", private=tmp_path / private)
    assert not any((tmp_path / "out").iterdir())
    assert data.ledger is not None
    assert data.ledger.spent() == dp.PureDP(0)
    mask.publish(data, to=tmp_path / "out", private=tmp_path / "out of sight")
    check(read(tmp_path / "out"), 30)
