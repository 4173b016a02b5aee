"""Ctrl-C, lost readers and full disks: whatever was charged is told, and the ledger is right."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from clinic_shell import SECRET

import discreet as dp

TABLE = ("--data", "visits.csv", "--schema", "visits.toml", "--ledger", "budget.db")

#: What is done in place of a method: the signal that Ctrl-C sends comes before or after it.
INTERRUPT = """
import os, signal, sys
from discreet.cli import main
from discreet.engines.delimited import Delimited
from discreet.ledger import Book

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it

kind, name, when = sys.argv[1:4]
owner = {"Delimited": Delimited, "Book": Book}[kind]
real = getattr(owner, name)

def stop(self, *args, **options):
    if when == "before":
        os.kill(os.getpid(), signal.SIGINT)
    found = real(self, *args, **options)
    os.kill(os.getpid(), signal.SIGINT)
    return found

setattr(owner, name, stop)
sys.exit(main(sys.argv[4:]))
"""


def interrupt(*words):
    return subprocess.run(
        [sys.executable, "-c", INTERRUPT, *words], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("place", "is_charged"),
    [
        (("Delimited", "check", "before"), False),  # while the table is opened
        (("Book", "charge", "before"), False),
        (("Book", "charge", "after"), True),  # booked, and nobody heard of it
        (("Delimited", "totals", "before"), True),  # between the charge and the answer
    ],
    ids=str,
)
def test_ctrl_c_leaves_the_ledger_right_and_says_what_was_charged(clinic, place, is_charged):
    stopped = interrupt(*place, "query", *TABLE, "--count", "--epsilon", "0.5")
    assert stopped.returncode == 130
    assert stopped.stdout == ""
    lines = stopped.stderr.strip().splitlines()
    assert len(lines) == 1
    ledger = clinic.ledger()
    ledger.verify()
    if is_charged:
        assert "charged was PureDP(epsilon=0.5) (entry 1 of" in lines[0]
        assert "nothing is refunded" in lines[0]
        assert ledger.spent() == dp.PureDP(0.5)
    else:
        assert "nothing was charged" in lines[0]
        assert len(ledger.entries()) == 1


def test_a_charge_is_told_if_the_rows_cannot_be_read(clinic, monkeypatch):
    def fail(self, query):
        raise OSError(f"{SECRET}: the disk is gone")

    monkeypatch.setattr("discreet.engines.delimited.Delimited.totals", fail)
    failed = clinic("query", *TABLE, "--count", "--epsilon", "0.5")
    assert failed.exit_code == 5
    assert "Charged was PureDP(epsilon=0.5) (entry 1 of" in failed.stderr
    assert clinic.ledger().spent() == dp.PureDP(0.5)


def test_an_error_of_our_own_is_withheld(clinic, monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr("discreet.dataset.PrivateDataset.release", fail)
    failed = clinic("query", *TABLE, "--count", "--epsilon", "0.5")
    assert failed.exit_code == 70
    assert SECRET not in failed.output
    assert "ZeroDivisionError" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_result_that_cannot_be_written_is_printed(clinic, monkeypatch):
    def fail(self, *arguments, **options):
        raise OSError("No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", fail)
    failed = clinic("query", *TABLE, "--count", "-e", "0.5", "--out", "a.json")
    assert failed.exit_code == 5
    assert "Count()" in failed.stdout
    assert "the result was printed instead" in failed.stderr
    assert "Charged was PureDP(epsilon=0.5)" in failed.stderr


def test_a_reader_that_goes_away_is_no_traceback(clinic):
    reading, writing = os.pipe()
    os.close(reading)
    words = ["query", *TABLE, "--count", "--by", "ward", "--epsilon", "0.5"]
    with os.fdopen(writing, "w") as pipe:
        gone = subprocess.run(
            [sys.executable, "-m", "discreet", *words],
            stdout=pipe, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert gone.returncode == 5
    assert "Traceback" not in gone.stderr
    assert "Exception ignored" not in gone.stderr
    assert "charged was PureDP(epsilon=0.5)" in gone.stderr
    assert clinic.ledger().spent() == dp.PureDP(0.5)
