"""Shared settings of the tests."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

import profiles  # noqa: F401
from durations import long_tests, processor_seconds, record_seconds
from postgres import postgres_server, spare_postgres_server  # noqa: F401
from repeatable import draw_from
from shares import find_commit, is_chosen

#: Tests of `discreet.deep` that need no torch.
LIGHT = {
    "test_pate_guide.py",
    "test_images.py",
    "test_pate.py",
    "test_pate_dependent.py",
    "test_scattering.py",
}
if find_spec("torch") is None:  # `make test-deep` installs it
    deep = (Path(__file__).parent / "deep").glob("*.py")
    collect_ignore = [str(file) for file in deep if file.name not in LIGHT]
else:
    collect_ignore = []
if find_spec("flwr") is None:  # `make test-federated` installs it
    collect_ignore.append(str(Path(__file__).parent / "deep" / "federated"))

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long-share",
        type=int,
        default=1,
        metavar="N",
        help="run one in N of the tests that take long, chosen by the commit",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What was seen to take long is long, and what needs Spark: it takes ten seconds to start."""
    taking_long = long_tests()
    parts, commit = config.getoption("--long-share"), find_commit()
    left_out = []
    for item in items:
        if item.nodeid in taking_long or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("long")
        if item.get_closest_marker("long") and not is_chosen(item.nodeid, commit, parts):
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
        # the longest test first: behind all others one process would wait for it
        items.sort(key=lambda item: not item.nodeid.startswith("tests/mutations/"))


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef) -> None:
    """What a fixture draws doesn't depend on which test asks for it first."""
    draw_from(f"{fixturedef.baseid}:{fixturedef.argname}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    draw_from(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """With DISCREET_TEST_TIMES=file, the processor time of each test, fixtures included, is written there."""
    start = processor_seconds()
    result = yield
    if path := os.environ.get("DISCREET_TEST_TIMES"):
        record_seconds(item.nodeid, processor_seconds() - start, path)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With DISCREET_NO_SKIPS set, a skipped test is a failed one, unless it lacks a table of real data."""
    report = yield
    strict = os.environ.get("DISCREET_NO_SKIPS") and "not here" not in str(report.longrepr)
    if report.skipped and strict and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be skipped: {report.longrepr}"
    return report


def pytest_sessionfinish() -> None:
    """Workers of pytest-xdist end without what is registered for the end of a process."""
    from discreet.ledger.temporary import remove_temporary

    remove_temporary()
