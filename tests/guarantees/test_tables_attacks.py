"""Attacks on written and growing tables come near their claims, and catch each copy that was weakened."""

from __future__ import annotations

from typing import Any

import pytest

from discreet import dataset, testing
from discreet.audit import run_attack
from discreet.audit.registry import Attack
from discreet.guarantees import all_attacks, claim
from discreet.guarantees.tables import attacks
from discreet.guarantees.tables.broken import BarePadding, EveryRow, publish_then_enter
from discreet.ledger import Progress
from discreet.publish.tables import growing, writing
from discreet.publish.tables.folders import PrivateFolder
from discreet.publish.tables.persons import Persons

ATTACKS = all_attacks()


@pytest.mark.parametrize("name", ["written-table", "growing-table"])
def test_attacks_come_near(name: str) -> None:
    assert claim(name).status == "proved"
    with testing.fixed_noise(8):
        results = list(run_attack(ATTACKS[name], confidence=0.999))
    assert not [result for result in results if result.is_violated]
    assert max(r.floor / r.claimed for r in results if r.claimed > 0) > 0.8


@pytest.mark.parametrize("step", [BarePadding, EveryRow])
def test_broken_steps_are_caught(step: Any) -> None:
    with testing.fixed_noise(8):
        results = run_attack(Attack("broken", lambda: attacks.persons(step)), confidence=0.999)
        assert any(result.is_violated for result in results)


def acts_in_the_wrong_order(patch: Any) -> None:
    patch.setattr(dataset, "make_batches", publish_then_enter)


def progress_that_is_forgotten(patch: Any) -> None:
    patch.setattr(Progress, "find", lambda progress, part: None)
    patch.setattr(Progress, "enter", lambda progress, part, name: True)


def draws_that_nobody_entered_are_published(patch: Any) -> None:
    def recover(folder: Any, progress: Any, sink: Any, label: Any) -> int:
        for file in sorted(folder.staging.folder.glob("*.parquet")):
            sink.publish(label(int(file.name[:6])), file)
        return 0

    patch.setattr(PrivateFolder, "recover", recover)


def a_new_charge_for_every_try(patch: Any) -> None:
    honest = dataset.PrivateDataset._charge
    patch.setattr(
        dataset.PrivateDataset,
        "_charge",
        lambda data, event, measure, note, token=None: honest(data, event, measure, note),
    )


def no_noise(patch: Any) -> None:
    patch.setattr(
        writing.BatchedRows,
        "blur",
        lambda step, codes: {"x": codes[:, 0] / 2**19 - 1.0},
    )


def persons_who_are_forgotten(patch: Any) -> None:
    honest = Persons.take

    def take(state: Any, batch: int, part: int, ids: Any, slots: Any) -> Any:
        return honest(state, batch, part, ids, slots) | True

    patch.setattr(Persons, "take", take)


def moves_for_the_price_of_staying(patch: Any) -> None:
    patch.setattr(
        growing.GrowingRows, "event", lambda rows, schema, unit: rows._release.event_of_row()
    )
    patch.setattr(growing, "_double", lambda measure: measure)


def returns_for_the_price_of_one_batch(patch: Any) -> None:
    patch.setattr(growing.GrowingTable, "_cost_token", lambda table, token, batch=0: token)


def staying_without_ids(patch: Any) -> None:
    patch.setattr(growing, "check_unit", lambda unit, persons: None)


WEAKENED = [
    ("written-table", acts_in_the_wrong_order),
    ("written-table", progress_that_is_forgotten),
    ("written-table", draws_that_nobody_entered_are_published),
    ("written-table", a_new_charge_for_every_try),
    ("written-table", no_noise),
    ("growing-table", persons_who_are_forgotten),
    ("growing-table", moves_for_the_price_of_staying),
    ("growing-table", returns_for_the_price_of_one_batch),
    ("growing-table", staying_without_ids),
    ("growing-table", no_noise),
]


@pytest.mark.parametrize(
    ("name", "weaken"), WEAKENED, ids=[f"{name}-{weaken.__name__}" for name, weaken in WEAKENED]
)
def test_weakened_copies_are_caught(name: str, weaken: Any, monkeypatch: Any) -> None:
    with monkeypatch.context() as patch, testing.fixed_noise(8):
        weaken(patch)
        try:
            results = list(run_attack(ATTACKS[name], confidence=0.999))
        except ValueError:  # the ledger refuses what would be charged twice for one name
            assert weaken in (returns_for_the_price_of_one_batch,)
            return
    assert any(result.is_violated for result in results)
