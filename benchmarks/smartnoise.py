"""Rows of smartnoise-synth's MST or AIM, run by the interpreter of its own environment: cells in, cells out.

``python smartnoise.py GIVEN.npz MADE.npz METHOD EPSILON DELTA ROWS``: GIVEN has ``codes`` (a row of cells for
each row of a table) and ``sizes`` (how many cells each column has, which is public); MADE gets ``codes`` and
the processor's ``seconds``. Its synthesizers get the cells as they are and their own defaults. It imports
nothing of this project, since that environment has nothing of it.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any

import numpy as np


def draw(codes: Any, sizes: list[int], method: str, epsilon: float, delta: float, rows: int) -> Any:
    """Fit one of its synthesizers to cells, and draw rows."""
    from snsynth import Synthesizer
    from snsynth.transform.table import NoTransformer

    class Cells(NoTransformer):  # type: ignore[misc, unused-ignore]
        """Nothing is transformed: the cells and how many there are, are given."""

        fit_complete, needs_epsilon, cardinality = True, False, sizes

        def __init__(self) -> None:
            super().__init__()
            self.output_width = len(sizes)

        def transform(self, data: Any) -> Any:
            return data

        def inverse_transform(self, data: Any) -> Any:
            return data

    synthesizer = Synthesizer.create(method, epsilon=epsilon, delta=delta)
    synthesizer.fit(codes, transformer=Cells())
    return np.asarray(synthesizer.sample(rows), np.int64)


def main() -> None:
    source, sink, method, epsilon, delta, rows = sys.argv[1:]
    given = np.load(source)
    began = time.process_time()
    with contextlib.redirect_stdout(sys.stderr):
        made = draw(
            given["codes"], given["sizes"].tolist(), method, float(epsilon), float(delta), int(rows)
        )
    np.savez(sink, codes=made, seconds=time.process_time() - began)


if __name__ == "__main__":
    main()
