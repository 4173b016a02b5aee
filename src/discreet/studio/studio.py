"""What all pages share: the folder, the desk that is open, and the releases that go on."""

from __future__ import annotations

import secrets
import threading
from pathlib import Path
from typing import final

from discreet.studio.audits import Audits
from discreet.studio.desk import Desk
from discreet.studio.jobs import Jobs
from discreet.studio.places import Places

__all__ = ["DEFAULT_UPLOAD", "Studio"]

#: The largest upload, in bytes.
DEFAULT_UPLOAD = 2 * 2**30


@final
class Studio:
    """One person's studio.

    Parameters
    ----------
    root : Path
        The folder in which it was started; pages name files below it and nowhere else.
    source, schema, ledger : str, optional
        What was named when it was started, wherever that is.
    jobs : Jobs, optional
        How releases are worked on.
    """

    def __init__(
        self,
        root: Path,
        source: str | None = None,
        schema: str | None = None,
        ledger: str | None = None,
        *,
        jobs: Jobs | None = None,
    ) -> None:
        self.places = Places(root)
        #: What every page's address begins with. Browsers send the cookie to these addresses alone, and so
        #: to no other server of this machine, whose port doesn't count for cookies.
        self.base = f"/{secrets.token_urlsafe(16)}"
        self.jobs = jobs or Jobs()
        self.audits = Audits()
        self.lock = threading.RLock()
        self._given = (schema, ledger)
        self._given_to: str | None = None
        self.desk: Desk | None = None
        if source is not None:
            self.open(source)

    def open(self, source: str) -> Desk:
        """Open a table. Facts and ledger that were named at the start are those of the first one."""
        origin = self.places.find_origin(source)
        with self.lock:
            if self._given_to is None:
                self._given_to = origin
            schema, ledger = self._given if self._given_to == origin else (None, None)
            self.desk = Desk(self.places, source, schema, ledger)
            return self.desk

    def open_sample(self, source: str, schema: str) -> Desk:
        """Open the made-up table, which has nothing to do with what was named at the start."""
        with self.lock:
            self.desk = Desk(self.places, source, schema)
            return self.desk
