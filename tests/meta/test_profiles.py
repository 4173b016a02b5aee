"""The profiles of Hypothesis: one repeats itself, the other draws more, and no test counts for itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from profiles import DEEPER

TESTS = Path(__file__).parents[1]

CODE = """
import conftest, profiles
from hypothesis import settings
print(settings.default.derandomize, settings.default.max_examples, profiles.max_examples(30).max_examples)
"""


def seen_with(profile: str | None) -> str:
    """What a test sees that is run with this environment."""
    environment = {
        name: value for name, value in os.environ.items() if name != "HYPOTHESIS_PROFILE"
    }
    if profile is not None:
        environment["HYPOTHESIS_PROFILE"] = profile
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("profile", "seen"),
    [
        (None, "True 100 30"),
        ("ci", "True 100 30"),
        ("deep", f"False {100 * DEEPER} {30 * DEEPER}"),
    ],
)
def test_the_environment_chooses_how_many_examples_are_drawn(profile, seen):
    assert seen_with(profile) == seen


def test_a_profile_that_is_not_there_is_no_default():
    with pytest.raises(subprocess.CalledProcessError):
        seen_with("deeep")


def test_no_profile_has_a_deadline():
    for profile in ("ci", "deep"):
        assert settings.get_profile(profile).deadline is None


def test_tests_say_how_many_examples_they_want_so_that_profiles_can_draw_more():
    files = [file for file in TESTS.rglob("test_*.py") if file != Path(__file__)]
    assert len(files) > 100
    assert [file.name for file in files if "max_examples=" in file.read_text()] == []
