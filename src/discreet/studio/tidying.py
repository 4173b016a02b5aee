"""Rubbish is collected while nobody waits for a page."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Tidied", "keep_tidy", "tidy"]

#: Seconds without a visit after which there is time to tidy up.
QUIET = 1.0


def tidy() -> None:
    """Collect all rubbish now, and let later collections pass over what has stayed.

    Python looks at every object now and then, in the middle of whatever runs; with a long ledger and a wide
    table that takes a tenth of a second and more, and a page would wait for it.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@contextmanager
def keep_tidy() -> Iterator[None]:
    """Pass over what is there now in collections inside the block; none of it is left behind at the end."""
    tidy()
    try:
        yield
    finally:
        gc.unfreeze()


class Tidied:
    """An application that tidies up once all its visitors have been quiet for a while.

    Parameters
    ----------
    app : ASGIApp
        Answers the visits.
    quiet : float
        Seconds without a visit.
    """

    def __init__(self, app: ASGIApp, quiet: float = QUIET) -> None:
        self._app, self._quiet = app, quiet
        self._visits = 0
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._visits += 1
        self._wait_again()
        try:
            await self._app(scope, receive, send)
        finally:
            self._visits -= 1
            self._wait_again()

    def _wait_again(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._visits == 0:
            self._timer = asyncio.get_running_loop().call_later(self._quiet, tidy)
