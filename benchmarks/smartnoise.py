"""Rows of smartnoise-synth's MST or AIM, run by the interpreter of its own environment: cells in, cells out.

``python smartnoise.py GIVEN.npz MADE.npz METHOD EPSILON DELTA ROWS``: GIVEN has ``codes`` (a row of cells
for each row of a table) and ``sizes`` (how many cells each column has, which is public). MADE gets the
seconds of the processor and rows of one fit, drawn in two ways: ``round`` as the library does, and
``sample`` one by one. (The rounding of mbi 1.1.0 puts the rows below a parent in the same order for each of
its children: columns that are independent in the model come out as functions of one another.) Its
synthesizers get the cells as they are, and their own defaults. It imports nothing of this project, since
that environment has nothing of it.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from typing import Any

import numpy as np


def draw(
    codes: Any, sizes: list[int], method: str, epsilon: float, delta: float, rows: int
) -> dict[str, Any]:
    """Fit one of its synthesizers to cells, and draw rows in both ways."""
    from mbi import MarkovRandomField
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
    given, found = MarkovRandomField.synthetic_data, {}
    for way in ("round", "sample"):
        MarkovRandomField.synthetic_data = functools.partialmethod(given, method=way)
        found[way] = np.asarray(synthesizer.sample(rows), np.int64)
    return found


def main() -> None:
    source, sink, method, epsilon, delta, rows = sys.argv[1:]
    given = np.load(source)
    began = time.process_time()
    with contextlib.redirect_stdout(sys.stderr):
        made = draw(
            given["codes"], given["sizes"].tolist(), method, float(epsilon), float(delta), int(rows)
        )
    np.savez(sink, seconds=time.process_time() - began, **made)


if __name__ == "__main__":
    main()
