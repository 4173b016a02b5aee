"""``--check``: kept figures that are the code's pass, and shifted ones are told."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

PAPERS = Path(__file__).parents[2] / "papers"
sys.path.insert(0, str(PAPERS))

import freshness  # noqa: E402
import harness  # noqa: E402
from summaries import Summary  # noqa: E402


def draw(seed: int, shift: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(3 + shift, 1, 100)


def quotients(seed: int, shift: float = 0.0) -> np.ndarray:
    """Values without a mean."""
    return np.random.default_rng(seed).standard_cauchy(200) + shift


@pytest.mark.parametrize("make", [draw, quotients])
def test_values_of_the_kept_distribution_pass(make) -> None:
    for seed in range(100):
        assert not freshness.judge(Summary.of(make(seed)), make(seed + 1000)[:40])


def test_a_mean_more_than_five_standard_errors_away_is_stale() -> None:
    kept = Summary.of(draw(0))
    error = np.sqrt(1 / 100 + 1 / 4) * kept.error * 10
    assert not freshness.judge(kept, [kept.mean + 4.9 * error] * 4)
    assert "standard errors" in freshness.judge(kept, [kept.mean + 5.1 * error] * 4)


def test_few_kept_runs_say_little_of_the_spread_and_take_a_wider_bar() -> None:
    kept = Summary.of([1.0, 1.1, 0.9])
    error = np.sqrt(1 / 3 + 1 / 3) * 0.1
    assert not freshness.judge(kept, [1 + 20 * error] * 3)
    assert freshness.judge(kept, [1 + 40 * error] * 3)


def test_a_shift_that_a_mean_of_wild_quotients_hides_is_found_by_its_places() -> None:
    kept = Summary.of(quotients(1))
    found = freshness.judge(kept, quotients(1001, shift=3.0)[:40])
    assert "of 40 runs above" in found
    assert "of 40 runs below" in freshness.judge(kept, quotients(1001, shift=-3.0)[:40])


def test_what_had_no_spread_comes_out_again_or_is_stale() -> None:
    kept = Summary.of([0.5] * 4)
    assert not freshness.judge(kept, [0.5 + 1e-12] * 2)
    assert freshness.judge(kept, [0.5, 0.501])
    rounded = Summary.of([0.1 + 0.2, 0.3, 0.3])
    assert rounded.error > 0
    assert freshness.judge(rounded, [0.301] * 2)


def test_what_is_zero_but_for_rounding_is_zero() -> None:
    kept = Summary.of([0.0, 1e-16, 2e-16])
    assert not freshness.judge(kept, [3e-14] * 3)
    assert freshness.judge(kept, [3e-9] * 3)


def test_a_small_spread_is_a_spread() -> None:
    kept = Summary.of(1 - 1e-6 * np.arange(10))
    assert not freshness.judge(kept, 1 - 1e-6 * np.arange(10))
    assert freshness.judge(kept, [1 - 3e-5] * 10)


def test_an_infinite_kept_mean_is_judged_by_its_quartiles() -> None:
    kept = Summary.of([np.inf, *range(99)])
    assert not freshness.judge(kept, list(range(0, 99, 4)))
    assert freshness.judge(kept, [200.0] * 25)


@pytest.fixture
def study(tmp_path: Path) -> harness.Study:
    """An experiment that draws numbers, one that is run once, and their kept results."""
    found = harness.Study(tmp_path)

    @found.experiment((1.0, 2.0), repeats=20)
    def drawn(size: float, *, seed: int) -> dict[str, float]:
        return {"value": np.random.default_rng(seed).normal(size), "constant": size}

    @found.experiment(repeats=1)
    def once(*, seed: int) -> dict[str, float]:
        return {"value": 7.0}

    (tmp_path / "README.md").write_text("")
    found.main(["--jobs", "1"])
    return found


def status(study: harness.Study, *options: str) -> int:
    study.found.clear()
    with pytest.raises(SystemExit) as ended:
        study.main(["--check", *options])
    return int(ended.value.code)


def change(study: harness.Study, experiment: str, setting: str, **numbers: float) -> None:
    """Move kept means, as if another code had made them."""
    path = study.folder / "results.json"
    results = json.loads(path.read_text("utf-8"))
    for name, by in numbers.items():
        for key in ("mean", "low", "median", "high"):
            results[experiment][setting][name][key] += by
    path.write_text(json.dumps(results), "utf-8")


def test_results_of_this_code_pass(study: harness.Study, capsys: pytest.CaptureFixture) -> None:
    assert status(study) == 0
    assert "5 numbers compared, 0 stale." in capsys.readouterr().out


def test_a_shifted_number_is_named_and_the_status_is_1(
    study: harness.Study, capsys: pytest.CaptureFixture
) -> None:
    change(study, "drawn", "2", value=3.0)
    assert status(study) == 1
    told = capsys.readouterr().out
    assert "| drawn | 2 | value |" in told
    assert "5 numbers compared, 1 stale." in told


def test_a_constant_that_changed_is_stale(study: harness.Study) -> None:
    change(study, "drawn", "1", constant=1e-3)
    assert status(study) == 1
    assert status(study, "once") == 0  # named experiments alone


def test_what_was_run_once_has_no_spread_and_is_only_told(
    study: harness.Study, capsys: pytest.CaptureFixture
) -> None:
    change(study, "once", "", value=1.0)
    assert status(study) == 0
    assert "once / value was 8 and is 7; one run has no spread" in capsys.readouterr().out


def test_numbers_and_settings_on_one_side_alone_are_stale(study: harness.Study) -> None:
    path = study.folder / "results.json"
    kept = path.read_text("utf-8")
    results = json.loads(kept)
    results["drawn"]["1"]["another"] = results["drawn"]["1"]["value"]
    path.write_text(json.dumps(results), "utf-8")
    assert status(study) == 1
    results = json.loads(kept)
    results["drawn"]["3"] = results["drawn"]["1"]
    path.write_text(json.dumps(results), "utf-8")
    assert status(study) == 1


def test_what_takes_too_long_or_lacks_a_package_is_left_out_and_said_to_be(
    study: harness.Study, capsys: pytest.CaptureFixture
) -> None:
    @study.experiment(("a", "b"), repeats=2)
    def endless(kind: str, *, seed: int) -> dict[str, float]:
        if kind == "b":
            time.sleep(600)
        return {"value": 1.0}

    @study.experiment(repeats=2, needs=("a_package_that_is_nowhere",))
    def needy(*, seed: int) -> dict[str, float]:
        return {"value": 1.0}

    one = vars(Summary.of([1.0, 1.0]))
    path = study.folder / "results.json"
    results = json.loads(path.read_text("utf-8"))
    results |= {
        "endless": {"a": {"value": one}, "b": {"value": one}},
        "needy": {"": {"value": one}},
    }
    path.write_text(json.dumps(results), "utf-8")
    assert status(study, "--seconds", "1") == 0
    told = capsys.readouterr().out
    assert "endless: no run ended within 1 s for b." in told
    assert "needy is left out: a_package_that_is_nowhere isn't here." in told
    assert "6 numbers compared" in told


def test_a_run_that_fails_is_no_pass(study: harness.Study) -> None:
    @study.experiment(repeats=2)
    def failing(*, seed: int) -> dict[str, float]:
        raise ValueError("no rows")

    path = study.folder / "results.json"
    results = json.loads(path.read_text("utf-8"))
    results["failing"] = {"": {"value": vars(Summary.of([1.0, 1.0]))}}
    path.write_text(json.dumps(results), "utf-8")
    study.found.clear()
    with pytest.raises(RuntimeError, match="no rows"):
        study.main(["failing", "--check"])


@pytest.mark.slow
@pytest.mark.timeout(1800)  # twenty seconds of each experiment, and of some a run that is stopped
@pytest.mark.parametrize(
    "document", sorted(path.parent.name for path in PAPERS.glob("*/run.py")), ids=str
)
def test_kept_results_are_those_of_the_code_as_it_is(document: str) -> None:
    if not (harness.DATA / "mushroom.csv.gz").is_file():
        pytest.skip("the tables are not here")
    command = [sys.executable, "-m", "discreet", "reproduce", document, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
