"""Wavelet masks (Choi & Lee 2019): denoising, QR codes, learning; and what reads the masks back.

Run ``python papers/wavelet_masks/run.py`` (``--quick`` for one repetition on few rows, ``--report`` for the
results that are there). It writes ``results.json`` and the tables of ``README.md``. The digits need PyTorch
and are left out, and said to be, where it isn't installed. ``figures.py`` draws the pictures.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import audits  # noqa: F401
import digits  # noqa: F401
import embedding  # noqa: F401
import learning  # noqa: F401
import masks  # noqa: F401
import pictures  # noqa: F401
import tables  # noqa: F401
from study import STUDY

if __name__ == "__main__":
    STUDY.main()
