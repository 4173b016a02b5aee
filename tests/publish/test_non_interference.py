"""Nothing but noised answers reaches what is published.

Every noised answer is replaced by numbers that don't depend on the rows; then whatever still differs between
two tables, a number, a shape, a message, a question that is asked, has come past the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.mechanisms import Exponential, GaussianDistribution, LaplaceDistribution
from discreet.publish import Synthesizer
from discreet.publish.privelet import Bank
from discreet.queries.additive import PreparedSums
from discreet.unit import Unit

SCHEMA = dp.Schema(
    town=dp.Categorical("A", "B"),
    ill=dp.Categorical("no", "yes", unknown="no"),
    visits=dp.Integer(0, 5),
    income=dp.Real(0, 2000),
    person=dp.Integer(0, 100),
)
UNITS = [
    Unit(dp.ADD_REMOVE),
    Unit(dp.REPLACE_ONE),
    Unit(dp.ADD_REMOVE, "person", 2),
    Unit(dp.REPLACE_ONE, "person", 1),
]
NAMES = ["add", "replace", "add-ids", "replace-ids"]


def tables() -> list[dict[str, Any]]:
    """No row, one, many, and cells that nobody declared."""
    draw = np.random.default_rng(0)

    def usual(count: int) -> dict[str, Any]:
        return {
            "town": draw.choice(["A", "B"], count).astype(object),
            "ill": draw.choice(["no", "yes"], count).astype(object),
            "visits": draw.integers(0, 6, count).astype(float),
            "income": draw.uniform(0, 2000, count),
            "person": draw.integers(0, 9, count).astype(float),
        }

    odd = np.array([None, "zzz", float("nan"), 3, b"q", "", "x" * 999], object)
    wild = np.array([np.nan, np.inf, -np.inf, 1e300, -5.5])
    strange = {name: np.resize(odd if name in ("town", "ill") else wild, 40) for name in SCHEMA}
    return [usual(0), usual(1), usual(300), strange]


def observe(act: Callable[[], Any], patch: pytest.MonkeyPatch) -> tuple[list[Any], Any]:
    """What an act asks of the noise, and what comes out, with answers that the rows have no part in."""
    asked: list[Any] = []
    draw = np.random.default_rng(1)

    def run(self: Any, totals: Any) -> Any:
        asked.append((repr(self), totals.shape, str(totals.dtype)))
        return draw.integers(0, 50, totals.shape)

    def choose(self: Any, scores: Any, weights: Any, sensitivity: int, draws: int = 1) -> int:
        asked.append((repr(self), scores.shape, str(scores.dtype), weights.tolist(), sensitivity))
        return int(draw.choice(np.flatnonzero(weights)))

    with patch.context() as patched:
        for kind in (LaplaceDistribution, GaussianDistribution):
            patched.setattr(kind, "run", run)
        patched.setattr(Exponential, "run", choose)
        patched.setattr(PreparedSums, "add_noise", lambda self, totals, noise: noise)
        try:
            found = act()
        except Exception as error:
            found = type(error).__name__, str(error)
    return asked, found


def is_told_apart(act: Callable[[dp.PrivateDataset], Any], unit: Unit, patch: Any) -> bool:
    seen = []
    for rows in tables():
        ledger = dp.Ledger(limit=dp.ApproxDP(100, "0.1"), unit=unit)
        declared = {"rows": 40} if unit.length_is_public else {}
        data = dp.PrivateDataset(rows, SCHEMA, ledger=ledger, **declared)
        asked, found = observe(lambda data=data: act(data), patch)
        assert asked
        seen.append(repr((asked, found, [entry.event for entry in ledger.entries()])))
    return len(set(seen)) > 1


def fit(**options: Any) -> Callable[[dp.PrivateDataset], Any]:
    def act(data: dp.PrivateDataset) -> Any:
        made = Synthesizer(1, **{"delta": 1e-6, "iterations": 5, "rounds": 1, **options}).fit(data)
        rows = {name: cells.tolist() for name, cells in made.sample(9, random_state=0).items()}
        tables = [table.tolist() for table in made.model_.tables]
        kept = sorted(vars(made)), repr(made), made.privacy_.event, made.privacy_.unit
        return rows, tables, made.total_, made.measured_, kept

    return act


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
@pytest.mark.parametrize(
    "options",
    [{}, {"target": "ill", "delta": 0}, {"workload": "joint"}, {"constraints": ["visits >= 1"]}],
    ids=["usual", "target", "joint", "constraints"],
)
def test_a_fit_knows_rows_by_noised_answers_alone(options, unit, monkeypatch):
    assert not is_told_apart(fit(**options), unit, monkeypatch)


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
@pytest.mark.parametrize(
    ("query", "budget"),
    [
        (dp.Ranges("visits"), dp.PureDP(1)),
        (dp.Ranges("visits", "town"), dp.ApproxDP(1, 1e-6)),
        (dp.Ranges("income", bins=40, strategy="tree", where="visits > 2"), dp.PureDP(1)),
        (dp.Ranges("income", bins=40, strategy=Bank()), dp.PureDP(1)),
    ],
    ids=["flat", "product", "tree", "bank"],
)
def test_ranges_know_rows_by_noised_answers_alone(query, budget, unit, monkeypatch):
    def act(data: dp.PrivateDataset) -> Any:
        release = data.release(query, budget)
        return release.value.cells.tolist(), release.value.design, release.stderr, repr(release)

    assert not is_told_apart(act, unit, monkeypatch)


@pytest.mark.parametrize("unit", UNITS, ids=NAMES)
def test_a_model_scaled_to_the_true_number_of_rows_is_told_apart(unit, monkeypatch):
    """The check has power: a fit that looks at the rows once more, beside its noised answers, is caught."""

    def act(data: dp.PrivateDataset) -> Any:
        made = fit()(data)
        return made, data._engine.length()

    assert is_told_apart(act, unit, monkeypatch)
