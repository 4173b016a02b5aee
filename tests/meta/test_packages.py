"""Tests install the programs that they need once per machine, and go without them elsewhere."""

from __future__ import annotations

import os
import tempfile

import pytest

import packages


@pytest.fixture
def debian(tmp_path, monkeypatch):
    """A Debian whose apt-get notes what it is asked; `done` is what it leaves behind."""
    program = tmp_path / "apt-get"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def asked(debian):
    file = debian / "asked"
    return file.read_text().splitlines() if file.exists() else []


def test_a_package_is_installed_once_per_machine(debian):
    for _ in range(2):
        assert not packages.install("chess", lambda: False)
    assert asked(debian) == ["update -qq", "install -y -qq chess"]


def test_what_was_installed_is_there(debian):
    assert packages.install("chess", lambda: len(asked(debian)) == 2)


def test_nothing_is_installed_that_is_there(debian):
    assert packages.install("chess", lambda: True)
    assert asked(debian) == []


def test_nothing_is_installed_by_anybody_but_root(debian, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not packages.install("chess", lambda: False)
    assert asked(debian) == []


def test_an_installation_that_hangs_is_given_up(debian, monkeypatch):
    (debian / "apt-get").write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(packages, "PATIENCE", 0.1)
    assert not packages.install("chess", lambda: False)
