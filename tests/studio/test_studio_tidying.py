"""Rubbish is collected between visits, and pages are sent without delay."""

from __future__ import annotations

import asyncio
import gc
import socket
import weakref
from typing import Any

import pytest

from discreet.studio.serving import open_socket
from discreet.studio.tidying import Tidied, keep_tidy, tidy


class Knot:
    """Refers to itself, so that nothing but a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def no_collections():
    """Python collects nothing by itself; what was frozen is as before afterwards."""
    gc.disable()
    yield
    gc.unfreeze()
    gc.enable()


async def answer_nothing(*_: Any) -> None:
    """An application without a word."""


def make_knot() -> weakref.ref[Knot]:
    return weakref.ref(Knot())


def test_what_was_frozen_is_freed_by_the_next_tidying(no_collections):
    kept = Knot()
    tidy()
    seen = weakref.ref(kept)
    del kept
    gc.collect()
    assert seen() is not None  # frozen: a usual collection passes over it
    tidy()
    assert seen() is None


def test_nothing_stays_frozen_once_the_studio_has_ended(no_collections):
    with keep_tidy():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0  # libraries call what is left at the end a leak


def test_rubbish_is_collected_once_all_visitors_are_quiet(no_collections):
    async def visit() -> list[bool]:
        app = Tidied(answer_nothing, quiet=0.05)
        seen = make_knot()
        found = []
        for _ in range(4):  # each visit puts it off
            await app({}, answer_nothing, answer_nothing)
            await asyncio.sleep(0.02)
            found.append(seen() is None)
        await asyncio.sleep(0.2)
        return [*found, seen() is None]

    assert asyncio.run(visit()) == [False] * 4 + [True]


def test_nothing_is_collected_while_a_visitor_waits(no_collections):
    async def visit() -> list[bool]:
        async def answer_late(*_: Any) -> None:
            await asyncio.sleep(0.3)

        app = Tidied(answer_late, quiet=0.05)
        seen = make_knot()
        first = asyncio.ensure_future(app({}, answer_nothing, answer_nothing))
        await asyncio.sleep(0.2)
        found = [seen() is None]
        await first
        await asyncio.sleep(0.2)
        return [*found, seen() is None]

    assert asyncio.run(visit()) == [False, True]


def test_a_visit_that_fails_does_not_put_it_off_for_ever(no_collections):
    async def visit() -> bool:
        async def fail(*_: Any) -> None:
            raise OSError

        app = Tidied(fail, quiet=0.05)
        seen = make_knot()
        with pytest.raises(OSError):
            await app({}, answer_nothing, answer_nothing)
        await asyncio.sleep(0.2)
        return seen() is None

    assert asyncio.run(visit())


def test_pages_are_sent_without_delay():
    with open_socket(0) as here:
        assert here.proto == socket.IPPROTO_TCP  # asyncio sets TCP_NODELAY on nothing else


def test_whoever_is_told_the_address_can_connect_before_the_server_runs():
    with open_socket(0) as here, socket.create_connection(here.getsockname(), timeout=5):
        pass
