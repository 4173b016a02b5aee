"""Clear losses on the benchmark page are measured again, and what was measured is never lost."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import comparing  # noqa: E402
import contest  # noqa: E402
import costs  # noqa: E402
import page  # noqa: E402
import real_tables as tables  # noqa: E402
import rendering  # noqa: E402
import suspects  # noqa: E402


def line(library: str, mean: float, error: float = 0.001, **more: object) -> dict[str, Any]:
    """A line of made-up figures."""
    return {
        "table": "adult",
        "task": "classes",
        "library": library,
        "model": "GaussianNB",
        "columns": "numbers",
        "delta": 0.0,
        "epsilons": [1.0],
        "auc": [[mean, error]],
        "seconds": [0.1],
        "seeds": [4],
        "failed": [None],
        "spent": 1.0,
        **more,
    }


def figures(our: float, *again: dict[str, Any], **more: object) -> dict[str, Any]:
    lines = [line("discreet", our, **more), line("diffprivlib", 0.82, **more)]
    return {"versions": {}, "lines": lines, "again": list(again)}


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file of figures for one test."""
    monkeypatch.setattr(page, "FIGURES", tmp_path / "figures.json")
    return tmp_path / "figures.json"


def test_both_sides_of_a_clear_loss_are_measured_again_and_nothing_else() -> None:
    kind = ("GaussianNB", "classes", "numbers", 0.0, 1.0, 12)
    assert suspects.find(figures(0.80)) == {
        ("diffprivlib", "adult"): [kind],
        ("discreet", "adult"): [kind],
    }
    assert suspects.find(figures(0.819)) == {}  # not clear
    assert suspects.find(figures(0.84)) == {}  # a win


def test_lines_that_keep_too_little_are_measured_again_beside_the_first_figures() -> None:
    twin = line(contest.TWINS, 0.90, delta=None, epsilons=[], failed=[], seconds=[], seeds=[])
    kind = ("GaussianNB", "classes", "numbers", 0.0, 1.0, 12)
    made = {**figures(0.86), "lines": [line("discreet", 0.86), twin]}
    assert suspects.find(made) == {("discreet", "adult"): [kind]}  # 90 % of the gain
    assert suspects.find({**made, "lines": [line("discreet", 0.89), twin]}) == {}
    told = "\n".join(costs.render_kept(made["lines"], []))
    assert "90.0 %" in told
    assert "not measured again" in told
    made["again"] = [line("discreet", 0.892)]
    assert suspects.find(made) == {}
    told = "\n".join(costs.render_kept(made["lines"], made["again"]))
    assert "90.0 %" in told
    assert "98.0 %" in told
    assert "not measured again" not in told


def test_nothing_is_measured_a_third_time() -> None:
    once = figures(0.80, line("discreet", 0.83), line("diffprivlib", 0.82))
    assert suspects.find(once) == {}
    half = figures(0.80, line("discreet", 0.83))
    assert list(suspects.find(half)) == [("diffprivlib", "adult")]


def test_a_second_measurement_that_failed_is_no_measurement() -> None:
    failed = line("diffprivlib", 0.82, auc=[None], failed=["a fit takes over 5 s"])
    once = figures(0.80, line("discreet", 0.83), failed)
    assert list(suspects.find(once)) == [("diffprivlib", "adult")]


@pytest.mark.parametrize(
    ("table", "first", "fits"), [("adult", 3, 9), ("adult", 10, 12), ("pima", 10, 30)]
)
def test_there_are_three_times_as_many_fits(table: str, first: int, fits: int) -> None:
    found = suspects.find(figures(0.80, table=table, seeds=[first]))
    assert [kind[-1] for kinds in found.values() for kind in kinds] == [fits, fits]


@pytest.mark.parametrize(
    ("our", "told"), [(0.80, "yes"), (0.8195, "no"), (0.85, "no"), (None, "not")]
)
def test_a_loss_is_confirmed_by_the_second_measurement_alone(our: float | None, told: str) -> None:
    again = [line("diffprivlib", 0.82)] + ([line("discreet", our)] if our is not None else [])
    (duel,) = comparing.like_with_like(figures(0.80)["lines"])
    assert rendering.verdict(duel, again).startswith(told)
    text = "\n".join(rendering.lost([duel], "none", again))
    assert "0.800 ± 0.001" in text  # the first figure stays
    assert our is None or f"{our:.3f} ± 0.001" in text
    summed = rendering.summary([duel], again)[2]
    assert summed.endswith({"yes": "| 1 | 1 |", "no": "| 1 | 0 |", "not": "| 1 | – |"}[told])


def test_second_figures_of_another_budget_or_metric_do_not_count() -> None:
    (duel,) = comparing.like_with_like(figures(0.80)["lines"])
    for more in ({"epsilons": [4.0]}, {"delta": 1e-6}, {"auc": [None]}, {"columns": "all"}):
        again = [line("diffprivlib", 0.82), line("discreet", 0.83, **more)]
        assert suspects.second(duel, again) is None


def test_fresh_seeds_are_not_those_of_the_first_measurement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used: list[int] = []

    def note(
        _one: object,
        prepared: object,
        _e: float,
        _d: float,
        seeds: list[int],
        _n: float,
        limit: float,
    ) -> Any:
        assert limit >= 60  # a loss isn't left unconfirmed because one of 30 fits is slow
        used.extend(seeds)
        return {}

    monkeypatch.setattr(contest, "_at", note)
    wanted = [("GaussianNB", "classes", "numbers", 0.0, 1.0, 30)]
    (found,) = contest.lines_again("discreet", "pima", wanted)
    assert found["epsilons"] == [1.0]
    first = {seed for table in tables.TABLES.values() for seed in range(table.seeds)}
    assert len(set(used)) == 30
    assert not first & set(used)


def test_a_second_measurement_is_kept_beside_the_first_until_that_is_measured_anew(
    kept: Path,
) -> None:
    page.keep(line("discreet", 0.80), "0.1.0", 1)
    page.keep_again(line("discreet", 0.83), "0.1.0", 1)
    page.keep_again(line("discreet", 0.84, epsilons=[4.0]), "0.1.0", 1)
    page.keep_again(line("discreet", 0.85), "0.1.0", 1)
    found = json.loads(kept.read_text(encoding="utf-8"))
    assert [one["auc"][0][0] for one in found["lines"]] == [0.80]
    assert [one["auc"][0][0] for one in found["again"]] == [0.84, 0.85]
    page.keep(line("discreet", 0.81), "0.1.0", 1)
    found = page.read()
    assert [one["auc"][0][0] for one in found["lines"]] == [0.81]
    assert found["again"] == []


def test_figures_from_before_there_were_second_measurements_can_be_read(kept: Path) -> None:
    kept.write_text('{"versions": {}, "lines": []}', encoding="utf-8")
    assert page.read()["again"] == []


def test_tables_run_side_by_side_lose_no_line_and_say_so(
    monkeypatch: pytest.MonkeyPatch, kept: Path
) -> None:
    both = threading.Barrier(2, timeout=20)  # passed only if two tables run at a time

    def run(library: str, _python: Path, table: str, *_options: str) -> Any:
        both.wait()
        if table == "law":
            raise RuntimeError("law broke")
        for model in ("GaussianNB", "MixedNB", "SVC"):
            yield line(library, 0.8, table=table, model=model)

    monkeypatch.setattr(page, "run", run)
    monkeypatch.setattr(tables.Table, "size", lambda self: len(self.name))
    tasks = [(table, [("discreet", [])]) for table in ("adult", "law", "heart", "credit")]
    assert page.run_tables(tasks, None, page.keep, 2) == ["law broke"]
    found = page.read()["lines"]
    assert len(found) == 9
    assert {one["jobs"] for one in found} == {2}
    assert "up to 2 tables measured at a time" in rendering.busy(found)
    assert "at a time" not in rendering.busy([line("discreet", 0.8)])


def test_a_line_without_a_metric_is_missing(kept: Path) -> None:
    page.keep(line("discreet", 0.8), "0.1.0", 1)
    page.keep(line("discreet", 0.8, model="MixedNB", accuracy=[None], log_loss=[None]), "0.1.0", 1)
    assert page._known("adult", "discreet") == [["MixedNB", "classes", "numbers", 0.0]]
