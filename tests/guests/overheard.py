"""What a release really tells: the noised sums themselves, before anything is computed from them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from discreet import mechanisms, testing


@contextmanager
def listen() -> Iterator[list[Any]]:
    """Collect all sums that are noised inside the block, as they are after the noise.

    What is computed from them can only tell less; an attacker who sees them has the most power.
    """
    heard: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        for kind in {type(distribution) for distribution in testing.DISTRIBUTIONS} - {
            mechanisms.NoNoise
        }:

            def run(distribution: Any, totals: Any, honest: Any = kind.run) -> Any:
                noised = honest(distribution, totals)
                heard.append(np.asarray(noised).ravel())
                return noised

            patch.setattr(kind, "run", run)
        yield heard
