"""``discreet reproduce`` knows the five documents, prints their results, and says what it doesn't know."""

from __future__ import annotations

import json
import subprocess
import sys

DOCUMENTS = ("data_masking", "dpml_survey", "student_report", "theory_thesis", "wavelet_masks")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "discreet", "reproduce", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_without_a_document_the_five_are_listed_with_their_titles() -> None:
    lines = run().stdout.splitlines()
    assert tuple(line.split()[0] for line in lines) == DOCUMENTS
    assert all(len(line.split()) > 1 for line in lines)


def test_an_unknown_document_is_refused_with_the_names_of_the_others() -> None:
    done = run("no_such_paper")
    assert done.returncode != 0
    assert all(name in done.stderr for name in DOCUMENTS)


def test_results_that_are_there_are_printed_with_published_figures_and_repetitions() -> None:
    done = run("student_report", "--report")
    assert done.returncode == 0
    assert "| 0.1 | 0.9655 |" in done.stdout  # printed in the document
    assert "200 repetitions" in done.stdout


def test_results_of_every_document_are_told_as_json_with_errors_and_counts() -> None:
    found = json.loads(run("all", "--json").stdout)
    assert tuple(found) == DOCUMENTS
    for experiments in found.values():
        for settings in experiments.values():
            for numbers in settings.values():
                assert all({"mean", "error", "count"} <= set(each) for each in numbers.values())


def test_quick_runs_keep_nothing_that_could_be_told_as_json() -> None:
    done = run("student_report", "--quick", "--json")
    assert done.returncode != 0
    assert "--quick keeps none" in done.stderr
