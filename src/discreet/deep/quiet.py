"""What networks, teachers and data sets say while they work on rows stays inside."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator

import numpy as np

__all__ = ["keep_quiet"]


@contextlib.contextmanager
def keep_quiet() -> Iterator[None]:
    """Keep what a library would tell about rows to itself: warnings, logs, and what Python prints."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(before)
