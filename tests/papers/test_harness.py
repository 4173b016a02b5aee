"""What the documents' runs share: parts left out, at most so many repetitions, results side by side."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "papers"))

import harness
import sizes


@pytest.fixture
def study(tmp_path: Path) -> harness.Study:
    """Two experiments, the second of which needs `needed`, and a table of both."""
    found = harness.Study(tmp_path)

    @found.experiment((1.0, 2.0), repeats=5)
    def plain(size: float, *, seed: int) -> dict[str, float]:
        return {"value": size + seed}

    @found.table("plain")
    def values(study: harness.Study) -> str:
        return str(study.get("plain", 2.0)["value"])

    (tmp_path / "README.md").write_text("<!-- values -->\n<!-- end of values -->\n")
    return found


def add_needy(study: harness.Study, *needs: str) -> None:
    @study.experiment(repeats=1, needs=needs)
    def needy(*, seed: int) -> dict[str, float]:
        return {"value": 7.0}


def results(study: harness.Study) -> dict[str, object]:
    return json.loads((study.folder / "results.json").read_text("utf-8"))


@pytest.mark.parametrize("needed", ["a_package_that_is_nowhere", "no_such_table.csv.gz"])
def test_what_lacks_a_package_or_a_table_is_left_out_and_said_to_be(
    study: harness.Study, needed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    add_needy(study, needed)
    study.main(["--jobs", "1"])
    told = capsys.readouterr().out
    assert f"needy is left out: {needed} isn't here." in told
    assert "stay as they are" in told
    assert not (study.folder / "results.json").exists()


def test_what_has_all_that_it_needs_is_run_and_written(study: harness.Study) -> None:
    add_needy(study, "json")
    study.main(["--jobs", "1"])
    assert set(results(study)) == {"plain", "needy"}


def test_at_most_so_many_repetitions_are_run_and_more_are_added_later(study: harness.Study) -> None:
    study.main(["--jobs", "1", "--repeats", "2"])
    assert results(study)["plain"]["1"]["value"]["count"] == 2
    study.main(["--jobs", "1", "--repeats", "9"])
    assert results(study)["plain"]["1"]["value"]["count"] == 5
    assert len((study.folder / ".runs" / "plain.jsonl").read_text().splitlines()) == 10


def test_a_named_experiment_is_written_beside_the_results_there_are(study: harness.Study) -> None:
    study.main(["--jobs", "1"])
    before = results(study)["plain"]
    add_needy(study, "json")
    study.found.clear()  # as a new process begins
    study.main(["needy", "--jobs", "1"])
    assert "needy" not in results(study)  # unless that is asked for
    study.main(["needy", "--jobs", "1", "--merge"])
    assert results(study)["needy"][""]["value"]["mean"] == 7.0
    assert results(study)["plain"] == before


def test_kept_runs_are_written_as_far_as_repetitions_are_complete(study: harness.Study) -> None:
    study.main(["--jobs", "1", "--repeats", "3"])
    kept = study.folder / ".runs" / "plain.jsonl"
    *whole, last = kept.read_text().splitlines()
    kept.write_text("\n".join(whole) + "\n")  # one setting lacks its third repetition
    study.found.clear()
    study.main(["--kept"])
    assert results(study)["plain"]["1"]["value"]["count"] == 2
    assert results(study)["plain"]["2"]["value"]["mean"] == 2.5
    assert last not in kept.read_text()  # nothing was run


def test_a_table_without_a_complete_repetition_says_that_it_was_not_run(
    study: harness.Study,
) -> None:
    add_needy(study, "json")

    @study.table("needy")
    def sevens(study: harness.Study) -> str:
        return str(study.get("needy")["value"])

    readme = study.folder / "README.md"
    readme.write_text(readme.read_text() + "<!-- sevens -->\n<!-- end of sevens -->\n")
    study.main(["plain", "--jobs", "1"])
    study.found.clear()
    study.main(["--kept"])
    assert "*Not run yet: `run.py needy --merge`.*" in readme.read_text()
    assert set(results(study)) == {"plain"}
    study.main(["needy", "--jobs", "1", "--merge"])
    assert "Not run" not in readme.read_text()
    assert "<!-- sevens -->\n7\n" in readme.read_text()


def test_again_forgets_the_runs_of_the_named_experiments_alone(study: harness.Study) -> None:
    add_needy(study, "json")
    study.main(["--jobs", "1"])
    kept = study.folder / ".runs" / "plain.jsonl"
    before = kept.read_text()
    (study.folder / ".runs" / "needy.jsonl").write_text("")
    study.main(["needy", "--jobs", "1", "--again"])
    assert kept.read_text() == before


def test_quick_runs_have_a_size_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sizes.VARIABLE, raising=False)
    assert harness.choose_size(1000, 10) == 1000
    monkeypatch.setenv(sizes.VARIABLE, sizes.QUICK)
    assert harness.choose_size(1000, 10) == 10


@pytest.mark.parametrize(
    ("needed", "advice"),
    [("torch", "pip install -e '.[torch]'"), ("mnist/no_such_images.gz", "DISCREET_DATA")],
)
def test_what_is_left_out_says_how_to_get_it(
    study: harness.Study,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    needed: str,
    advice: str,
) -> None:
    monkeypatch.setattr(harness, "find_spec", lambda name: None)
    add_needy(study, needed)
    study.main(["--jobs", "1"])
    assert advice in capsys.readouterr().out


def test_a_single_run_claims_no_standard_error() -> None:
    assert str(harness.Summary.of([0.5])) == "0.5"
