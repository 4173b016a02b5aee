"""``discreet studio`` as a process: it prints its address, answers there, and ends with Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import httpx
import pytest


def test_the_address_that_is_printed_opens_the_studio_and_ctrl_c_ends_it(clinic):
    command = [sys.executable, "-m", "discreet", "studio", "visits.csv", "--no-browser", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = json.loads(process.stdout.readline())["address"]
        assert address.startswith("http://127.0.0.1:")
        home = address.partition("/enter")[0]
        with httpx.Client(trust_env=False, timeout=60) as client:
            assert client.get(f"{home}/facts").status_code == 403
            welcome = client.get(address)
            assert welcome.status_code == 200
            base = welcome.text.partition('<a href="')[2].partition('"')[0]
            assert "visits" in client.get(f"{home}{base}facts").text
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130)
        assert "visits" not in process.stderr.read()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("gone.csv",), "there is no file"),
        (("--port", "70000"), "--port"),
        (("postgresql://a:hunter2@localhost/b?table=c",), "leave the password out"),
        (("visits.csv", "-l", "postgresql://a@localhost/b?password=hunter2"), "the password out"),
        (("--max-upload", "0"), "--max-upload"),
    ],
)
def test_what_cannot_be_started_is_refused(clinic, words, told):
    found = clinic("studio", *words, "--no-browser")
    assert found.exit_code == 2
    assert told in found.stderr
    assert "hunter2" not in found.stderr
