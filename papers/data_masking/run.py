"""Masked data (Pham, Ghosh & Yegneswaran): accuracy against privacy, and decoys for a sensitive class.

Run ``python papers/data_masking/run.py`` (``--quick`` for a few repetitions, ``--report`` for the results
that are there). `curves.py` has figure 5 with its bars; the exit status is the number of bars missed.
`decoys.py` has figures 2 to 4, `risk.py` propositions 2 and 5, `teaching.py` other classifiers and
distances; their results go to ``results.json``, pictures and ``README.md``. ``run.py digits toy --merge``
runs the decoys alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import curves
import decoys  # noqa: F401
import pictures  # noqa: F401
import risk  # noqa: F401
import teaching  # noqa: F401
from harness import DATA
from study import STUDY


def main(arguments: list[str]) -> int:
    """The number of bars that were missed."""
    if not DATA.is_dir():
        sys.exit(f"no tables in {DATA}: set DISCREET_DATA")
    missed = 0
    if not set(arguments) & {*STUDY.experiments, "--check"}:
        missed = curves.main([each for each in arguments if each in ("--quick", "--report")])
    STUDY.main(arguments)
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
